// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

// Options configure a pool. The zero value works in a program whose main
// function serves workers (see [WorkerArg]).
type Options struct {
	// Command is the program that serves a worker, with its arguments; this
	// program with [WorkerArg] where empty.
	Command []string
	// Release is the build of this program, which Command must share; "" if they are the same
	// program.
	Release string
	// Size limits the workers that run at once; GOMAXPROCS where zero.
	Size int
	// Schemas is as in [Options].
	Schemas map[string]fs.FS
	// Memory is the limit of requests without a limit of their own, in bytes;
	// DefaultMemory where zero.
	Memory int64
	// Timeout is the deadline of requests without a deadline of their own;
	// DefaultTimeout where zero.
	Timeout time.Duration
	// Strikes limits how often a request may be stopped by its limits, or
	// crash its worker, before it is refused; 2 where zero, without end where
	// negative.
	Strikes int
	// Refusals counts the times that such a request is then refused at once
	// before it is tried again; 20 where zero.
	Refusals int
	// patience limits the time that a request waits for a running worker before another worker
	// is started; 0 starts workers at once.
	patience time.Duration
}

// withDefaults fills what was left out.
func (o Options) withDefaults() (Options, error) {
	if len(o.Command) == 0 {
		self, err := executable()
		if err != nil {
			return o, fmt.Errorf("evaluation workers: find the program to run: %w", err)
		}
		o.Command = []string{self, Arg}
	}
	o.Size = cmp.Or(o.Size, runtime.GOMAXPROCS(0))
	o.Memory = cmp.Or(o.Memory, evaluate.DefaultMemory)
	o.Timeout = cmp.Or(o.Timeout, evaluate.DefaultTimeout)
	o.Strikes = cmp.Or(o.Strikes, 2)
	o.Refusals = cmp.Or(o.Refusals, 20)
	negative := o.Size < 0 || o.Timeout < 0 || o.Refusals < 0
	if negative || o.Memory < minMemory {
		return o, fmt.Errorf("evaluation workers: size %d, memory %d, timeout %s and refusals %d must be positive, memory at least %d",
			o.Size, o.Memory, o.Timeout, o.Refusals, minMemory)
	}
	return o, nil
}

// minMemory is the memory that a worker needs to start at all, in bytes.
const minMemory = 32 << 20

// Pool evaluates in worker processes that it starts, watches and kills. What a
// module does to its worker, by accident or on purpose, is an error of that
// one request; all others go on.
//
// A request goes to the worker that its module's digest prefers, so that each
// module is compiled once, and to another worker where that is busy. Its deadline
// begins when it has a worker. A worker has the memory limit of the request
// that started it, because a process can lower its limit and not raise it: a
// request with another limit replaces it, so that few limits should be in use.
//
// A request that its limits stopped Strikes times is refused for the next
// Refusals times, and then tried once more. That is counted and not timed: who
// retries often is refused often, and the pool needs no clock. What is refused
// is the module with this input, because a module whose input only one tenant
// got wrong must keep working for all others.
//
// Memory is judged by workers that have done nothing else: a request that
// exceeds the limit in a used worker runs again in a fresh worker, so that the
// answer never depends on what was rendered before.
type Pool struct {
	opts       Options
	codec      codec
	quarantine *quarantine
	running    chan struct{}  // holds an entry for each slot in use, and in reserve
	closing    chan struct{}  // closed by Close
	calls      sync.WaitGroup // of Evaluate and Trace
	reapers    sync.WaitGroup // one for each process

	mu    sync.Mutex
	slots []*slot
	// reserve counts the slots that stay unused until a request has lost its patience.
	reserve int
	closed  bool
	stats   Stats
}

var _ evaluate.Evaluator = (*Pool)(nil)

// Stats count what happened in a pool since it was made.
type Stats struct {
	// Started counts the workers that were started.
	Started int
	// Killed counts the workers that exceeded a limit, crashed, or were cancelled.
	Killed int
	// Recycled counts the workers that were replaced because their heap had
	// grown, or for a request with another memory limit.
	Recycled int
	// Retried counts the requests that ran again because they lost their worker
	// through no fault of their own.
	Retried int
	// Refused counts the requests that the quarantine refused.
	Refused int
	// PeakMemory is the largest resident size of a worker that has ended, in
	// bytes; 0 if the system does not tell. Linux counts the size of the
	// starting process in.
	PeakMemory int64
	// LiveHeap is the live heap of the worker that answered last, at its last
	// collection, in bytes.
	LiveHeap int64
}

// NewPool returns a pool without workers: they are started when they are needed. The caller closes
// it.
func NewPool(opts Options) (*Pool, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	p := &Pool{
		opts: opts, codec: c, slots: make([]*slot, opts.Size),
		running: make(chan struct{}, opts.Size), closing: make(chan struct{}),
		quarantine: newQuarantine(opts.Strikes, opts.Refusals),
	}
	for i := range p.slots {
		p.slots[i] = &slot{}
	}
	for opts.patience > 0 && p.reserve < opts.Size-1 {
		p.running <- struct{}{}
		p.reserve++
	}
	return p, nil
}

// executable returns the path of this program.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		// The link leads to the running program even after an upgrade has
		// replaced the file, and both ends of a pool must be the same program.
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// Evaluate implements [Evaluator]. Beside the mistakes of the module and its
// input, the error may be an [object.Errors] with one entry that wraps
// [ErrTimeout], [ErrMemory], [ErrCrashed] or [ErrQuarantined].
func (p *Pool) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	r, err := p.run(ctx, job{req: req})
	if err != nil {
		return evaluate.Result{}, err
	}
	return r.result(), mistakesOf(r.Mistakes).Err()
}

// Trace implements [Evaluator].
func (p *Pool) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	r, err := p.run(ctx, job{trace: true, req: req, queries: queries})
	if err != nil {
		return nil, err
	}
	return r.Origins, mistakesOf(r.Mistakes).Err()
}

// Stats returns what happened so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Close kills all workers and returns when they and all calls are gone. Calls
// in flight get [ErrClosed].
func (p *Pool) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.closing)
	}
	for _, s := range p.slots {
		if s.proc != nil {
			s.proc.kill(evaluate.ErrClosed)
		}
	}
	p.mu.Unlock()
	p.calls.Wait()
	for _, s := range p.slots {
		p.drop(s, evaluate.ErrClosed)
	}
	p.reapers.Wait()
	return nil
}

// job is one call of an evaluator.
type job struct {
	trace   bool
	req     evaluate.Request
	queries []evaluate.Query
}

// run does j on a worker, and once more if the first worker was lost through no fault of j.
func (p *Pool) run(ctx context.Context, j job) (*reply, error) {
	// Some requests are refused without a worker.
	if ctx.Err() != nil {
		return nil, diagnose.Cancelled(ctx, j.req)
	}
	if err := inprocess.CheckSize(j.req); err != nil {
		return nil, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.calls.Done()

	// A request without limits gets the limits of the pool.
	j.req.Limits.Timeout = cmp.Or(j.req.Limits.Timeout, p.opts.Timeout)
	j.req.Limits.Memory = cmp.Or(j.req.Limits.Memory, p.opts.Memory)
	if j.req.Limits.Memory < minMemory || j.req.Limits.Timeout < 0 {
		return nil, withHint(j.req, fmt.Errorf("a memory limit of %s and a timeout of %s are too small: allow at least %s",
			mebibytes(j.req.Limits.Memory), j.req.Limits.Timeout, mebibytes(minMemory)), "")
	}

	// A request that was stopped too often is refused too.
	if err := p.quarantine.check(j.req); err != nil {
		p.count(func(s *Stats) { s.Refused++ })
		return nil, withHint(j.req, err, diagnose.Advice(j.req.Limits))
	}

	// A second attempt has the time that the first one left.
	remaining := j.req.Limits.Timeout
	for attempt := 0; ; attempt++ {
		began := time.Now()
		r, lost := p.try(ctx, j, remaining, attempt > 0)
		if lost == nil {
			p.quarantine.absolve(j.req)
			return r, nil
		}
		remaining -= time.Since(began)
		if attempt == 0 && lost.innocent && remaining > 0 {
			p.count(func(s *Stats) { s.Retried++ })
			continue
		}
		return nil, p.verdict(ctx, j.req, lost)
	}
}

// enter counts a call in, unless the pool is closed.
func (p *Pool) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return evaluate.ErrClosed
	}
	p.calls.Add(1)
	return nil
}

func (p *Pool) count(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

// verdict returns what the caller learns of a lost worker.
func (p *Pool) verdict(ctx context.Context, req evaluate.Request, lost *loss) error {
	switch {
	case isAny(lost.cause, context.Canceled, context.DeadlineExceeded):
		return diagnose.Cancelled(ctx, req)
	case errors.Is(lost.cause, evaluate.ErrClosed):
		return lost.cause
	case isAny(lost.cause, evaluate.ErrTimeout, evaluate.ErrMemory, evaluate.ErrCrashed):
		p.quarantine.strike(req, lost.cause)
	}
	switch {
	case errors.Is(lost.cause, evaluate.ErrTimeout):
		return diagnose.TimedOut(req)
	case errors.Is(lost.cause, evaluate.ErrMemory):
		return diagnose.OutOfMemory(req)
	case errors.Is(lost.cause, errTooDeep):
		return diagnose.TooDeep(req)
	}
	return withHint(req, lost.cause, lost.hint)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}

// withHint returns err at the line that names the module.
func withHint(req evaluate.Request, err error, hint string) error {
	e := diagnose.Blame(req, err)
	e.Hint = hint
	return object.Errors{e}
}

// mebibytes writes bytes for people.
func mebibytes(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
