// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/ropewalk/ropewalk/render/object"
)

// What goes in and comes out of one evaluation, at most. There are no flags for these:
// an engine that has to apply more at once is slow at it for every change, and what is
// so large has parts that can be specs of their own. What fewer objects cost is bounded
// by the memory of an evaluation, which is a flag.
const (
	maxInputBytes  = 4 << 20
	maxObjects     = 50_000
	maxOutputBytes = 64 << 20
)

// Fast evaluations pay nothing for the watch over memory: it begins late.
const (
	watchAfter = 50 * time.Millisecond
	watchEvery = 20 * time.Millisecond
	liveHeap   = "/gc/heap/live:bytes"
)

func (l Limits) timeout() time.Duration { return cmp.Or(l.Timeout, DefaultTimeout) }

func (l Limits) memory() int64 { return cmp.Or(l.Memory, DefaultMemory) }

// guarded runs work within limits and turns its panics into errors. CUE
// cannot be cancelled, so work that is over a limit runs on in its goroutine
// after the error was given.
func guarded[T any](ctx context.Context, req Request, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, cancelled(ctx, req)
	}
	base := liveBytes()
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- outcome{zero, object.Errors{req.blame(panicked(req, r))}}
			}
		}()
		deepen(false)
		v, err := work()
		done <- outcome{v, err}
	}()
	deadline := time.NewTimer(req.Limits.timeout())
	defer deadline.Stop()
	watch := time.NewTimer(watchAfter)
	defer watch.Stop()
	for {
		select {
		case o := <-done:
			return o.value, o.err
		case <-ctx.Done():
			return zero, cancelled(ctx, req)
		case <-deadline.C:
			return zero, req.timedOut()
		case <-watch.C:
			if liveBytes()-base > req.Limits.memory() {
				return zero, req.outOfMemory()
			}
			watch.Reset(watchEvery)
		}
	}
}

// deepen gives the stack of the goroutine the size that most evaluations need
// anyway, 32 KiB. CUE recurses deeply, and a stack that doubles from its smallest
// size is copied each time: one twentieth of a warm render. To be called is enough
// for that; it touches nothing, for each page that an evaluation has no need of
// would cost a cold one.
//
//go:noinline
func deepen(use bool) byte {
	if !use {
		return 0
	}
	var frame [28 << 10]byte
	return bottom(&frame)
}

//go:noinline
func bottom(frame *[28 << 10]byte) byte { return frame[0] }

// liveBytes is how many bytes of the heap the last collection found in use; what is
// garbage is not counted, and a heap that grows is collected often.
func liveBytes() int64 {
	sample := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(sample)
	// The runtime counts bytes; they fit.
	return int64(min(sample[0].Value.Uint64(), 1<<62)) //nolint:gosec
}

func cancelled(ctx context.Context, req Request) error {
	cause := ctx.Err()
	if errors.Is(cause, context.DeadlineExceeded) {
		return req.fail(fmt.Errorf("the caller's deadline passed: %w", cause))
	}
	return fmt.Errorf("evaluation of %q: %w", req.Spec, cause)
}

// timedOut is the error of an evaluation that took too long.
func (r Request) timedOut() error {
	e := r.blame(because(ErrTimeout, "evaluation exceeded %s: module %q does not come to an end in time", r.Limits.timeout(), r.Module.name()))
	e.Hint = "look for comprehensions over comprehensions and for unified disjunctions, or raise the limit (--timeout)"
	return object.Errors{e}
}

// outOfMemory is the error of an evaluation that grew too large.
func (r Request) outOfMemory() error {
	e := r.blame(because(ErrMemory, "evaluation exceeded %d MiB of memory: module %q grows too large", r.Limits.memory()>>20, r.Module.name()))
	e.Hint = "look for lists and texts that multiply, or raise the limit (--memory, or --memory-total of a server)"
	return object.Errors{e}
}

// advice is what can be done about a request that its limits have stopped again and
// again.
func (l Limits) advice() string {
	return fmt.Sprintf("change the module or its input, or raise its limits: %s (--timeout), %d MiB (--memory, or --memory-total of a server)",
		l.timeout(), l.memory()>>20)
}

// panicked is the error for a fault of the CUE library.
func panicked(r Request, cause any) error {
	return because(ErrCrashed, "module %q: the CUE library gave up: %s", r.Module.name(), firstLine(fmt.Sprint(cause)))
}

// error is a mistake that belongs to the spec as a whole.
func (r Request) error(err error) *object.Error {
	return &object.Error{Stage: object.StageEvaluate, Pos: r.Pos, Err: err}
}

// blame is a mistake of the module, at the line that names it.
func (r Request) blame(err error) *object.Error {
	e := r.error(err)
	e.Pos = or(r.Module.Pos, r.Pos)
	return e
}

// fail makes any error a list of mistakes with positions.
func (r Request) fail(err error) error {
	if err == nil {
		return nil
	}
	var many object.Errors
	if errors.As(err, &many) {
		return many.Sorted()
	}
	var one *object.Error
	if errors.As(err, &one) {
		return object.Errors{one}
	}
	return object.Errors{r.error(err)}
}

// checkSize refuses inputs that are too large before CUE sees them.
func (r Request) checkSize() error {
	if n := size(r.Input, maxInputBytes+1); n > maxInputBytes {
		e := r.error(fmt.Errorf("the input is larger than %d MiB", maxInputBytes>>20))
		e.Path, e.Pos = r.InputPath.String(), or(r.Input.Pos, r.Pos)
		e.Hint = "keep data of that size out of the spec"
		return object.Errors{e}
	}
	return nil
}

// size is about how many bytes v has as JSON; it stops counting at stop.
func size(v object.Value, stop int) int {
	n := len(v.Text) + 2
	for _, m := range v.Members {
		if n > stop {
			return n
		}
		n += len(m.Name) + 4 + size(m.Value, stop-n)
	}
	for _, e := range v.Items {
		if n > stop {
			return n
		}
		n += 1 + size(e, stop-n)
	}
	return n
}

func or(a, b object.Pos) object.Pos {
	if a.IsValid() {
		return a
	}
	return b
}
