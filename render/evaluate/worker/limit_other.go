// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package worker

import "runtime"

// What the kernel can hold: nothing.
const (
	hardLimit  = false
	exactLimit = false
)

// limitWorker sets the soft limit of the collector: other systems have no
// limit that counts what Go writes to and nothing else. The deadline of the
// pool is then what ends a module that eats memory.
func limitWorker(memory int64) error {
	runtime.GOMAXPROCS(workerProcs)
	if memory > 0 {
		tune(memory)
	}
	return nil
}
