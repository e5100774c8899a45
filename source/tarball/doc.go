// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package tarball reads archives of strangers into a tree: tar, tar.gz and zip.
// It bounds what an archive may cost, and takes only what means the same to
// every reader of it.
//
// Invariants:
//   - Nothing is written anywhere. Files go into a source.Builder, whose limits
//     are asked before a file is read.
//   - A tar is a stream: it is never held as a whole, and the end of the stream
//     is reached before a reader says that all is well, so that who counts or
//     hashes the stream saw all of it.
//   - Entries, decompressed bytes and their ratio are bounded, also for what is
//     left out of the tree. No size that an archive claims is believed before
//     the bytes are there.
//   - Links, devices, pipes, sparse files, names that leave the root, and names
//     that stand twice are refused, each by name. Symlinks of a tar are kept where
//     the caller says so: [Narrow], or the reader of the tree, follows those that
//     stay in it and refuses others.
//   - A fault of the stream below comes out as it is, so that a connection that
//     broke is not taken for a damaged archive.
//
// [Narrow] cuts a tree down to the module of a package, by the rules of
// source/local: a module has the same files and digest wherever it comes from.
//
// A file that stands twice is refused, because readers differ in which one counts. The
// ratio of a compression counts after the first 16 MiB: small archives are mostly padding.
package tarball
