// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
)

// serviceName is the prefix of the procedures of a plugin.
const serviceName = "/plugin.ConfigManagementPluginService/"

// Methods, as metrics name them.
const (
	methodCheck    = "CheckPluginConfiguration"
	methodGenerate = "GenerateManifest"
	methodMatch    = "MatchRepository"
	methodAnnounce = "GetParametersAnnouncement"
)

// maxMessage limits a message of a client: chunks have a kilobyte, or the size in
// ARGOCD_CMP_CHUNK_SIZE.
const maxMessage = 16 << 20

// readAhead is the size of a read from a stream: each read of a body is an exchange with the
// goroutine of the connection, and a message takes two reads.
const readAhead = 16 << 10

// procedures returns the handler that answers the calls of a repo-server.
func (s *Server) procedures() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(serviceName+methodCheck, connect.NewUnaryHandlerSimple(serviceName+methodCheck, s.check, handlerOptions()...))
	handle(mux, s, methodMatch, s.match)
	handle(mux, s, methodAnnounce, s.announce)
	handle(mux, s, methodGenerate, func(ctx context.Context, stream receiver) (*wire.Manifests, error) {
		out, err := s.generate(ctx, stream)
		return &wire.Manifests{Manifests: out}, err
	})
	return s.onlyGRPC(mux)
}

// handlerOptions returns options that bound messages, and leave compression out: archives are
// compressed already, and manifests go no further than the next container.
func handlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithReadMaxBytes(maxMessage), connect.WithCompression("gzip", nil, nil)}
}

// handle registers work as the answer to a method that takes a stream.
func handle[Answer any](mux *http.ServeMux, s *Server, method string, work func(context.Context, receiver) (*Answer, error)) {
	mux.Handle(serviceName+method, connect.NewClientStreamHandlerSimple(serviceName+method,
		func(ctx context.Context, stream *connect.ClientStream[wire.Part]) (out *Answer, err error) {
			messages := &parts{stream: stream}
			err = s.measure(ctx, method, func(limited context.Context) (err error) {
				out, err = work(limited, messages)
				if err != nil && !errors.Is(err, errSilent) {
					s.discard(ctx, messages)
				}
				return err
			})
			if err != nil {
				s.reportRejected(method, messages.app(), err)
			}
			return out, err
		}, handlerOptions()...))
}

// onlyGRPC returns a handler that refuses the other protocols that connect speaks.
func (s *Server) onlyGRPC(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Content-Type") {
		case "application/grpc", "application/grpc+proto":
			r.Body = &body{Closer: r.Body, from: bufio.NewReaderSize(r.Body, readAhead), admit: func(size int64) (func(), error) {
				return s.intake.admit(r.Context(), size)
			}}
			next.ServeHTTP(w, r.WithContext(tracing.Join(r.Context(), r.Header)))
		default:
			w.WriteHeader(http.StatusUnsupportedMediaType)
		}
	})
}

// parts is the messages of a stream, which ends with io.EOF. It is safe for concurrent use: a read
// that was given up may go on beside the next read.
type parts struct {
	mutex  sync.Mutex
	stream *connect.ClientStream[wire.Part]
	ended  error
	name   atomic.Pointer[string]
}

// Recv returns the next message.
func (p *parts) Recv() (*wire.Part, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.ended == nil && p.stream.Receive() {
		part := p.stream.Msg()
		if name := part.GetMetadata().GetAppName(); name != "" {
			p.name.Store(&name)
		}
		return part, nil
	}
	if p.ended == nil {
		p.ended = cmp.Or(p.stream.Err(), io.EOF)
	}
	return nil, p.ended
}

// app returns the application that the stream names, or "" before it did.
func (p *parts) app() string {
	if name := p.name.Load(); name != nil {
		return *name
	}
	return ""
}

// check answers how the repo-server has to call: without discovery.
func (s *Server) check(context.Context, *wire.Empty) (*wire.PluginConfiguration, error) {
	return &wire.PluginConfiguration{ProvideGitCreds: s.opts.AskPass != ""}, nil
}

// match matches nothing: users name the plugin.
func (s *Server) match(ctx context.Context, stream receiver) (*wire.Match, error) {
	return &wire.Match{}, s.drain(ctx, stream)
}

// announce lists the parameters of an application. An error of the application fails
// its render, and not the form in which it is corrected.
func (s *Server) announce(ctx context.Context, stream receiver) (*wire.Announcement, error) {
	// What is wrong with the request or with the load of the server leaves the static parameters.
	first, err := s.readFirst(ctx, stream)
	if err != nil {
		return nil, err
	}
	r, err := requestOf(first)
	if err != nil {
		return &wire.Announcement{Parameters: static()}, s.drain(ctx, stream)
	}
	first.Env = nil // As in begin.
	tree, done, err := s.admit(ctx, r, stream)
	if errors.Is(err, limiter.ErrQueueFull) || ctx.Err() != nil {
		return &wire.Announcement{Parameters: static()}, s.drain(ctx, stream)
	}
	if err != nil {
		return nil, err
	}

	// The modules may take longer than the request, whose form then has no inputs.
	inputs := make(chan []*wire.Parameter, 1)
	go func() {
		defer done()
		defer close(inputs)
		_ = s.runCounted(ctx, func() error { // A panic is reported.
			inputs <- s.announceInputs(ctx, r, tree)
			return nil
		})
	}()
	out := &wire.Announcement{Parameters: static()}
	select {
	case own := <-inputs:
		out.Parameters = append(out.Parameters, own...)
	case <-ctx.Done():
	}
	return out, nil
}
