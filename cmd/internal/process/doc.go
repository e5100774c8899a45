// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package process has the parts of a process that every command of the project needs: its build, an
// environment that means the same for everybody, a worker that evaluates, and sizes on the command
// line.
//
// # Invariants
//
// It prints nothing and ends nothing: exit codes, hints and logs belong to the commands. It links
// nothing that the commands do not link without it, since the start of the command line is measured
// in milliseconds.
//
// # Decisions
//
// It is below cmd and not in plugin/host, because it reads the environment and starts
// the process again, which only commands may. The linker writes into this package, once
// for all commands; see the Dockerfile.
package process
