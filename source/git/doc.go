// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package git gets module trees from Git servers, over https and ssh, and from
// revisions of repositories on this machine. A reference is a URL with one of
// ?branch=, ?tag=, ?semver= and ?commit=, or none for the default branch; the
// root of the tree is the folder that source.Ref.Path names.
//
// # What it gets
//
// One commit without its history, all its trees, and of its files those that
// are wanted: trees are walked first, then all blobs are asked for in one
// request, by their ids. Nothing is ever checked out: files are read from the
// objects, so that neither attributes, filters, hooks nor names that a file
// system takes for others can do anything. What is received has the hash that
// it goes by, and a server that sends another commit gets nothing in.
//
// A tree holds regular files; permissions do not count. A symlink stands for
// the file or folder that it leads to inside the commit, and is refused where
// it leads elsewhere. A submodule is refused unless &submodules=true asks for
// it; its server gets the credentials only where it is the same. A pointer of
// Git LFS is refused, because it is not the file.
//
// # Two ways
//
// With the git binary: a bare repository in a temporary folder, git fetch, and
// git cat-file. git and ssh read no configuration but the one that is written
// for them, unless Fetcher.UserEnv asks for the user's own. Credentials go to
// git through the environment and to ssh through a file that only this user
// can read, never through arguments. Every process has a session of its own,
// so that it ends with all it has started and has no terminal to ask at.
//
// Without it: the protocol itself, over net/http and x/crypto/ssh, with packs
// read into memory by way of go-git. It knows SHA-1 only, and servers that
// speak protocol version 0 send it everything that the commit has.
//
// Both give the same trees and the same sentinels.
//
// # Decisions
//
// The fetch of go-git was not chosen for the second way: it knows no protocol
// version 2 and hence no fetch of single blobs, gets everything that a commit
// has, and its ssh reads the configuration of the user without being asked.
// Its reader of packs, its store of local objects and references, and its reader
// of .gitmodules are used, and its worktree, where its CVEs are, is not.
//
// Its root package was not chosen for local repositories: it links all its
// transports, and what they do at start-up every command pays for, of which few
// read a revision. Where a repository is and what a revision means is said here
// instead, as git does it, with what the library takes for something else:
// objects borrowed by relative paths or twice over, references of a linked
// worktree, core.worktree, names that are also abbreviations. What needs more
// than objects, references and commits, such as reflogs and upstreams, is left
// to the git binary, and so are SHA-256 and tables of references.
//
// git archive was not chosen, because export-ignore and export-subst change
// what is in it; neither was git ls-tree, which is a process more than reading
// the trees from the cat-file that runs anyway.
//
// A server's redirect is followed as git does it, for the first request, but
// not with credentials, which git would send on to wherever it leads, and not
// from plain http, where whoever listens could choose the place.
//
// Plain http is allowed by host, as for registries, and not for all servers or
// the loopback: what is allowed is written down where it is meant. Authorities
// that the caller gives stand beside those of the system, or of the user; those
// of a Secret stand in place of them, because they say whom it is for. git takes
// one file for all of them, by a variable that only its process has.
//
// Signatures are checked here and not by git verify-commit, which wants a key
// ring or a file of signers on disk, and gpg. The signature of a tag counts
// only where the tag says the name that was asked for and leads to the commit.
//
// Callers: plugin/host, which puts source/cache before it, and the diff of the
// command line for local revisions.
package git
