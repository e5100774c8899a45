// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package module has the commands for authors of modules: they look at a module, test it,
// compare it with its last version, and publish it.
//
// Tested by cmd/ropewalk/internal/cli.
package module
