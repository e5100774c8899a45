// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview has the command that renders both sides of a change and writes what it
// does to each environment.
//
// An environment is rendered only where the two requests differ: a request holds all that
// a render reads, files, modules and locks. Both sides are read as files of the repository,
// so that positions are paths in it, and evaluations are shared between them.
//
// Tested by cmd/ropewalk/internal/cli.
package preview
