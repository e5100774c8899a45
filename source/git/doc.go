// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package git gets module trees from Git servers, over https and ssh, and from
// revisions of repositories on this machine. A reference is a URL with one of
// ?branch=, ?tag=, ?semver= and ?commit=, or none for the default branch; the
// root of the tree is the folder that source.Ref.Path names.
//
// It fetches one commit without its history. Nothing is ever checked out: files
// are read from the objects, so that attributes, filters and hooks do not run.
// Every object has the hash that it goes by, whatever the server sends.
//
// A commit is a file system, [Files], and package local reads the module of a folder
// from it. Blobs that are not here are empty files at first: they are noted, fetched
// together, and the module is read again. A symlink stands for the file or folder that
// it leads to inside the commit, and is refused where it leads elsewhere. A submodule
// is refused unless &submodules=true is set, and a folder then; its server gets the
// credentials only where it is the same. A pointer of Git LFS is refused, because it is
// not the file.
//
// With the git binary there is a bare repository in a temporary folder, two runs
// of git fetch, for all trees and for the files that are needed, and git cat-file.
// git and ssh read no configuration but the one that is written for them, unless
// Fetcher.UserEnv is set. Credentials go to git through the environment and to ssh
// through a file that only this user can read, never through arguments. Every
// process has a session of its own: it ends with all its children, and has no
// terminal for prompts. Without the binary go-git fetches all files of the commit,
// into memory; it knows SHA-1 only. Both ways give the same trees and the same
// sentinels.
package git
