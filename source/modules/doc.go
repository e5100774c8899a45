// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules gets the dependencies of a CUE module from registries, by
// CUE's own protocol: what cue mod publish writes, it reads. Evaluation has no
// network and finds imports below cue.mod/pkg, so dependencies are completed
// into the tree there.
//
// # Invariants
//
// The module file decides alone: cue mod tidy lists every dependency with its
// version in it, those of dependencies too. Nothing is chosen here, so the same
// module file gives the same tree. A module file that lacks what a dependency
// needs is an error that says who needs it; it is never filled up silently.
//
// What cue.mod/pkg, gen or usr hold already is left alone and asks no registry;
// a tree without dependencies costs a search for one word in its module file.
//
// Which modules are needed, and which registry has each, is known before any request
// ([Registry.Needs]), because both stand in files: a policy about where modules come
// from is not asked after the fact.
//
// A vendored project gives the same tree as one that is not. What is vendored is
// verified, file by file, against the list that vendoring wrote, and the digest
// in that list against the lock. Who can write the list can write the project:
// it finds what changed by accident, and the next vendoring writes again what was
// published.
//
// A dependency is identified by the SHA-256 of its zip. That of the manifest was
// not taken: it changes with annotations such as the time of the commit, and
// the cache of the cue command keeps zips and no manifests, so that a lock could
// not be checked offline.
//
// Archives are bounded before and while they are read, are checked as CUE checks
// them, and reach the cache only after that. The registry's digest of an archive
// is verified whatever the transport says.
//
// # Decisions
//
// The cache has the layout of the cue command's, so that each finds what the
// other has fetched. Only zips are kept: cue's extracted folders are read-only
// and outlive os.RemoveAll for every user but root. Beside each zip of ours lies
// its digest, and a zip that does not match it is fetched again. The layout does
// not tell registries apart: tenants with other registries or other credentials
// need other folders. A program that serves others keeps modules in a bounded
// [Store] instead, because nothing ever leaves the folder of the cue command; that
// has no names of modules in its layout, and tells registries apart.
//
// cuelang.org/go/mod/modconfig is used for the syntax of CUE_REGISTRY only. Its
// registries read the environment, the home folder and the logins of the user;
// here credentials are what the caller gives.
//
// The cue.mod folder of a dependency is left out: CUE looks for local packages
// in that of the main module alone, and a module file below cue.mod/pkg would cut
// the folder off as a module of its own.
//
// Vendored modules lie in cue.mod/vendor/<path>@<version>. In cue.mod/pkg, where
// evaluation would find them by itself, CUE calls an import ambiguous that the
// module file lists too, so that cue vet and editors fail. CUE looks for nothing
// in cue.mod/vendor, and leaves it out of what it publishes. Zips were not taken:
// a review sees files.
//
// Files of a dependency that are hidden, or lie in node_modules, are left out, as
// folders and archives leave them out of a tree: a vendored dependency could not
// have them.
//
// Callers: plugin/host, before a render, and the command.
package modules
