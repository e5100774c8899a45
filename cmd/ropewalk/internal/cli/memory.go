// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Settings of the garbage collector for a one-shot run. Most runs end before
// the first collection would pay, so the heap may grow further between two of
// them than Go's default of 100 percent allows. That would cost a large run too
// much memory, and a soft limit alone would make it collect without end: so
// the larger the live heap is, the less it may grow. A render of 1,000 workloads,
// 5,000 objects, then takes 1.1 to 1.5 s of CPU time and 131 MiB; at 400 percent
// alone 1.0 to 1.4 s and 230 MiB, under a limit of 64 MiB alone 1.6 s.
const (
	smallPercent  = 400
	smallLimit    = 100 << 20
	mediumHeap    = 32 << 20
	mediumPercent = 105
	largeHeap     = 80 << 20
	largePercent  = 100
)

// tuneMemory sets the garbage collector for a one-shot run, except where the
// user has set it.
func tuneMemory() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(smallPercent)
	time.AfterFunc(quiet, func() {
		if debug.SetMemoryLimit(-1) != math.MaxInt64 {
			return // A server has limits of its own.
		}
		debug.SetMemoryLimit(smallLimit)
		watch(new(sentinel))
	})
}

// sentinel is garbage: its finalizer tells that a collection has ended. It
// holds a pointer, because the runtime may keep smaller things without one
// alive together with their neighbours.
type sentinel struct{ _ *sentinel }

// watch looks at the live heap after every collection until it is large.
func watch(s *sentinel) {
	runtime.SetFinalizer(s, func(s *sentinel) {
		if debug.SetMemoryLimit(-1) != smallLimit {
			return // as above
		}
		live := liveHeap()
		if live < mediumHeap {
			watch(s)
			return
		}
		debug.SetMemoryLimit(math.MaxInt64)
		if live >= largeHeap {
			debug.SetGCPercent(largePercent)
			return
		}
		debug.SetGCPercent(mediumPercent)
		watch(s)
	})
}

// liveHeap is what the last collection left, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
