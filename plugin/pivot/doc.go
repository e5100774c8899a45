// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package pivot moves the Cluster API objects of one cluster from one management plane to
// another, so that a kill of any process at any moment leaves exactly one plane in charge,
// or a cluster that is paused, and the next run goes on from there.
//
//	source plane                                target plane
//	inventory -> snapshot ---- chunks ----> staged -> imported, paused
//	compare   <-------------- digests ------ read back
//	COMMIT
//	          ------------- activate ------> unpaused
//	delete    <------------ confirmed ------ reconciled
//
// Each end keeps one ConfigMap, the receipt: it says which pivot, at which step, with which
// digest. A step ends with the write of the receipt, and each step can be repeated. Before
// the receipt of the source says Committed the pivot can be aborted, and everything is as
// before; after it the source is never unpaused again, and there is only forward.
//
// Packages: plane reads and writes an API server, inventory finds what belongs to a cluster,
// snapshot is that apart from its plane, preflight says what stands in the way, mover
// imports, activates and deletes, state has the receipts and the steps, and the Link between
// both ends; package link is that over gRPC, where they are in two clusters. Package gitops
// freezes and ends what delivers a PivotCluster on its parent. Package install has a bootstrap
// cluster make the first management cluster.
package pivot
