// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of Ropewalk: one file for each subcommand.
//
// [Main] is the process: its arguments, streams and signals. [Run] is a run of
// the command line inside any process, with everything injected; it returns
// the exit code and never exits.
//
// # Invariants
//
// Standard output is data and nothing else; diagnostics, tables and progress
// go to standard error. An error is printed once, by [Run], in one form, with
// a code that scripts can tell apart: see [Findings] and its siblings.
// Nothing is written to a folder before the whole render is known to be good.
//
// # Decisions
//
// The environment is read here and nowhere below, and only for the terminal and
// the garbage collector (NO_COLOR, TERM, GOGC, GOMEMLIMIT): a render must not
// depend on it.
//
// Mistakes on the command line end with code 2 and mistakes in files with code 1,
// so that a pipeline can tell a wrong call from a wrong spec. One code for
// both, as most peers have, hides broken pipelines.
package cli
