// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller is the command ropewalk-controller: its flags, its logs, and the parts for
// plugin/flux, which reconciles Transforms.
//
// # Invariants
//
// Only this package reads the environment and the arguments. Nothing that tenants
// write is evaluated in this process: modules run in workers, which are this program
// started again with the argument of workers, and the memory of all of them together stays
// within --memory-total. On SIGTERM the process takes on no more work, lets the work in
// progress go on for the time of --graceful-shutdown-timeout, releases the lease and ends;
// nothing is ever written by halves, so that SIGKILL is no worse.
//
// Files: controller.go runs the process; flags.go is the command line;
// memory.go divides the memory; cluster.go connects to the API server; parts.go makes
// the parts that render, fetch and cache; metrics.go shows them.
package controller
