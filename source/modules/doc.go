// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules gets the dependencies of a CUE module from registries, by
// CUE's own protocol: what cue mod publish writes, it reads. Evaluation has no
// network and finds imports below cue.mod/pkg, so dependencies are added to the
// tree there.
//
// # Invariants
//
// The module file decides alone: cue mod tidy lists every dependency with its version in it, the
// indirect ones included. Nothing is chosen here, so the same module file gives the same tree. A
// listed version older than a dependency needs is an error; an import of a module that is not
// listed is reported by evaluation.
//
// What cue.mod/pkg, gen or usr already hold is left alone and asks no registry; a
// tree without dependencies costs a search for one word in its module file.
//
// Which modules are needed, and which registry has each, is known before any request
// ([Registry.Needs]), so that a pull policy is applied first.
//
// A vendored project gives the same tree as one that is not. Vendored files are
// verified one by one against the list that vendoring wrote, and the digest in that
// list against the lock.
//
// A dependency is identified by the SHA-256 of its zip. Archives are bounded before
// and while they are read, are checked as CUE checks them, and are cached only after
// that. Every digest is verified.
//
// Nothing is read from the environment; the connections of Registry.Open have the
// credentials, retries and time-outs.
//
// Vendored modules lie in cue.mod/vendor/<path>@<version>, where CUE looks for
// nothing; in cue.mod/pkg it would call an import ambiguous that the module file
// lists too. Files of a dependency that are hidden, or in node_modules or cue.mod,
// are left out, as they are left out of trees.
package modules
