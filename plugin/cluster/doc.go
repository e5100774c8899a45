// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster reads Transforms in a cluster, with what an engine made of them, and changes what
// users change by hand: a request to reconcile, suspend and rollback.
//
// It knows the kinds by their names and reads the few fields that it needs: the typed APIs of the
// controller and of Flux cost start-up time wherever they are linked. Of an object that is traced,
// and of a Secret, only the metadata is read, so that no data of a Secret is read.
//
// A [Reader] reads the objects of a render from a cluster, for a comparison.
package cluster
