// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package state takes a pivot from step to step, so that it can be killed at any moment and
// go on in another process.
//
// The Source coordinates; the Target answers its Requests over a Link. Each end keeps a
// Receipt in a ConfigMap of the cluster's namespace, which is the only truth: a step ends
// with the write of a receipt, and can be repeated until then.
//
//	source  Freezing Frozen Snapshotted Staged Imported Verified | Committed Activated Confirmed Done
//	target  Prepared Staged Imported Verified                    | Activating Active Done
//	both    Aborting Aborted
//
// Invariants:
//   - Only a request to activate unpauses the target, and the source does not send it before its
//     receipt says Committed. After that the source is never unpaused.
//   - Only an abort unpauses the source; its first write is the receipt, at Aborting, which
//     excludes Committed: both replace a receipt at the resourceVersion that was read.
//   - The target activates no pivot that it was told to abort, and aborts no pivot that it has
//     begun to activate.
//   - The namespace and the definitions on the target must not be deleted. They are read again
//     under each fence of the import and the activation, before the commit, before each depth of
//     the deletion of the source and in a takeover. Before the commit the target's controllers
//     have seen the imported objects, and its webhooks and policies have accepted the activation
//     as a dry run.
//   - Each process that drives a pivot raises its epoch. The target refuses requests of an
//     older epoch, and a receipt that another process has written ends the process.
//
// A receipt has a finalizer until the pivot has ended, so that a deletion of the receipt or its
// namespace ends no pivot. A target that was restored from a backup, or has lost its receipt in
// another way, gets everything again; a source gets its receipt from the target, to abort.
//
// Takeover activates a target whose source is lost for good, and which has staged everything. Only
// the user knows that the source will not come back, so a takeover is refused while the source
// answers and has the Cluster, and recorded in the receipt. A source that comes back finds the
// target active, and goes forward.
package state
