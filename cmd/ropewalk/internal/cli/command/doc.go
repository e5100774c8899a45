// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package command has the common parts of all commands: streams, exit codes, reports
// of errors with excerpts, progress, and the flags by which they find projects,
// sources and registries.
//
// # Invariants
//
// Data goes to standard output and diagnostics to standard error; an error is printed
// once. Text of others is escaped before it reaches a terminal, and no excerpt shows
// text that may hold a secret.
package command
