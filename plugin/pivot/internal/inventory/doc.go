// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory finds the objects that belong to a Cluster of a plane, also if its namespace
// holds several Clusters.
//
// Kinds are found by contract: the labels of CustomResourceDefinitions, and the groups of
// Cluster API. An object belongs to a Cluster that names it (owner references, spec.clusterName
// or the label cluster.x-k8s.io/cluster-name, Secrets named by convention), or to a Cluster that
// needs it (its ClusterClass, ClusterResourceSets, identities, objects with a label for the move).
// The result is the set that `clusterctl move` would find for the only Cluster of a namespace.
//
// Objects of these kinds that belong to no Cluster are left on the source, and are named. So are
// objects of all other kinds that the garbage collector would delete with the set.
//
// Doubtful objects are returned as Findings, all at once, each with advice: an owner outside of the
// set, an object that another Cluster uses as well, a Secret or ConfigMap that a member names and
// that is not moved, a cycle of owners. Shared objects can be copied, and then stay on the source.
// So do objects without a namespace, which are copied if a member refers to them. Secrets of other
// namespaces, such as the credentials of a provider, are not read.
//
// Pipeline: scan (lists, in parallel) -> graph (owners and references) -> members -> check
// -> order. The result does not depend on the order of lists. Values of objects are in no
// finding.
package inventory
