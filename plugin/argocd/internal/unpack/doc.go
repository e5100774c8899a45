// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package unpack reads the archive that a repo-server streams to a plugin, a
// gzip-compressed tar of a repository, into a file system that is read from and
// then forgotten.
//
// # Invariants
//
// The archive is a stream: neither it nor the tar in it is ever held as a whole.
// There is no tree before the end of the stream was seen and the checksum of all
// its compressed bytes is right.
//
// Names are relative and clean, each stands once, and none lies below a file. What
// is no regular file, folder or symlink is refused. Size (compressed, unpacked, of
// a file), entries, depth and the ratio of the compression are bounded, and so they
// are for what is left out, but for the size of a file: the pack of a repository may
// be larger than any file in it. No size that an archive claims is believed before
// the bytes are there.
//
// Symlinks are kept and followed inside of the repository only: one that leads out
// of it is an error when it is read, and not before, because a stray link in a
// folder that nobody reads is no reason to fail.
//
// Callers: plugin/argocd.
//
// # Decisions
//
// What a render needs is known only when its documents are read, and a module may
// embed any file beside it. So nothing is left out by its name but the content of
// .git. Files of the application's own folder are kept in memory; those elsewhere
// are kept in memory up to a small amount and follow one another in one file
// without a name beyond that, which costs a write and no file for each: the time
// of stock plugins goes into making thousands of files. Keeping only CUE, YAML and
// JSON was not chosen: a module would have another digest here than on the command
// line.
package unpack
