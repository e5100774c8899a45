// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// Serve serves children until ctx ends, and then ends their sessions. It is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := grpc.NewServer(s.grpc()...)
	defer server.Stop()
	connect := func(_ any, stream grpc.ServerStream) error { return s.connect(stream) }
	bulk := func(_ any, stream grpc.ServerStream) error { return s.serveBulk(stream) }
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{
			{StreamName: connectName, Handler: connect, ServerStreams: true, ClientStreams: true},
			{StreamName: bulkName, Handler: bulk, ServerStreams: true, ClientStreams: true},
		},
	}, s)

	// When ctx ends, end the sessions, and stop the server without waiting for long.
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		for _, c := range s.allChildren() {
			c.cut(status.Error(codes.Unavailable, "the parent is being stopped"))
		}
		hurry := time.AfterFunc(stopWithin, server.Stop)
		defer hurry.Stop()
		server.GracefulStop()
	})

	// An error of the listener counts only if the server was not stopped.
	err := server.Serve(s.connections.listen(netutil.LimitListener(l, s.options.Connections)))
	if !stop() {
		<-ended
		return nil
	}
	return fmt.Errorf("link: %w", err)
}

// grpc returns the options of gRPC. Buffers are small, because most connections are idle.
func (s *Server) grpc() []grpc.ServerOption {
	const buffer = 4 << 10
	return []grpc.ServerOption{
		grpc.Creds(guard{credentials.NewTLS(s.options.TLS), s.logRefused}),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeWithin),
		grpc.ReadBufferSize(buffer),
		grpc.WriteBufferSize(buffer),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: time.Minute, Time: keepaliveEvery, Timeout: keepaliveWithin}),
		// A client that keeps to its 30 s is not cut for a ping that comes early.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveEvery / 3, PermitWithoutStream: true}),
	}
}

// logRefused logs a connection that failed. Load balancers that only check whether the port is
// open are not logged.
func (s *Server) logRefused(peer net.Addr, err error) {
	if !errors.Is(err, io.EOF) && s.lines.Allow() {
		s.options.Log.Info("a connection is refused", "peer", peer.String(), "error", err.Error())
	}
}

// open begins a stream. It returns the connection that the stream belongs to, and its first
// message, which has to come within 10 s.
func open[In, Out any](raw grpc.ServerStream) (*connection, *grpc.GenericServerStream[In, Out], *In, error) {
	stream := &grpc.GenericServerStream[In, Out]{ServerStream: raw}
	c, err := connectionOf(raw.Context())
	if err != nil {
		return nil, nil, nil, err
	}

	// Wait for the first message.
	timeout := time.AfterFunc(readyWithin, func() { _ = c.Close() })
	defer timeout.Stop()
	if err := c.limit.Wait(raw.Context()); err != nil {
		return nil, nil, nil, err
	}
	first, err := stream.Recv()
	return c, stream, first, err
}

// connect serves a session.
func (s *Server) connect(raw grpc.ServerStream) error {
	c, stream, first, err := open[wire.FromChild, wire.FromParent](raw)
	if err != nil {
		return err
	}
	err = s.serveSession(c, stream, first)
	s.logEnd(c, err)
	return err
}

// logEnd logs the end of a session, or why it did not begin.
func (s *Server) logEnd(c *connection, err error) {
	if !s.lines.Allow() {
		return
	}
	log := s.options.Log.WithValues("peer", c.RemoteAddr().String(), "key", c.key)
	if n := c.session.Load(); n != nil {
		log = log.WithValues("cluster", n.cluster, "session", n.number)
	}
	log.Info("a session has ended", "reason", err.Error())
}

// serveSession begins a session with its first message, and serves it until it ends.
func (s *Server) serveSession(c *connection, stream *grpc.GenericServerStream[wire.FromChild, wire.FromParent], first *wire.FromChild) error {
	if first.GetAgentReady().GetProtocol() < 1 || proto.Size(first) > maxLevel {
		return status.Errorf(codes.InvalidArgument, "a session begins with AgentReady of protocol 1 or later, of at most %d bytes", maxLevel)
	}
	n, err := s.begin(stream.Context(), c)
	if err != nil {
		return err
	}
	child := s.child(n.cluster)
	defer child.leave(n)

	// A session begins with a certificate, and ends with it.
	expiry := time.AfterFunc(time.Until(c.tls.PeerCertificates[0].NotAfter), func() {
		n.end(status.Error(codes.Unauthenticated, "the certificate has expired"))
	})
	defer expiry.Stop()

	// Welcome the child, and serve Connect in both directions.
	welcome := &wire.Welcome{Session: n.number, HeartbeatMs: s.options.Heartbeat.Milliseconds(), Pins: s.options.Pins()}
	if err := stream.Send(&wire.FromParent{Message: &wire.FromParent_Welcome{Welcome: welcome}}); err != nil {
		return err
	}
	go func() {
		err := child.handle(n, first)
		if err == nil {
			err = read(n.ctx, stream.Recv, c.limit, func(m *wire.FromChild) error { return child.receive(n, m) })
		}
		n.end(err)
	}()
	return write(n.ctx, n.messages, stream.Send)
}

// errSecond refuses a second session on a connection.
var errSecond = status.Error(codes.ResourceExhausted, "one session per connection")

// begin authorises a connection, and makes its session the current session of the cluster.
func (s *Server) begin(ctx context.Context, c *connection) (*session, error) {
	// Only so many sessions begin at once.
	if c.session.Load() != nil {
		return nil, errSecond
	}
	select {
	case s.admitting <- struct{}{}:
		defer func() { <-s.admitting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}

	// Authorise the certificate, and take the next number of its cluster.
	cluster, err := s.options.Authorize(ctx, c.tls)
	if err != nil {
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	child := s.child(cluster)
	if !child.sessions.Allow() {
		return nil, status.Errorf(codes.ResourceExhausted, "the cluster begins more than %d sessions in a second", sessionRate)
	}
	number, err := s.options.Session(ctx, cluster)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}

	// The session takes its connection, and replaces the one before.
	n := &session{
		cluster:    cluster,
		number:     number,
		connection: c,
		messages:   make(chan *wire.FromParent),
		parts:      make(chan *wire.Part),
		answers:    map[string]chan []byte{},
	}
	n.ctx, n.cancel = context.WithCancelCause(ctx)
	if !c.session.CompareAndSwap(nil, n) {
		return nil, errSecond
	}
	if err := child.begin(n); err != nil {
		return nil, err
	}
	return n, nil
}

// serveBulk serves the second stream of a session.
func (s *Server) serveBulk(raw grpc.ServerStream) error {
	c, stream, first, err := open[wire.Part, wire.Part](raw)
	if err != nil {
		return err
	}
	n := c.session.Load()
	isSession := n != nil && n.number == first.GetSession()
	if !isSession || !n.bulked.CompareAndSwap(false, true) {
		return status.Errorf(codes.FailedPrecondition, "session %d is not the one of this connection, or has its Bulk", first.GetSession())
	}

	// Read and write parts until the session ends.
	child := s.child(n.cluster)
	join := joiner{session: n.number, wanted: n.awaits, deliver: n.deliverAnswer}
	go func() {
		n.end(read(n.ctx, stream.Recv, c.limit, func(p *wire.Part) error {
			child.noteSeen()
			return join.add(p)
		}))
	}()
	err = write(n.ctx, n.parts, stream.Send)
	n.end(err)
	return err
}
