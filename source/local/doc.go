// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package local gets module trees from directories, on disk or in a file system in
// memory. Everything is read through a rootfs.Folder, so a directory gives the same
// tree and the same errors either way.
//
// # Invariants
//
// A device, pipe or socket in a tree is refused by name. Hidden files and directories,
// node_modules and __pycache__ are left out.
//
// Links are followed: modules in a repository share schemas that way. The tree holds the files
// behind the link in its place, as if the module had copies of them. Links that leave Root are
// refused, and so are absolute ones, links to hidden files (the credentials in .git/config), and
// links to a directory around them. A link to another module is left out, as that module is, and
// refused in cue.mod/pkg. Limits count what is behind a link each time.
//
// If the directory of a reference has no cue.mod, the module is the nearest directory above it that
// has a cue.mod, up to the root: its tree holds cue.mod, every CUE file, everything in the
// directory of the reference, and everything in directories whose CUE files embed files; Dir is the
// package. Directories with a cue.mod of their own are other modules and are left out, and so are
// the CUE files of another directory that has a device, or a link that cannot be followed, among
// them: an import of it fails. If there is no cue.mod at all, the tree is the directory alone.
package local
