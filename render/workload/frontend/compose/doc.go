// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package compose turns the services of compose files into documents of kind Workload.
//
// [Compile] reads the files that a document of kind Compose names, or a compose file that
// a user named: it fills in variables, follows include and extends, merges later files over
// earlier ones, and writes each service whose profile is active as a Workload. Those then
// go the usual way: environments, render/workload/score, provisioners, checks.
//
// Files are parsed by render/spec, so that every part of a Workload has the position of
// what the author wrote in the compose file, and mistakes that are found later are at that
// line. The rules of the format are the Compose Specification as compose-go
// implements it; a test compares the two. Short forms are parsed by the libraries that
// compose-go uses.
//
// # Invariants
//
// Only files that the caller returns are read, and only variables that it declares are known:
// never the environment of the process. The value of a secret is never read. What cannot be
// carried over is reported at its line: an error where the meaning changes, a warning where it
// does not. All mistakes are reported at once; the caller masks the values of variables in
// them. No input panics; time and memory are bounded by the size of the files, of which there
// are at most 100.
package compose
