// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
)

// Shares of the memory, in bytes.
const (
	defaultTotal = 768 << 20
	// processCost is the memory of a process without its heap.
	processCost = 48 << 20
	// leastParent is the least memory for the controller itself: for the objects that it
	// watches, and the renders in progress.
	leastParent = 224 << 20
	// leastWorker is the least memory for an evaluation of more than a toy.
	leastWorker = 32 << 20
	// evaluationCost is the memory of a cached evaluation for each byte of its encoding: 6.3
	// bytes for 1,000 plain workloads.
	evaluationCost = 7
)

// shares are the shares of the parts in the memory, in bytes.
type shares struct {
	// worker is the limit of an evaluation, and heap the soft limit of the controller.
	worker, heap int64
	// evaluations (by their encoded size), renders and trees (sources) are cached, an
	// eighth of the heap each, and plans of deliveries, a sixteenth. The rest is for the
	// objects that are watched, and for the renders in progress, of which one may take
	// working.
	evaluations, renders, trees, plans, working int64
}

// divide divides a total among the controller, which gets half of it, and its workers.
func divide(total int64, workers int) (shares, error) {
	n := int64(workers)
	parent := max(leastParent, total/2)
	worker := (total-parent)/n - processCost
	if worker < leastWorker {
		need := max(leastParent+n*(leastWorker+processCost), 2*n*(leastWorker+processCost))
		const format = "--memory-total %s cannot hold %d workers beside the controller: give it at least %dMiB, or fewer --workers"
		return shares{}, fmt.Errorf(format, (*process.Size)(&total), workers, (need+1<<20-1)>>20)
	}
	heap := parent - processCost
	return shares{
		worker:      worker,
		heap:        heap,
		evaluations: heap / 8 / evaluationCost,
		renders:     heap / 8,
		trees:       heap / 8,
		plans:       heap / 16,
		working:     heap / 4,
	}, nil
}

// hold makes the collector keep this process within its share, unless the user has set
// it.
func (s shares) hold() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.heap)
	}
}
