// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package lock pins what references lead to. A [File] is ropewalk.lock: for each
// reference of a project the immutable revision that it led to and the digest of
// the tree, and for each module dependency the digest of its zip. A [Fetcher]
// puts it between callers and the backends; a [Recorder] collects what was used.
//
// # Invariants
//
// The text of a file is canonical: the same entries give the same bytes, in one
// order, so that a lock merges and reviews well. Reading is strict: unknown
// fields, entries twice and malformed digests are errors with their line, for a
// lock that is half understood locks nothing.
//
// A digest is checked whenever a tree is had through an entry, in every mode but
// Update. Only what can change is locked: inline text, paths and ConfigMaps are
// the project itself. Embedded modules change with the version of the program;
// they are in the lock by digest alone, which Enforce and Frozen check. Prefer
// does not: the program has no other version of them to give.
//
// # Decisions
//
// The tree of a locked reference says the revision and the pinned reference of
// the lock, not those of the pinned fetch: main@sha1:… stays readable, and a
// render is the same with a lock and without.
//
// Enforce asks the server where a reference leads, although it could serve the
// pinned revision: it is the gate that says that a tag has moved. Frozen is the
// mode that asks nobody. The package reads and writes no file: the command knows
// where ropewalk.lock is, and controllers have it in a tree.
//
// Callers: plugin/host, which wraps each backend, and the command.
package lock
