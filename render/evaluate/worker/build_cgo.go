// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo && !race

package worker

// What the memory limit of a worker has to allow for, by kind of build.
const (
	// threadMemory is the stacks of a dozen threads: with cgo the C library
	// maps 8 MiB for each, hardly uses them, and aborts the process where it
	// gets no memory for them.
	threadMemory = 96 << 20
	// hardLimit says that the kernel can hold the limit.
	hardLimit = true
	// exactLimit is off: the C library reserves 128 MiB of addresses for each
	// thread that allocates.
	exactLimit = false
)
