// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller is the command ropewalk-controller: its flags, its logs, and the
// parts that plugin/flux is given. What a Transform means is there, not here.
//
// # Invariants
//
// Only this package reads the environment and the arguments. Nothing that tenants
// write is evaluated in this process: modules run in workers, which are this program
// started again with the argument of workers, and the memory of all of them together stays
// within --memory-total. SIGTERM stops taking on work, lets what is begun go on for the
// time of --graceful-shutdown-timeout, gives the lease back and ends; nothing is ever
// written by halves, so that SIGKILL is no worse.
//
// Files: controller.go runs the process; flags.go is the command line;
// memory.go divides the memory; cluster.go connects to the API server; parts.go makes
// what renders, fetches and caches; metrics.go shows it.
package controller
