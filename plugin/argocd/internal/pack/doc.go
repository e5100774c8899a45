// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package pack makes the archive that a plugin server is sent: the
// gzip-compressed tar of a repository, or of the part of one that a render needs.
// It is what a repo-server does, and the other side of internal/unpack.
//
// # Invariants
//
// The same files give the same bytes: entries are sorted, and carry no time, owner
// or permission but that to execute. The content of .git stays out, and so does
// what is no regular file, folder or symlink.
//
// An archive is bounded, and what of it does not stay in memory lies in a file
// without a name: size and checksum are said before its first byte.
//
// Callers: plugin/argocd.
//
// # Decisions
//
// What a render needs is known by watching one being prepared: see [Recorder].
// What was seen but not read is sent as an empty file of its name, so that a
// folder looks the same on the other side. To guess by names was not chosen: a
// module may embed any file, and would have another digest there.
package pack
