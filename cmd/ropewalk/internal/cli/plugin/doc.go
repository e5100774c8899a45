// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin has the commands that other tools start: the sidecar of Argo CD and
// the commands for its stock plugin server, and the KRM function.
//
// # Invariants
//
// The memory that an administrator gives is divided among the server, its workers and
// its caches once, at the start; what does not fit is an error that names the flag.
package plugin
