// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
	"github.com/ropewalk/ropewalk/plugin/host/turn"
)

// service is the prefix of the procedures of a plugin.
const service = "/plugin.ConfigManagementPluginService/"

// maxMessage is how large a message of a client may be: chunks have a kilobyte, or
// what ARGOCD_CMP_CHUNK_SIZE says.
const maxMessage = 16 << 20

// readAhead is how many bytes of a stream are read at once: each read of a body is
// an exchange with what serves the connection, and messages take two.
const readAhead = 16 << 10

// procedures answers what a repo-server asks.
func (s *Server) procedures() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(service+methodCheck, connect.NewUnaryHandlerSimple(service+methodCheck, s.check, handlerOptions()...))
	handle(mux, s, methodMatch, s.match)
	handle(mux, s, methodAnnounce, s.announce)
	handle(mux, s, methodGenerate, func(ctx context.Context, stream receiver) (*wire.Manifests, error) {
		out, err := s.generate(ctx, stream)
		return &wire.Manifests{Manifests: out}, err
	})
	return onlyGRPC(mux)
}

// handlerOptions bound messages, and leave compression out: what is sent is
// compressed already, and manifests go no further than the next container.
func handlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithReadMaxBytes(maxMessage), connect.WithCompression("gzip", nil, nil)}
}

// handle has work answer a method that takes a stream.
func handle[Answer any](mux *http.ServeMux, s *Server, method string, work func(context.Context, receiver) (*Answer, error)) {
	mux.Handle(service+method, connect.NewClientStreamHandlerSimple(service+method,
		func(ctx context.Context, stream *connect.ClientStream[wire.Part]) (out *Answer, err error) {
			err = s.measured(ctx, method, func(ctx context.Context) (err error) {
				out, err = work(ctx, parts{stream})
				return err
			})
			return out, err
		}, handlerOptions()...))
}

// onlyGRPC refuses the other protocols that connect speaks.
func onlyGRPC(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Content-Type") {
		case "application/grpc", "application/grpc+proto":
			r.Body = body{Reader: bufio.NewReaderSize(r.Body, readAhead), Closer: r.Body}
			next.ServeHTTP(w, r)
		default:
			w.WriteHeader(http.StatusUnsupportedMediaType)
		}
	})
}

// body is that of a request, which may be closed while it is read.
type body struct {
	io.Reader
	io.Closer
}

// parts is the messages of a stream, which ends with io.EOF.
type parts struct {
	stream *connect.ClientStream[wire.Part]
}

// Recv is the next message.
func (p parts) Recv() (*wire.Part, error) {
	if p.stream.Receive() {
		return p.stream.Msg(), nil
	}
	if err := p.stream.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// check says how the repo-server is to ask: without discovery. To others it says
// what it is.
func (s *Server) check(ctx context.Context, _ *wire.Empty) (*wire.PluginConfiguration, error) {
	if call, ok := connect.CallInfoForHandlerContext(ctx); ok {
		call.ResponseHeader().Set(identityHeader, s.Identity())
	}
	return &wire.PluginConfiguration{ProvideGitCreds: s.opts.AskPass != ""}, nil
}

// match wants nothing: users name the plugin. The stream is read to its end first,
// because the repo-server takes an answer in the middle of it for an error.
func (s *Server) match(ctx context.Context, stream receiver) (*wire.Match, error) {
	return &wire.Match{}, s.drain(ctx, stream)
}

// announce lists the parameters of an application. What is wrong with it fails its
// render, and no form to put it right.
func (s *Server) announce(ctx context.Context, stream receiver) (*wire.Announcement, error) {
	static := &wire.Announcement{Parameters: announced()}
	first, err := within(ctx, s, stream.Recv, func(*wire.Part) {})
	if err != nil {
		return nil, broken(err)
	}
	r, err := newRequest(first.GetMetadata())
	if err != nil {
		return static, s.drain(ctx, stream)
	}
	held, tree, err := s.takeIn(ctx, r, stream)
	if errors.Is(err, turn.ErrFull) || ctx.Err() != nil {
		return static, s.drain(ctx, stream)
	}
	if err != nil {
		return nil, err
	}
	defer held.end()
	defer func() { _ = tree.Close() }()
	return &wire.Announcement{Parameters: s.announcement(ctx, r, tree, held)}, nil
}
