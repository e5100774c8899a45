// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"runtime/debug"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/argocd"
)

// Shares of the memory of a server, in bytes.
const (
	pluginTotal = 512 << 20
	// processCost is what a process takes before it has a heap: the pages of the
	// program, of which each process counts its own even where they are shared.
	ProcessCost = 40 << 20
	// leastParent is what the server itself needs.
	leastParent = 128 << 20
	// EvaluationCost is how many bytes a cached evaluation takes for each of its encoded
	// size: 6.3 for 1,000 plain workloads.
	EvaluationCost = 7
	// waitingCost is what a request that waits takes beside what it has sent of its
	// archive: its connection and its variables.
	WaitingCost = 64 << 10
	// largestQueue is how many requests wait at most, however much memory there is.
	largestQueue = 1000
)

// Shares are what the parts of a server may take of its memory, in bytes. The parts
// of the server itself add up to what its own process may have: three sixteenths are for
// caches, a quarter for archives, an eighth for requests that wait, a sixteenth for
// variables that are received, and the rest for what is being rendered.
type Shares struct {
	// worker is the limit of an evaluation, and heap the soft limit of the server.
	Worker, Heap int64
	// Evaluations (by their encoded size) and Renders are cached.
	Evaluations, Renders int64
	// archive is what one request keeps of its archive in memory; the rest is in a
	// file.
	Archive int64
	// response is how large a response may be, and working what one request may take while
	// it is rendered.
	response, working int64
	// Variables is what the variables of all requests may take while they are received.
	Variables int64
	Queue     int
}

// Divide divides a total among a server, for so many requests at once, and its workers.
// Limit is that of an evaluation if the user sets one, and else zero.
func Divide(total, limit int64, workers, requests int) (Shares, error) {
	n := int64(workers)
	parent := max(leastParent, total*3/8)
	worker := (total-parent)/n - ProcessCost
	if worker < command.LeastMemory {
		need := process.Size(max(leastParent+n*(command.LeastMemory+ProcessCost), (n*(command.LeastMemory+ProcessCost)*8+4)/5))
		return Shares{}, command.Usagef("", "--memory-total %s cannot hold %d workers beside the server: give it at least %dMiB, or fewer --workers",
			(*process.Size)(&total), workers, (need+1<<20-1)>>20)
	}
	if limit > worker {
		fits := process.Size(worker)
		return Shares{}, command.Usagef("", "--memory %s: --memory-total %s leaves %s for each of %d workers",
			(*process.Size)(&limit), (*process.Size)(&total), &fits, workers)
	}
	if limit > 0 {
		worker = limit
	}
	heap := parent - ProcessCost
	return Shares{
		Worker: worker, Heap: heap, Evaluations: heap / 8 / EvaluationCost, Renders: heap / 16, Variables: heap / 16,
		Archive: heap / 4 / int64(requests), response: min(argocd.DefaultResponse, heap/4), working: heap * 3 / 8,
		Queue: int(min(largestQueue, heap/8/(WaitingCost+argocd.Window))),
	}, nil
}

// hold makes the collector keep the server within its share, unless the user has set
// it.
func (s Shares) hold() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.Heap)
	}
}
