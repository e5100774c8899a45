// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/trace"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/cache/flight"
)

// Server answers repo-servers. It is safe for concurrent use.
type Server struct {
	opts Options
	// requests bounds the requests that are unpacked and rendered, evaluations the
	// evaluations of all of them.
	requests, evaluations *limiter.Limiter
	// intake bounds the memory of variables that are read.
	intake *intake
	// service renders.
	service *service.Service
	// renders joins equal requests.
	renders flight.Group[[]string]
	// warned are the warnings that were reported.
	warned *lru.Cache[[sha256.Size]byte, struct{}]
	// works counts the goroutines that a request leaves behind when it ends.
	works   works
	metrics *metrics
	state   atomic.Int32
	socket  atomic.Pointer[string]
}

// New makes a server.
func New(opts Options) *Server {
	wire.Register()
	opts = opts.withDefaults()
	s := &Server{
		opts:        opts,
		requests:    limiter.New(limiter.Options{Slots: opts.Requests, Queue: opts.Queue}),
		evaluations: limiter.New(limiter.Options{Slots: opts.Workers}),
		intake:      newIntake(opts.Variables),
		// A caller that leaves has no time to wait for anything.
		renders: flight.Group[[]string]{Patience: -1},
		warned:  lru.New[[sha256.Size]byte, struct{}](maxReported),
	}
	s.metrics = newMetrics(s, opts.Collectors)
	s.service = service.New(service.Options{
		Renderer: render.Renderer{Evaluator: tracing.Evaluator{Next: opts.Evaluator, Observe: s.metrics.evaluations.Observe}},
		Slots:    s.evaluations, Working: opts.Working,
		Evaluations: opts.Evaluations, Stores: opts.Stores, Version: opts.Version, Report: opts.Report,
	})
	return s
}

// answerMargin is the time by which a render ends before its request: the error of the render says
// more than that there was no time.
const answerMargin = 250 * time.Millisecond

// measure runs the work of a request within its deadline, counts it, and converts its
// error.
func (s *Server) measure(ctx context.Context, method string, work func(ctx context.Context) error) error {
	start := time.Now()
	ctx, span := tracing.Tracer(s.opts.Tracer).Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer))
	s.metrics.inFlight.Add(1)
	defer s.metrics.inFlight.Add(-1)
	limit := s.opts.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		// The response has to arrive within it.
		limit = min(limit, left-min(time.Second, left/4))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.recoverPanic(func() error { return work(ctx) })
	if code(err) == connect.CodeDeadlineExceeded {
		err = s.late(limit, err)
	}
	err = answer(err)
	tracing.End(span, err)
	s.metrics.countRequest(method, err, time.Since(start))
	return err
}

// late returns the error of a request that ran out of time: what it was doing, and how long it
// had.
func (s *Server) late(limit time.Duration, err error) error {
	why := fmt.Sprintf("no result within %s, with %d requests waiting", limit.Round(time.Millisecond), s.waiting())
	if mistakes := (object.Errors)(nil); !errors.As(err, &mistakes) {
		return fmt.Errorf("%s: %w", why, err)
	}
	return fmt.Errorf("%s\n%s: %w", cut(text(err), maxText-maxText/8), why, context.DeadlineExceeded)
}

// waiting returns how many requests and evaluations wait for a slot.
func (s *Server) waiting() int {
	return s.requests.Stats().Waiting + s.service.Waiting()
}

// runCounted runs a part of a request on a goroutine that the request does not wait for once ctx
// has ended. The part is counted until it ends.
func (s *Server) runCounted(ctx context.Context, part func() error) error {
	defer s.works.begin(ctx)()
	return s.recoverPanic(part)
}

// recoverPanic runs work and turns a panic into an error: one request must not end all others.
func (s *Server) recoverPanic(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			panicked := crash.Of(p)
			s.opts.Report(fmt.Errorf("%w\n%s", panicked, panicked.Stack))
			err = panicked
		}
	}()
	return work()
}

// generate returns the manifests that a stream requests. Equal requests are rendered
// once; one that joins another gives its slot back.
func (s *Server) generate(ctx context.Context, stream receiver) ([]string, error) {
	// The archive is read before the request can join another request.
	r, err := s.begin(ctx, stream)
	if err != nil {
		return nil, err
	}
	tree, done, err := s.admit(ctx, r, stream)
	if err != nil {
		return nil, err
	}

	// Equal requests share a render while policies and modules are the same.
	key := r.key()
	if s.opts.Epoch != nil {
		key = s.opts.Epoch() + " " + key
	}
	deadline, _ := ctx.Deadline()
	out, _, err := s.renders.Do(ctx, key, func(work context.Context) (out []string, err error) {
		defer done()
		work, cancel := context.WithDeadline(work, deadline.Add(-min(answerMargin, time.Until(deadline)/20)))
		defer cancel()
		err = s.runCounted(work, func() error {
			out, err = s.render(work, r, tree)
			return err
		})
		return out, err
	}, func() {
		s.metrics.joined.Add(1)
		done()
	})

	// The repo-server would refuse a response that is too large.
	if err != nil {
		return nil, err
	}
	return out, s.checkSize(out)
}

// begin reads the first message of a stream.
func (s *Server) begin(ctx context.Context, stream receiver) (request, error) {
	first, err := s.readFirst(ctx, stream)
	if err != nil {
		return request{}, err
	}
	r, err := requestOf(first)
	if err != nil {
		return request{}, err
	}
	first.Env = nil // The stream keeps the message until the next one is read.
	if most := cmp.Or(s.opts.Archive.Compressed, unpack.DefaultCompressed); first.GetSize() > most {
		return request{}, fmt.Errorf("%w: the archive has %d bytes, and %d are allowed: raise --archive", unpack.ErrLimit, first.GetSize(), most)
	}
	return r, nil
}

// admit waits for a slot and reads the archive of a stream. The caller calls done once
// the request has ended; further calls do nothing.
func (s *Server) admit(ctx context.Context, r request, stream receiver) (tree *unpack.Tree, done func(), err error) {
	release, err := s.requests.AcquireLarge(ctx, r.tenant(), r.places())
	if errors.Is(err, limiter.ErrQueueFull) {
		err = fmt.Errorf("%w: retry later, or raise --memory-total, with which the queue grows", err)
	}
	if err != nil {
		return nil, nil, err
	}
	tree, err = readWithin(ctx, s, s.opts.Read, func() (*unpack.Tree, error) {
		return unpack.Read(ctx, &chunks{from: stream}, unpack.Options{
			Checksum: r.Checksum, Dir: s.opts.Temporary, Limits: s.opts.Archive,
		})
	}, func(t *unpack.Tree) { _ = t.Close() })
	if err != nil {
		release()
		return nil, nil, err
	}
	s.metrics.countArchive(tree.Stats())
	return tree, sync.OnceFunc(func() { _ = tree.Close(); release() }), nil
}
