// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"fmt"
	"runtime/metrics"
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

// Fast evaluations pay nothing for the watch over memory: it begins late.
const (
	watchAfter = 50 * time.Millisecond
	watchEvery = 20 * time.Millisecond
	liveHeap   = "/gc/heap/live:bytes"
)

// guarded runs work within limits and turns its panics into errors. CUE
// cannot be cancelled, so work that is over a limit runs on in its goroutine
// after the error was given.
func guarded[T any](ctx context.Context, req evaluate.Request, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, diagnose.Cancelled(ctx, req)
	}
	base := LiveBytes()
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- outcome{zero, object.Errors{diagnose.Blame(req, diagnose.Panicked(req, r))}}
			}
		}()
		v, err := work()
		done <- outcome{v, err}
	}()
	deadline := time.NewTimer(diagnose.Timeout(req.Limits))
	defer deadline.Stop()
	watch := time.NewTimer(watchAfter)
	defer watch.Stop()
	for {
		select {
		case o := <-done:
			return o.value, o.err
		case <-ctx.Done():
			return zero, diagnose.Cancelled(ctx, req)
		case <-deadline.C:
			return zero, diagnose.TimedOut(req)
		case <-watch.C:
			if LiveBytes()-base > diagnose.Memory(req.Limits) {
				return zero, diagnose.OutOfMemory(req)
			}
			watch.Reset(watchEvery)
		}
	}
}

// LiveBytes is how many bytes of the heap the last collection found in use; what is
// garbage is not counted, and a heap that grows is collected often.
func LiveBytes() int64 {
	sample := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(sample)
	// The runtime counts bytes; they fit.
	return int64(min(sample[0].Value.Uint64(), 1<<62)) //nolint:gosec
}

// CheckSize refuses inputs that are too large before CUE sees them.
func CheckSize(r evaluate.Request) error {
	if len(r.Input.JSON()) > maxInputBytes {
		e := diagnose.AtSpec(r, fmt.Errorf("the input is larger than %d MiB", maxInputBytes>>20))
		e.Path, e.Pos = r.InputPath.String(), diagnose.FirstValid(r.Input.Pos, r.Pos)
		e.Hint = "keep data of that size out of the spec"
		return object.Errors{e}
	}
	return nil
}
