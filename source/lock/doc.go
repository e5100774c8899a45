// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package lock pins what references lead to. A [File] is ropewalk.lock: for each
// reference of a project the immutable revision that it led to and the digest of
// the tree, for each module dependency the digest of its zip, and for each image that the
// render runs, where it has those, the digest of that. A [Fetcher]
// holds references to it; a [Recorder] collects what was used.
//
// # Invariants
//
// The text of a file is canonical: the same entries give the same bytes in one
// order. Reading is strict: unknown fields, duplicate entries and malformed digests
// are errors with their line.
//
// A digest is checked whenever a tree is fetched through an entry, in every mode but
// Update. Types that are part of the project itself are not locked (package reftype).
// Embedded modules change with the version of the program: they are locked by digest
// alone, which Enforce and Frozen check and Prefer does not.
//
// The tree of a locked reference has the revision and the pinned reference that the lock has, not
// what the pinned fetch returns, so that a render is the same with a lock and without.
//
// Enforce asks the server where a reference leads: it is the mode that reports a
// moved tag. Frozen asks no server. The package reads and writes no file.
package lock
