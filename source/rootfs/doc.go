// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rootfs reads a directory and nothing outside of it, whatever names and
// links in it say: one on disk by [Open], or one of a file system by [Of]. Both give
// the same files and the same errors, and follow the same links.
//
// # Invariants
//
// Names have the form of io/fs. A link is followed if it stays inside, up to eight in a row as
// os.Root does; a link that is absolute or leads out is [ErrLeaves], also if it would lead back in.
// A pipe opens without waiting for its other end; the reader checks whether something is a regular
// file.
//
// Links of a file system are resolved here, and it is only read by paths without links: os.DirFS
// follows links out of its root, other file systems follow no links.
package rootfs
