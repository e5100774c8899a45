// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/plugin/host/turn"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/cache/flight"
	"github.com/ropewalk/ropewalk/source/lock"
)

// Defaults of [Options].
const (
	DefaultName     = "ropewalk"
	DefaultTimeout  = 5 * time.Minute
	DefaultDrain    = 30 * time.Second
	DefaultQueue    = 1000
	DefaultResponse = 100 << 20
	DefaultParked   = 16 << 20
)

// Connection is what a host is made for.
type Connection struct {
	// Lock is that of the project, and Mode what it means.
	Lock lock.File
	Mode lock.Mode
	// Scope is the credential scope of the tenant.
	Scope string
	// Project is that of Argo CD, "" where the request does not say: that of the
	// parameters of an application never does.
	Project string
	// Refused counts what a policy refused, by the name of its rule.
	Refused func(rule string)
	// Source is where the files come from, where its credentials are offered; nil
	// where they are not.
	Source *Source
}

// Source is a repository with its credentials.
type Source struct {
	// Repository is its URL: https, ssh or oci.
	Repository string
	// Credentials asks for user and password. They are for this repository, and hold
	// for the time of the request.
	Credentials func(ctx context.Context) (user, password string, err error)
}

// Limits bound the archive of a request; see the fields of Options too. Where one
// is zero, a default holds that suits large repositories.
type Limits = unpack.Limits

// Options configure a server. Renderer and Connect must be set.
type Options struct {
	// Name is that of the plugin; the socket is NAME.sock. DefaultName where "".
	Name string
	// Dir is the directory of the socket.
	Dir string
	// Temporary is where what does not stay in memory is kept during a request; the
	// system's own place for such files where "".
	Temporary string
	// Renderer renders; Stores remember what it rendered, as this Version.
	Renderer rendercache.Renderer
	Stores   []rendercache.Store
	// Answers is how many bytes of answers are remembered by the request, where nothing
	// was fetched for them; none are where zero.
	Answers int64
	Version string
	// Setup is the same for servers that are set up alike, in whatever else an answer
	// depends on: it is part of [Server.Identity], and holds nothing secret.
	Setup string
	// Connect makes what fetches modules.
	Connect func(Connection) (host.Host, error)
	// Epoch, where it is set, is what renders depend on beside the request, such as
	// the digest of a policy: a request never gets the render of one that came in
	// another epoch.
	Epoch func() string
	// Readings, where it is set, are metrics of what the server is made of.
	Readings func() []Reading
	// AllowUnlocked takes references that are neither pinned nor in ropewalk.lock.
	AllowUnlocked bool
	// HealthConfigured says that Argo CD has the health checks that readyWhen needs.
	HealthConfigured bool
	// AskPass is where the credentials of a source are asked for; "" asks for none.
	AskPass AskPass
	// Renders is how many requests are rendered at once; GOMAXPROCS where zero.
	// Twice as many are unpacked or kept at once.
	Renders int
	// Parallel is how many specs of one request are evaluated at once; 1 where zero.
	Parallel int
	// Queue is how many requests may wait; DefaultQueue where zero.
	Queue int
	// Parked is how many bytes of archives, and of what was loaded of them, are kept for
	// requests that gave their place away, because a registry or a worker takes its time;
	// DefaultParked where zero. One project gets half of it.
	Parked int64
	// Archive bounds what is sent, Limits the evaluation of each spec.
	Archive Limits
	Limits  evaluate.Limits
	// Response is how many bytes all manifests of an answer may have, which the
	// repo-server limits too; DefaultResponse where zero.
	Response int
	// Timeout is how long a request may take whose client names no deadline, or a
	// later one; DefaultTimeout where zero.
	Timeout time.Duration
	// Drain is how long requests may go on when the server is to end; DefaultDrain
	// where zero.
	Drain time.Duration
	// Report is told what went wrong and failed no request; nil tells nobody.
	Report func(error)
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, DefaultName)
	o.Renders = cmp.Or(o.Renders, runtime.GOMAXPROCS(0))
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	o.Response = cmp.Or(o.Response, DefaultResponse)
	o.Parked = cmp.Or(o.Parked, DefaultParked)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Drain = cmp.Or(o.Drain, DefaultDrain)
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return o
}

// Server answers repo-servers. It is safe for concurrent use.
type Server struct {
	opts Options
	// intake bounds the archives that are unpacked or kept, renders what is
	// rendered.
	intake, renders *turn.Queue
	// parked is the memory of requests that have neither place.
	parked *turn.Budget
	once   flight.Group[[]string]
	// known are the answers that follow from a request alone. Nobody's right to what was
	// fetched has to be looked at again for them, and the archive needs no unpacking.
	known   *lru.Cache[string, []string]
	said    said
	metrics *metrics
	state   atomic.Int32
	socket  atomic.Pointer[string]
}

// New makes a server.
func New(opts Options) *Server {
	wire.Register()
	opts = opts.withDefaults()
	return &Server{
		opts: opts, intake: turn.NewQueue(2*opts.Renders, opts.Queue),
		// Those who come back to it have been parked before.
		renders: turn.NewQueue(opts.Renders, 2*opts.Renders+int(opts.Parked/stayCost)), //nolint:gosec // no memory has that much room
		parked:  turn.NewBudget(opts.Parked), metrics: newMetrics(),
		known: lru.New[string, []string](opts.Answers),
		// Who has left has no time to wait for anything.
		once: flight.Group[[]string]{Patience: -1},
	}
}

// telling is how much earlier a render ends than who waits for it: what it was at
// says more than that there was no time.
const telling = 50 * time.Millisecond

// measured runs the work of a request inside of its deadline, counts it, and makes
// its error an answer.
func (s *Server) measured(ctx context.Context, method string, work func(ctx context.Context) error) error {
	start := time.Now()
	s.metrics.inFlight.Add(1)
	defer s.metrics.inFlight.Add(-1)
	limit := s.opts.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		// The answer has to arrive inside of it.
		limit = min(limit, left-min(time.Second, left/4))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.protected(func() error { return work(ctx) })
	if code(err) == connect.CodeDeadlineExceeded {
		err = s.late(limit, err)
	}
	err = answer(err)
	s.metrics.done(method, err, time.Since(start))
	return err
}

// late is the error of a request that had no more time: what it was at then, and
// how long and how many that is.
func (s *Server) late(limit time.Duration, err error) error {
	why := fmt.Sprintf("no result within %s, with %d requests before it", limit.Round(time.Millisecond), s.waiting())
	if mistakes := (object.Errors)(nil); !errors.As(err, &mistakes) {
		return fmt.Errorf("%s: %w", why, err)
	}
	return fmt.Errorf("%s\n%s: %w", cut(text(err), maxText-maxText/8), why, context.DeadlineExceeded)
}

func (s *Server) epoch() string {
	if s.opts.Epoch == nil {
		return ""
	}
	return s.opts.Epoch() + " "
}

func (s *Server) waiting() int {
	_, intake := s.intake.Length()
	_, renders := s.renders.Length()
	return intake + renders
}

// errPanic says that a request ended in a mistake of ours.
var errPanic = errors.New("ropewalk panicked, please report it")

// protected makes a panic an error: one request must not end all others.
func (s *Server) protected(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
			s.opts.Report(fmt.Errorf("%w\n%s", err, debug.Stack()))
		}
	}()
	return work()
}

// generate is the manifests that a stream asks for.
func (s *Server) generate(ctx context.Context, stream receiver) ([]string, error) {
	first, err := within(ctx, s, stream.Recv, func(*wire.Part) {})
	if err != nil {
		return nil, broken(err)
	}
	r, err := newRequest(first.GetMetadata())
	if err != nil {
		return nil, err
	}
	if most := cmp.Or(s.opts.Archive.Compressed, unpack.DefaultCompressed); first.GetMetadata().GetSize() > most {
		return nil, fmt.Errorf("%w: the archive has %d bytes, and %d are allowed", unpack.ErrLimit, first.GetMetadata().GetSize(), most)
	}
	key := s.epoch() + r.key()
	if out, ok := s.known.Get(key); ok {
		if err := s.checked(ctx, r, stream); err != nil {
			return nil, err
		}
		return out, nil
	}
	held, tree, err := s.takeIn(ctx, r, stream)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	out, joined, err := s.once.Do(ctx, key, func(work context.Context) (out []string, err error) {
		defer held.end()
		defer func() { _ = tree.Close() }()
		work, cancel := context.WithDeadline(work, deadline.Add(-min(telling, time.Until(deadline)/20)))
		defer cancel()
		err = s.protected(func() error {
			out, err = s.render(work, r, tree, held)
			return err
		})
		if err == nil && held.alone() && s.fits(out) == nil {
			s.known.Put(key, out, sizeOf(out))
		}
		return out, err
	}, func() {
		s.metrics.joined.Add(1)
		_ = tree.Close()
		held.size = 0
		held.park() // Where there is no room for that, it keeps its place.
	})
	if joined {
		held.end()
	}
	if err != nil {
		return nil, err
	}
	return out, s.fits(out)
}

// checked reads the archive of a request whose answer is remembered: it must be the
// one that the answer was made of.
func (s *Server) checked(ctx context.Context, r request, stream receiver) error {
	done, err := s.intake.Wait(ctx, r.turn())
	if err != nil {
		return s.full(err)
	}
	defer done()
	stats, err := within(ctx, s, func() (unpack.Stats, error) {
		return unpack.Check(ctx, &chunks{from: stream}, unpack.Options{Checksum: r.Checksum, Limits: s.opts.Archive})
	}, func(unpack.Stats) {})
	if err != nil {
		return err
	}
	s.metrics.unpacked(stats)
	s.metrics.rendered(true)
	return nil
}

// takeIn reads the archive of a stream when it is its turn. The caller ends the stay
// and closes the tree.
func (s *Server) takeIn(ctx context.Context, r request, stream receiver) (*stay, *unpack.Tree, error) {
	done, err := s.intake.Wait(ctx, r.turn())
	if err != nil {
		return nil, nil, s.full(err)
	}
	tree, err := s.unpack(ctx, r, stream)
	if err != nil {
		done()
		return nil, nil, err
	}
	held := s.stay(r)
	held.unpacked(done, tree)
	return held, tree, nil
}

// full says how many there are where that is too many.
func (s *Server) full(err error) error {
	if !errors.Is(err, turn.ErrFull) {
		return err
	}
	running, _ := s.intake.Length()
	return fmt.Errorf("%w: %d are worked on, and %d may wait, half of these of one application: "+
		"try again later, or give the server more --memory-total, which its queue grows with", err, running, s.opts.Queue)
}

// unpack reads the archive of a stream.
func (s *Server) unpack(ctx context.Context, r request, stream receiver) (*unpack.Tree, error) {
	tree, err := within(ctx, s, func() (*unpack.Tree, error) {
		return unpack.Read(ctx, &chunks{from: stream}, unpack.Options{
			Checksum: r.Checksum, App: r.Path, Dir: s.opts.Temporary, Limits: s.opts.Archive,
		})
	}, func(t *unpack.Tree) { _ = t.Close() })
	if err == nil {
		s.metrics.unpacked(tree.Stats())
	}
	return tree, err
}

// within reads from a stream until ctx ends: the stream itself knows no deadline.
// What goes on after that ends with the request, and late is told what it made.
func within[T any](ctx context.Context, s *Server, read func() (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var out result
		out.err = s.protected(func() (err error) {
			out.value, err = read()
			return err
		})
		done <- out
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
	}
	go func() {
		if out := <-done; out.err == nil {
			late(out.value)
		}
	}()
	var none T
	return none, ctx.Err()
}

// receiver is the messages of a stream.
type receiver interface {
	Recv() (*wire.Part, error)
}

// chunks is the archive of a stream.
type chunks struct {
	from receiver
	rest []byte
}

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		part, err := c.from.Recv()
		if err != nil {
			return 0, err
		}
		if part.GetFile() == nil {
			return 0, fmt.Errorf("%w: the stream has something else than a chunk after its metadata", errRequest)
		}
		c.rest = part.GetFile().GetChunk()
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// drain reads a stream of which nothing is needed.
func (s *Server) drain(ctx context.Context, stream receiver) error {
	_, err := within(ctx, s, func() (struct{}, error) {
		for {
			if _, err := stream.Recv(); err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return struct{}{}, err
			}
		}
	}, func(struct{}) {})
	return err
}

// broken is what is wrong with a stream that ended before it began.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the stream is empty", errRequest)
	}
	return err
}
