// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && race

package worker

// What the memory limit of a worker has to allow for, by kind of build.
const (
	threadMemory = 0
	// hardLimit is off: the shadow memory of the race detector counts as
	// written, and is many times the memory of the program.
	hardLimit = false
	// exactLimit is off for the same reason.
	exactLimit = false
)
