// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"runtime/debug"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

// Arg is the first argument that makes the program a worker: a main
// function that finds it calls [ServeWorker] with its standard streams and
// exits when that returns.
const Arg = "evaluate-worker"

// Settings of the garbage collector of a worker. A warm evaluation is mostly
// garbage, so that collecting less often saves a quarter of the time; the soft
// limit keeps the garbage from reaching the hard limit.
const (
	workerGCPercent   = 400
	workerMemoryShare = 3
	// workerProcs lets the collector run beside the one evaluation.
	workerProcs = 2
	// workerMaxStack ends endless recursion before it uses up the memory.
	workerMaxStack = 64 << 20
)

// Serve evaluates what a [Pool] sends through in, one request after the other, and answers on out.
// It returns when in ends, also in the middle of an evaluation: the caller then leaves the process,
// because an evaluation cannot be stopped otherwise. The process limits itself to the memory that
// the pool names: nothing but a worker may call this.
//
// Schemas of opts lie below the schemas that the pool sends. A pool of another release is refused if
// it is another program: see Options.Release.
func Serve(ctx context.Context, in io.Reader, out io.Writer, release string, opts inprocess.Options) error {
	return serve(ctx, in, out, release, opts, limitWorker)
}

// serve serves as Serve does, with the limits of the process as a value.
func serve(ctx context.Context, in io.Reader, out io.Writer, release string, opts inprocess.Options, limit func(memory int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := newCodec()
	if err != nil {
		return err
	}
	w := &worker{codec: c, in: bufio.NewReaderSize(in, 64<<10), out: out, trees: map[treeID]fs.FS{}}

	// The pool sends its greeting first.
	var h hello
	if err := c.receive(w.in, maxFrame, &h); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("evaluate worker: the caller is not a pool: %w", err)
	}

	// The memory is limited before any module is read.
	if err := limit(h.Memory); err != nil {
		return fmt.Errorf("evaluate worker: limit the memory to %d bytes: %w", h.Memory, err)
	}
	w.memory = h.Memory

	// Schemas of the pool lie over the schemas of opts.
	schemas := maps.Clone(opts.Schemas)
	if schemas == nil {
		schemas = map[string]fs.FS{}
	}
	for importPath, packed := range h.Schemas {
		schemas[importPath], err = unpack(packed)
		if err != nil {
			return fmt.Errorf("evaluate worker: schema %q: %w", importPath, err)
		}
	}
	opts.Schemas = schemas
	w.evaluator = inprocess.New(opts)

	// The answer names the release, also to a pool of another release.
	if err := c.send(out, greeting+release); err != nil || h.Release != release {
		return err
	}
	return ended(w.loop(ctx))
}

// ended returns err, or nil if the pool just went away.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// worker is the state of a worker process.
type worker struct {
	codec     codec
	in        *bufio.Reader
	out       io.Writer
	evaluator evaluate.Evaluator
	trees     map[treeID]fs.FS
	// memory is the limit of the process in bytes; 0 means no limit.
	memory int64
	// calls counts the calls that were answered.
	calls int
}

// loop answers calls. It reads ahead of the evaluation, because a worker learns from
// the end of the stream that its pool is gone.
func (w *worker) loop(ctx context.Context) error {
	messages, end := w.read(ctx)
	for {
		// The pool may go away, or ctx may end, before the next message.
		var m message
		select {
		case m = <-messages:
		case err := <-end:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}

		// A tree is kept for the calls that name it.
		switch {
		case m.Tree != nil:
			tree, err := unpack(m.Tree.Zip)
			if err != nil {
				return fmt.Errorf("evaluate worker: module: %w", err)
			}
			w.trees[m.Tree.ID] = tree
			continue
		case m.Call == nil || len(m.Call.Trees) != len(m.Call.Request.Modules()):
			return errors.New("evaluate worker: the message holds neither a tree nor a complete call")
		}

		// An evaluation cannot be stopped, so it runs beside the reader.
		answer := make(chan *reply, 1)
		go func() { answer <- w.answer(ctx, m.Call) }()
		select {
		case r := <-answer:
			if err := w.write(r); err != nil {
				return err
			}
		case err := <-end:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read returns a channel of messages, and a channel that gets the reason when the stream ends.
func (w *worker) read(ctx context.Context) (messages <-chan message, end <-chan error) {
	messageCh := make(chan message)
	errCh := make(chan error, 1)
	go func() {
		for {
			var m message
			if err := w.codec.receive(w.in, maxFrame, &m); err != nil {
				if !errors.Is(err, io.EOF) {
					err = fmt.Errorf("evaluate worker: message: %w", err)
				}
				errCh <- err
				return
			}
			select {
			case messageCh <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return messageCh, errCh
}

// request returns the request of c, with its files.
func (w *worker) request(c *call) evaluate.Request {
	req := c.Request
	for i, m := range req.Modules() {
		m.FS = w.trees[c.Trees[i]]
	}
	// The pool watches the limits from outside. A limit that the evaluator
	// watched as well would leave the evaluation running behind its back.
	req.Limits = evaluate.Limits{Timeout: math.MaxInt64, Memory: math.MaxInt64}
	return req
}

// answer evaluates. A panic of the evaluator is an answer too, so that no user sees
// a Go stack.
func (w *worker) answer(ctx context.Context, c *call) (r *reply) {
	defer func() {
		if p := recover(); p != nil {
			r = &reply{Crash: crash.Of(p).Error()}
		}
	}()
	r = &reply{}
	var err error
	if c.Trace {
		r.Origins, err = w.evaluator.Trace(ctx, w.request(c), c.Queries)
	} else {
		var result evaluate.Result
		result, err = w.evaluator.Evaluate(ctx, w.request(c))
		r.Result = frameOf(result)
	}
	r.Mistakes = mistakeFrames(object.AsErrors(err, object.StageEvaluate))
	w.calls++
	r.Live = inprocess.LiveBytes()
	// After a panic in its middle a compiled module may be in any state.
	r.Retire = w.isFull(r.Live) || errors.Is(err, evaluate.ErrCrashed)
	return r
}

// fullShare is the share of its limit, as a divisor, that the live heap of a full worker exceeds.
const fullShare = 4

// callsOfAFullWorker counts the calls that such a worker answers before it is replaced: a single
// large module must not be compiled for every call.
const callsOfAFullWorker = 16

// isFull reports whether the process is to be replaced. CUE keeps every distinct
// field name in a table of the process that cannot be emptied, some 117 bytes for
// each, and names come from users.
func (w *worker) isFull(live int64) bool {
	full := w.memory > 0 && live > w.memory/fullShare
	worthwhile := len(w.trees) > 1 || w.calls >= callsOfAFullWorker
	return full && worthwhile
}

// write sends r. In place of a result that is too large, it sends the reason.
func (w *worker) write(r *reply) error {
	err := w.codec.send(w.out, r)
	var size *sizeError
	if !errors.As(err, &size) {
		return err
	}
	e := &object.Error{
		Stage: object.StageEvaluate, Err: fmt.Errorf("the result has %d bytes, and %d are allowed", size.size, size.limit),
		Hint: "render fewer objects with one spec",
	}
	return w.codec.send(w.out, &reply{Retire: r.Retire, Live: r.Live, Mistakes: mistakeFrames(object.Errors{e})})
}

// tune sets the collector up for a process that only evaluates.
func tune(memory int64) {
	debug.SetGCPercent(workerGCPercent)
	debug.SetMemoryLimit(memory / workerMemoryShare)
	debug.SetMaxStack(workerMaxStack)
}
