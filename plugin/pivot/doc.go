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
// Each end keeps a ConfigMap, the receipt, with the pivot, its step and its digest. A step ends
// with the write of the receipt, and each step can be repeated. Before the receipt of the source
// says Committed the pivot can be aborted, and everything is as before; after it the source is
// never unpaused again, and there is only forward.
//
// Packages: plane reads and writes an API server, inventory finds the objects of a cluster,
// snapshot describes them apart from their plane, preflight finds problems, mover imports,
// activates and deletes, state has the receipts and the steps, and the Link between both ends;
// package link carries its messages over gRPC between two clusters. Package gitops freezes and ends
// the delivery of a PivotCluster on its parent. Package install makes the first management cluster
// from a bootstrap cluster.
package pivot
