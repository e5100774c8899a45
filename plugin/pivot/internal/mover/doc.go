// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package mover writes to both planes: it imports a snapshot into the target, paused, reads
// it back and activates it, and pauses the source and deletes from it.
//
// Every function can be killed after any write, and run again: it reads what is there, and
// goes on. Its invariants:
//   - What is imported carries a mark, the annotation snapshot.ImportAnnotation with the id of
//     the pivot and the UID of the original. Import and Discard alter, or delete, nothing
//     without the mark of their pivot. Activate takes what it has removed the mark from for its
//     own as long as the Cluster has it: what goes missing until then is imported again.
//   - Activate removes the mark of the Cluster in the same write that unpauses it, after all
//     others: a Cluster without the mark is active already, and is left as it is.
//   - Finalizers are removed before an object is deleted, so that no controller ever sees a
//     deletion time with its finalizer, and deletes the infrastructure.
//   - Delete removes an object of the UID and content that were committed, and no other, and
//     an owner after all that it owns.
//
// What stands in the way, and only a user can remove, is returned as inventory.Findings, all
// at once. Errors name objects and fields, and never values, which may be secret.
//
// The verbs it needs are get, list, create, update and delete on the kinds of the snapshot,
// and get, list, update and delete on the source.
package mover
