// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package worker evaluates in processes that can be killed, for modules of others.
//
// A [Pool] starts this program again with [Arg], sends requests over its standard input
// and enforces their limits from outside: a deadline that ends in SIGKILL, and a memory
// limit that the kernel holds (RLIMIT_DATA and RLIMIT_AS on Linux). A worker has no
// environment, no open files and no network of its own. A request that its limits stop
// again and again is quarantined. Whatever a module does to its worker is an error of
// that one request.
//
// Fairness between tenants is not decided here but by the limiter of the adapters.
package worker
