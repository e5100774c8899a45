// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cue holds the CUE that Ropewalk brings along, as it is published:
// the schema that modules are written against, the embedded modules, and the
// template of a new project. It evaluates nothing and imports no CUE library.
//
// # Where what lies
//
//   - schema is the CUE module ropewalk.dev/schema@v0: the contract between
//     Ropewalk and a module.
//   - modules has a CUE module for each embedded module; a spec uses one with
//     cueRef {type: embedded, ref: webservice}.
//   - template is what ropewalk init writes.
//   - examples are projects to learn from and to test with; they are not
//     embedded.
//
// # Decisions
//
// Embedded modules do not carry a copy of the schema: the evaluator lays it
// over modules that lack it, so that there is one. Modules of a user do carry
// one, in cue.mod/pkg, so that the cue command and editors find it without a
// registry; a test holds the copies in the template and the examples to the
// original.
//
// Callers: source/embedded reads modules, plugin/host passes the schema to the
// evaluator, and the command line writes the template.
package cue
