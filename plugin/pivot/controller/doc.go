// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles PivotClusters, on a parent and on the cluster itself.
//
//	tombstone? ── namespace, token, Transform ── Cluster Available ── agent on the link
//	    │ yes    (provision.go, tokens.go)           (observe.go)     (endpoints.go, children.go)
//	    │                                                                     │
//	    └── in charge of itself ◄── Done ── pivot (pivot.go) ◄──────── what it needs (parent.go)
//	              (incharge.go)
//
// Each part is a small type with only what it uses; reconciler.go puts them together.
//
// A PivotCluster with the annotation bootstrap.SelfAnnotation is that of the cluster which it
// is on: once the receipt of the pivot says that this plane is in charge, it is rendered here
// as it was on the parent.
//
// # Invariants
//
// The receipt of a pivot decides, and the status mirrors it. After the commit, or where there
// is a tombstone, nothing is provisioned again: an edit on the parent changes nothing, and
// says so. Where the registry of the tombstone cannot be asked, nothing is provisioned.
//
// The objects of Cluster API are applied by the engine, as those of a Transform are. The
// controller makes the Transform, its namespace and its account, and the Secret of the token.
//
// Everything is read from the API server itself: there are few PivotClusters, and none may
// be provisioned twice because a cache was late. Only agents, and the cell, are found by it.
//
// An authority is in use only once its Secret has it. A rotation waits for agents that a step
// would strand (rotation.go).
//
// A PivotCluster with the annotation install.Annotation is the first management cluster, and this
// plane a bootstrap cluster that it cannot call (install.go): there is neither a token nor a
// link, and it is reached by the kubeconfig of Cluster API.
//
// A token is in one Secret, which Cluster API reads, and nowhere else.
package controller
