// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "runtime/metrics"

// Allocated returns how many bytes of heap this process has allocated since it began.
func Allocated() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return int64(min(sample[0].Value.Uint64(), 1<<62)) //nolint:gosec // it fits
}
