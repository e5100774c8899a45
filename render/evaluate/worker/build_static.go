// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && !cgo

package worker

// What the memory limit of a worker has to allow for, by kind of build.
const (
	// threadMemory is nothing: the runtime takes stacks of threads from its
	// own heap.
	threadMemory = 0
	// hardLimit says that the kernel can hold the limit.
	hardLimit = true
	// exactLimit says that address space can be limited too.
	exactLimit = true
)
