// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package mover writes to both planes: it imports a snapshot into the target, paused, reads
// it back and activates it, and pauses the source and deletes from it.
//
// Every function can be killed after any write, and run again: it reads what is there, and
// goes on. Its invariants:
//   - An imported object carries a mark, the annotation snapshot.ImportAnnotation with the id of
//     the pivot and the UID of the original. Import and Discard alter, or delete, nothing
//     without the mark of their pivot. Activate removes the marks. Until it has removed the mark
//     of the Cluster, it treats objects without a mark as its own, and imports missing objects
//     again.
//   - Activate removes the mark of the Cluster in the same write that unpauses it, after all
//     others: a Cluster without the mark is active already, and is left as it is.
//   - Finalizers are removed before an object is deleted, so that no controller ever sees a
//     deletion time with its finalizer, and deletes the infrastructure.
//   - Delete removes only objects with the UID and content that were committed, and an owner
//     after all its dependents.
//
// Obstacles that only a user can remove are returned as inventory.Findings, all at once. Errors
// name objects and fields, and never values, which may be secret.
//
// On the target it needs get, list, create, update and delete for the kinds of the snapshot, and
// on the source get, list, update and delete.
package mover
