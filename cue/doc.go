// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cue embeds the CUE that Ropewalk brings along, as it is published. It
// evaluates nothing and imports no CUE library.
//
//   - schema is the CUE module ropewalk.dev/schema@v0: the contract between
//     Ropewalk and a module.
//   - modules has a CUE module for each embedded module; a spec uses one with
//     cueRef {type: embedded, ref: webservice}.
//   - template is what ropewalk init writes.
//   - examples are projects to learn from and to test with; they are not
//     embedded.
//
// Embedded modules have no copy of the schema: the evaluator adds it to modules
// that lack it. Modules of users do have one, in cue.mod/pkg; a test compares the
// copies in the template and the examples with the original.
package cue
