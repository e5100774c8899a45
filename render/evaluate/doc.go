// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package evaluate holds what a CUE module is asked for, [Request], and what it makes
// of it, [Result]. An [Evaluator] turns one into the other.
//
// # Invariants
//
// A Request holds all that its Result depends on, and no evaluator changes it. There is
// no network, no environment, no clock and no host name in an evaluation: equal requests
// give equal results, on every machine and by every evaluator. Results depend on
// values, not on how they were written down: maps of the input reach a module with
// their names in order.
//
// # Packages
//
// Imports go one way, from each of these to those above it:
//
//	diagnose     inputs with the positions of their parts; errors of CUE at the user's line
//	module       loads and compiles modules; native, plain and Timoni modules
//	trace        which line of the input a rendered value comes from
//	provision    modules of provisioners
//	inprocess    the evaluator of a user's own modules; policies; the compiled-module cache
//	worker       the evaluator of modules of others: processes that can be killed
//	resultcache  results of evaluations in memory, before any evaluator
package evaluate
