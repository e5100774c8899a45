// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package local gets module trees from directories, on disk or in a file system
// in memory, and from nowhere else below or above: everything is read through a
// rootfs.Folder, and a directory gives the same tree and the same errors either
// way.
//
// A symlink, device, pipe or socket in a tree is refused by name, also where a
// link would stay inside: what a tree holds must be the same wherever it is
// fetched from. Hidden files and folders (.git, .terraform, …), node_modules
// and __pycache__ are left out.
//
// # Links to vendored packages
//
// In cue.mod/pkg, links are followed, because that is how modules in the
// repositories of Timoni share its schemas: cue.mod/pkg/timoni.sh is a link out
// of the module. The tree holds the files that the link leads to, as if they
// were there, and is the same as that of the published module. A link that
// leaves Root is refused as others are, and so are absolute ones, links to what
// is hidden (the credentials in .git/config), and links to a folder around them.
// Limits count what is behind a link each time.
//
// Links elsewhere were not allowed: none that people use was found, and
// each is a file that other backends would not have.
//
// # Which folder is the module
//
// Where the folder that is referred to has no cue.mod, the nearest folder
// above it that has one, up to the root, is the module: its tree holds cue.mod,
// every CUE file, everything in the folder that is referred to, and everything
// in folders whose CUE files embed files; Dir says where the package is.
// Folders with a cue.mod of their own are other modules and stay out, and so do the
// CUE files of a folder elsewhere of which one is a link: who imports it is told that
// it is not there, and nobody else has to know. Where no
// folder has one, the tree is the folder alone.
package local
