// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// What goes in and comes out of one evaluation, at most. There are no flags for these:
// an engine that has to apply more at once is slow at it for every change, and what is
// so large has parts that can be specs of their own. What fewer objects cost is bounded
// by the memory of an evaluation, which is a flag.
const (
	maxInputBytes = 4 << 20
)

// Fast evaluations pay nothing for the watch over memory: it begins late, and looks often
// only at a heap that has grown by half of the limit.
const (
	watchAfter = 50 * time.Millisecond
	watchEvery = 20 * time.Millisecond
	watchOften = 2 * time.Millisecond
	liveHeap   = "/gc/heap/live:bytes"
	wholeHeap  = "/memory/classes/heap/objects:bytes"
	stacks     = "/memory/classes/heap/stacks:bytes"
)

// maxStack limits the growth of the stacks, in bytes. A stack doubles, and a stack of more than half
// a GiB ends the process: there is time to end the evaluation before.
const maxStack = 128 << 20

// runGuarded runs work within limits and turns its panics into errors. CUE cannot be cancelled, so
// work of it that is over a limit runs on in its goroutine after the error was returned; the
// context of other work ends.
func runGuarded[T any](ctx context.Context, req evaluate.Request, work func(ctx context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, diagnose.Cancelled(ctx, req)
	}

	// The work runs beside the watch.
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	heap := watchHeap(diagnose.Memory(req.Limits))
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- outcome{zero, object.Errors{diagnose.Blame(req, diagnose.Panicked(req, r))}}
			}
		}()
		v, err := work(working)
		done <- outcome{v, err}
	}()

	// Watch the deadline and the memory until the work is done.
	deadline := time.NewTimer(diagnose.Timeout(req.Limits))
	defer deadline.Stop()
	watch := time.NewTimer(watchAfter)
	defer watch.Stop()
	for {
		late := false
		select {
		case o := <-done:
			return o.value, o.err
		case <-ctx.Done():
			return zero, diagnose.Cancelled(ctx, req)
		case <-deadline.C:
			late = true
		case <-watch.C:
		}

		// A stack or a heap that is too large explains why the deadline was missed.
		switch {
		case bytesOf(stacks)-heap.stacks >= maxStack:
			return zero, diagnose.TooDeep(req)
		case heap.exceeded():
			return zero, diagnose.OutOfMemory(req)
		case late:
			return zero, diagnose.TimedOut(req)
		}
		watch.Reset(heap.pause())
	}
}

// heapWatch holds the heap of the process against the limit of one evaluation.
type heapWatch struct {
	limit int64
	// live and withGarbage are the sizes of the heap before the evaluation, without its garbage
	// and with it; stacks is the size of the stacks of all goroutines. All are bytes.
	live, withGarbage, stacks int64
	// collecting is set while a collection that the watch began is under way.
	collecting atomic.Bool
}

// watchHeap begins a watch. The limit may be practically infinite: a worker has a limit of its own.
func watchHeap(limit int64) *heapWatch {
	return &heapWatch{limit: limit, live: LiveBytes(), withGarbage: bytesOf(wholeHeap), stacks: bytesOf(stacks)}
}

// exceeded reports whether the evaluation is over its limit. By itself the heap grows to a
// multiple of the memory in use before that is counted again, so a heap that has grown by
// the limit is collected early. A heap that has grown by twice the limit meanwhile, as by a
// text that multiplies between two collections, is over it.
func (w *heapWatch) exceeded() bool {
	live, withGarbage := LiveBytes(), bytesOf(wholeHeap)
	if live-w.live > w.limit || (withGarbage-w.withGarbage)/2 > w.limit {
		return true
	}
	collect := withGarbage-w.live > w.limit && withGarbage-live > w.limit/4
	if collect && w.collecting.CompareAndSwap(false, true) {
		go func() {
			runtime.GC()
			w.collecting.Store(false)
		}()
	}
	return false
}

// pause returns the time until the next look.
func (w *heapWatch) pause() time.Duration {
	if bytesOf(wholeHeap)-w.withGarbage > w.limit/2 || bytesOf(stacks)-w.stacks > maxStack/8 {
		return watchOften
	}
	return watchEvery
}

// LiveBytes returns how many bytes of the heap the last collection found in use. Garbage is not
// counted.
func LiveBytes() int64 { return bytesOf(liveHeap) }

// bytesOf returns a metric of the runtime.
func bytesOf(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	// The runtime counts bytes; they fit.
	return int64(min(sample[0].Value.Uint64(), 1<<62)) //nolint:gosec
}

// CheckSize refuses inputs that are too large before CUE sees them.
func CheckSize(r evaluate.Request) error {
	size := len(r.Input.JSON())
	for _, layer := range r.Layers {
		size = max(size, len(layer.JSON()))
	}
	if size > maxInputBytes {
		e := diagnose.AtSpec(r, fmt.Errorf("the input is larger than %d MiB", maxInputBytes>>20))
		e.Path, e.Pos = r.InputPath.String(), object.FirstValid(r.Input.Pos, r.Pos)
		e.Hint = "keep data of that size out of the spec"
		return object.Errors{e}
	}
	return nil
}
