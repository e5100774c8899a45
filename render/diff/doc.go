// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff compares two renders, object by object: what is created, changed,
// deleted, or must be recreated because a field is immutable; what moves to another
// wave or layer; what is dangerous; and which line of a spec it comes from.
//
// It compares what objects hold and not how they are written: the order of fields and
// the spelling of quantities make no difference. The order of list entries does, and is
// told apart from changes of the entries; so does a null, which is not a missing field.
// Values of Secrets are never shown, and nothing that an object holds controls a
// terminal or a page. An object that one snapshot holds twice is a [Finding], because
// the engine may end with either of them.
//
// Snapshots in different dialects are reported as such, and what a dialect writes is
// taken out of both before they are compared. A dialect that neither the caller nor the
// objects name stays unknown, and everything is compared: a false danger is seen and
// judged, a change that is taken for dialect is not seen.
//
// A danger is reported beside the change and never stops anything. Immutable fields are a table of
// ours, because the API schemas do not name them; others count as mutable, and the API server
// decides. List entries are matched by name where all entries have a name, as strategic merge does
// for most lists of the API, and by index otherwise.
package diff
