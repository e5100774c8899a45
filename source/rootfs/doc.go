// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rootfs reads a directory and nothing outside of it, whatever names
// and links in it say: one on disk by [Open], or one of a file system in memory
// by [Of]. Both give the same files, the same errors with the same text, and
// follow the same links, so that what reads a checkout reads what was streamed
// to it as well.
//
// # Invariants
//
// Names are those of io/fs: slash-separated, relative, clean; "." is the
// directory. A link is followed where it stays inside, up to eight in a row as
// os.Root does; one that is absolute or leads out is [ErrLeaves], also where it
// would lead back in. A pipe opens without waiting for its other end; whether
// something is a regular file is for the reader to ask.
//
// # Decisions
//
// Links of a file system in memory are resolved here, part by part, and the file
// system is only asked for paths without links. To leave it to the file system
// was not chosen: os.DirFS follows links out of its root, others follow none, and
// their errors have other words. os.Root.FS on both sides was not chosen, because
// it opens pipes and waits.
//
// Callers: source/local for modules, plugin/host for documents.
package rootfs
