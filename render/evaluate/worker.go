// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime/debug"

	"github.com/ropewalk/ropewalk/render/object"
)

// WorkerArg is the first argument that makes the program a worker: a main
// function that finds it calls [ServeWorker] with its standard streams and
// exits when that returns.
const WorkerArg = "evaluate-worker"

// Settings of the garbage collector of a worker. A warm evaluation is mostly
// garbage, so that collecting less often saves a quarter of the time; the soft
// limit keeps that from eating the hard one.
const (
	workerGCPercent   = 400
	workerMemoryShare = 3
	// workerProcs lets the collector run beside the one evaluation.
	workerProcs = 2
	// workerMaxStack ends endless recursion before it uses up the memory.
	workerMaxStack = 64 << 20
)

// ServeWorker evaluates what a [Pool] sends through in, one request after the
// other, and answers on out. It returns when in ends, also in the middle of an
// evaluation: the caller then leaves the process, because an evaluation cannot
// be stopped otherwise. The process limits itself to the memory that the pool
// names: nothing but a worker may call this.
//
// Schemas of opts lie below those that the pool sends.
func ServeWorker(ctx context.Context, in io.Reader, out io.Writer, opts Options) error {
	return serve(ctx, in, out, opts, limitWorker)
}

// serve is ServeWorker with the limits of the process as a value.
func serve(ctx context.Context, in io.Reader, out io.Writer, opts Options, limit func(memory int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &worker{in: bufio.NewReaderSize(in, 64<<10), out: out, trees: map[treeID]fs.FS{}}
	first, err := readFrame(w.in, maxRequestSize)
	if err != nil {
		return ended(err)
	}
	d := &decoder{data: first.payload}
	h := d.hello()
	if err := d.finish(); err != nil || first.kind != frameHello {
		return errors.Join(errors.New("evaluate worker: the caller is no pool"), err)
	}
	if err := limit(h.memory); err != nil {
		return fmt.Errorf("evaluate worker: limit the memory to %d bytes: %w", h.memory, err)
	}
	schemas := maps.Clone(opts.Schemas)
	if schemas == nil {
		schemas = map[string]fs.FS{}
	}
	maps.Copy(schemas, h.schemas)
	opts.Schemas = schemas
	w.evaluator, w.heap = NewInProcess(opts), newHeap(h.memory)
	ready := newEncoder()
	ready.text(greeting)
	if err := writeFrame(out, frameReady, ready, maxReplySize); err != nil {
		return err
	}
	return ended(w.loop(ctx))
}

// ended is err, or nil where the pool just went away.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// worker is the state of a worker process.
type worker struct {
	in        *bufio.Reader
	out       io.Writer
	evaluator Evaluator
	trees     map[treeID]fs.FS
	heap      *heap
}

// loop answers requests. It reads ahead of the evaluation, because the end of
// the stream is how a worker learns that its pool is gone.
func (w *worker) loop(ctx context.Context) error {
	frames, end := w.read(ctx)
	for {
		var f frame
		select {
		case f = <-frames:
		case err := <-end:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		if f.kind == frameTree {
			if err := w.keepTree(f); err != nil {
				return err
			}
			continue
		}
		req, queries, err := w.decode(f)
		if err != nil {
			return err
		}
		answer := make(chan *reply, 1)
		go func() { answer <- w.answer(ctx, f.kind, req, queries) }()
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

// read sends frames until the stream ends; end gives the reason.
func (w *worker) read(ctx context.Context) (frames <-chan frame, end <-chan error) {
	fs, errs := make(chan frame), make(chan error, 1)
	go func() {
		for {
			f, err := readFrame(w.in, maxRequestSize)
			if err != nil {
				errs <- err
				return
			}
			select {
			case fs <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	return fs, errs
}

func (w *worker) keepTree(f frame) error {
	d := &decoder{data: f.payload}
	id := treeID(d.uint())
	tree := d.tree()
	if err := d.finish(); err != nil {
		return fmt.Errorf("evaluate worker: module: %w", err)
	}
	w.trees[id] = tree
	w.heap.grew(int64(len(f.payload)))
	return nil
}

func (w *worker) decode(f frame) (Request, []Query, error) {
	d := &decoder{data: f.payload}
	req := d.request(w.trees)
	var queries []Query
	switch f.kind {
	case frameEvaluate:
	case frameTrace:
		queries = d.queries()
	default:
		d.fail(fmt.Errorf("unknown frame %d", f.kind))
	}
	if err := d.finish(); err != nil {
		return Request{}, nil, fmt.Errorf("evaluate worker: request: %w", err)
	}
	return req, queries, nil
}

// answer evaluates. A panic of the evaluator is an answer too, so that no Go
// stack reaches anybody.
func (w *worker) answer(ctx context.Context, kind frameKind, req Request, queries []Query) (r *reply) {
	defer func() {
		if p := recover(); p != nil {
			r = &reply{crash: oneLine(fmt.Sprint(p))}
		}
	}()
	r = &reply{}
	var err error
	if kind == frameTrace {
		r.origins, err = w.evaluator.Trace(ctx, req, queries)
	} else {
		r.result, err = w.evaluator.Evaluate(ctx, req)
	}
	r.mistakes = object.AsErrors(err, object.StageEvaluate)
	r.live, r.retire = w.heap.judge()
	// After a panic in its middle nobody knows what a compiled module is worth.
	r.retire = r.retire || errors.Is(err, ErrCrashed)
	return r
}

// write sends r, or why it cannot be sent.
func (w *worker) write(r *reply) error {
	e := newEncoder()
	e.reply(r)
	err := e.err
	if err == nil {
		err = writeFrame(w.out, frameReply, e, maxReplySize)
	}
	var size *sizeError
	if err == nil || e.err == nil && !errors.As(err, &size) {
		return err
	}
	mistake := &object.Error{Stage: object.StageEvaluate, Err: fmt.Errorf("the result cannot be used: %w", err)}
	if size != nil {
		mistake.Err = fmt.Errorf("the result has %d bytes, and %d are allowed", size.size, size.limit)
		mistake.Hint = "render fewer objects with one spec"
	}
	e = newEncoder()
	e.reply(&reply{retire: r.retire, live: r.live, mistakes: object.Errors{mistake}})
	return writeFrame(w.out, frameReply, e, maxReplySize)
}

// tune sets the collector up for a process that only evaluates.
func tune(memory int64) {
	debug.SetGCPercent(workerGCPercent)
	debug.SetMemoryLimit(memory / workerMemoryShare)
	debug.SetMaxStack(workerMaxStack)
}
