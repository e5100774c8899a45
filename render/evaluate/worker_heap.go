// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"runtime"
	"runtime/metrics"
)

// CUE keeps every distinct field name in a table of the process that nobody
// can empty: some 117 bytes for each, whatever context they are evaluated in.
// Names come from users, so that a worker would grow for ever; it is replaced
// instead. What tells that table from compiled modules, which are meant to
// stay, is when the heap grows: with the first evaluation of a tree, or with
// any later one.

// Bounds of a worker, as shares of its memory limit.
const (
	// leakShare is how much may be held that no module explains: 32 MiB of
	// 256, which is a quarter of a million field names.
	leakShare = 8
	// moduleShare is how much all modules may hold before the worker starts
	// again with those that are still in use.
	moduleShare = 4
	// settleCycles is how many collections it takes until the heap that a new
	// module needs is told from the garbage of its compilation: the one that
	// runs during it counts what is new as live.
	settleCycles = 2
)

// heap knows what the live heap of a worker consists of, in bytes.
type heap struct {
	limit int64 // of the process; 0 means that no bound applies
	held  int64 // by modules, schemas and the program itself
	leak  int64 // what is live and not held
	// trees is how many modules came, and settle the collection after which
	// the newest counts as held; 0 means that it does.
	trees  int
	settle uint64
	packed int64 // the trees themselves
	sample []metrics.Sample
}

func newHeap(limit int64) *heap {
	h := &heap{limit: limit, sample: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}}
	_, cycles := h.read()
	h.settle = cycles + settleCycles
	return h
}

// read gives the live heap at the last collection and how many there were. It
// costs a microsecond and starts none.
func (h *heap) read() (live int64, cycles uint64) {
	metrics.Read(h.sample)
	return int64(h.sample[0].Value.Uint64()), h.sample[1].Value.Uint64() //nolint:gosec // no heap has 2^63 bytes
}

// grew notes that a tree of so many bytes came in.
func (h *heap) grew(packed int64) {
	_, cycles := h.read()
	h.packed += packed
	h.trees++
	h.settle = cycles + settleCycles
}

// judge is called after every evaluation: it gives the live heap and whether
// the process is to be replaced.
func (h *heap) judge() (live int64, retire bool) {
	live, cycles := h.read()
	if cycles >= h.settle {
		live, retire = h.leaks(live)
	}
	return live, retire || h.crowded(live)
}

// leaks reports whether more leaked than is good.
func (h *heap) leaks(live int64) (int64, bool) {
	if h.settle > 0 {
		// What leaked before the module came is still leaked.
		h.held, h.settle = live-h.leak, 0
	}
	if h.limit > 0 && live-h.held > h.limit/leakShare {
		// Objects that were born during a collection count as live: look again.
		runtime.GC()
		live, _ = h.read()
	}
	// Less than before means that a module was dropped.
	h.held = min(h.held, live)
	h.leak = live - h.held
	return live, h.limit > 0 && h.leak > h.limit/leakShare
}

// crowded reports whether modules have come together that would leave too
// little for an evaluation. A single one is never too many.
func (h *heap) crowded(live int64) bool {
	return h.limit > 0 && h.trees > 1 && max(live, h.packed) > h.limit/moduleShare
}
