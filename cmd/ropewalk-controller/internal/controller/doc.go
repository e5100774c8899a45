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
// what renders, fetches and remembers; metrics.go shows it.
//
// # Decisions
//
// The controller is a program of its own, in the same image as the command: the clients
// of Kubernetes would cost every run of the command its start-up time. What both need
// of their process is in cmd/internal/process. Connections to registries and how memory
// is divided are written down in both, and differ: the command has exit codes and hints
// for a person, this has a log.
//
// Flags have the names that Flux's controllers give them, so that whoever runs those
// need not look up twice. One default differs: requests to the API server have no limit
// on our side where --kube-api-qps says none, because priority and fairness of the API
// server is on in every version that is supported, and a thousand Transforms would wait
// minutes for the usual 50 requests a second.
//
// Caller: main.
package controller
