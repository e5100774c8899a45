// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory finds what belongs to one Cluster of a plane, and only that: also where
// a namespace holds several.
//
// Kinds are found by contract: the labels of CustomResourceDefinitions, and the groups of
// Cluster API. An object belongs to a Cluster that names it (owner references, spec.clusterName
// or the label cluster.x-k8s.io/cluster-name, Secrets named by convention), or that it needs
// (its ClusterClass, ClusterResourceSets, identities, what is labelled to be moved). The result
// is the set that `clusterctl move` would find for a Cluster that has its namespace to itself.
//
// Objects of these kinds that belong to no Cluster are left on the source, and are named. So are
// objects of all other kinds that the garbage collector would delete with the set.
//
// What is in doubt is never left out in silence: an owner outside of the set, an object that
// another Cluster uses as well, a Secret or ConfigMap that a member names and that is not moved,
// a cycle of owners, are Findings, all at once, each with what to do about it. Shared objects
// can be copied, and then stay on the source, as do those of no namespace, which are copied
// where a member refers to them. Secrets of other namespaces, such as credentials that a
// provider keeps in its own, are not read.
//
// Pipeline: scan (lists, in parallel) -> graph (owners and references) -> members -> check
// -> order. The result does not depend on the order of lists. Values of objects are in no
// finding.
package inventory
