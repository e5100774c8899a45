// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// session is one of a child, on the parent.
type session struct {
	child      *child
	number     int64
	connection *connection
	// ctx ends with the session; its cause is what the child is told.
	ctx    context.Context
	cancel context.CancelCauseFunc
	out    chan *wire.FromParent
	bulk   chan *wire.Part
	bulked atomic.Bool

	mu sync.Mutex
	// answers are awaited, by op_id.
	answers map[string]chan []byte
}

// open begins a stream. It returns the connection that the stream belongs to, and its first
// message, which has to come within 10 s.
func open[In, Out any](raw grpc.ServerStream) (*connection, *grpc.GenericServerStream[In, Out], *In, error) {
	stream := &grpc.GenericServerStream[In, Out]{ServerStream: raw}
	c, err := connectionOf(raw.Context())
	if err != nil {
		return nil, nil, nil, err
	}
	hurry := time.AfterFunc(readyWithin, func() { _ = c.Close() })
	defer hurry.Stop()
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

func (s *Server) serveSession(c *connection, stream *grpc.GenericServerStream[wire.FromChild, wire.FromParent], first *wire.FromChild) error {
	if first.GetAgentReady().GetProtocol() < 1 || proto.Size(first) > maxLevel {
		return status.Errorf(codes.InvalidArgument, "a session begins with AgentReady of protocol 1 or later, of at most %d bytes", maxLevel)
	}
	n, err := s.begin(stream.Context(), c)
	if err != nil {
		return err
	}
	defer n.child.leave(n)
	// A session begins with a certificate, and ends with it.
	expiry := time.AfterFunc(time.Until(c.tls.PeerCertificates[0].NotAfter), func() { n.end(status.Error(codes.Unauthenticated, "the certificate has expired")) })
	defer expiry.Stop()
	welcome := &wire.Welcome{Session: n.number, HeartbeatMs: s.options.Heartbeat.Milliseconds(), Pins: s.options.Pins()}
	if err := stream.Send(&wire.FromParent{Message: &wire.FromParent_Welcome{Welcome: welcome}}); err != nil {
		return err
	}
	go func() {
		err := n.child.handle(n, first)
		if err == nil {
			err = read(n.ctx, stream.Recv, c.limit, n.receive)
		}
		n.end(err)
	}()
	return write(n.ctx, n.out, stream.Send)
}

var errSecond = status.Error(codes.ResourceExhausted, "one session per connection")

// begin authorises a connection, and makes its session the one of the cluster.
func (s *Server) begin(ctx context.Context, c *connection) (*session, error) {
	if c.session.Load() != nil {
		return nil, errSecond
	}
	select {
	case s.admitting <- struct{}{}:
		defer func() { <-s.admitting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	cluster, err := s.options.Authorize(ctx, c.tls)
	if err != nil {
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	if !s.child(cluster).sessions.Allow() {
		return nil, status.Errorf(codes.ResourceExhausted, "the cluster begins more than %d sessions in a second", sessionRate)
	}
	number, err := s.options.Session(ctx, cluster)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	n := &session{child: s.child(cluster), number: number, connection: c, out: make(chan *wire.FromParent), bulk: make(chan *wire.Part), answers: map[string]chan []byte{}}
	n.ctx, n.cancel = context.WithCancelCause(ctx)
	if !c.session.CompareAndSwap(nil, n) {
		return nil, errSecond
	}
	return n, n.child.begin(n)
}

// end ends a session, and closes its connection if the child does not.
func (n *session) end(err error) {
	n.cancel(err)
	time.AfterFunc(endWithin, func() { _ = n.connection.Close() })
}

// receive handles what the child sends on Connect.
func (n *session) receive(m *wire.FromChild) error {
	n.child.noteSeen()
	if reply := m.GetReply(); reply != nil {
		n.deliverAnswer(reply.GetOpId(), reply.GetResponse())
		return nil
	}
	if proto.Size(m) > maxLevel {
		return status.Errorf(codes.InvalidArgument, "the message has more than %d bytes", maxLevel)
	}
	return n.child.handle(n, m)
}

// deliverAnswer hands an answer to the call that waits for it. An answer that comes late is
// dropped.
func (n *session) deliverAnswer(id string, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c, ok := n.answers[id]; ok {
		delete(n.answers, id)
		c <- data // There is room for one.
	}
}

// awaits reports whether a call waits for an answer.
func (n *session) awaits(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.answers[id]
	return ok
}

// serveBulk serves the second stream of a session.
func (s *Server) serveBulk(raw grpc.ServerStream) error {
	c, stream, first, err := open[wire.Part, wire.Part](raw)
	if err != nil {
		return err
	}
	n := c.session.Load()
	if n == nil || n.number != first.GetSession() || !n.bulked.CompareAndSwap(false, true) {
		return status.Errorf(codes.FailedPrecondition, "session %d is not the one of this connection, or has its Bulk", first.GetSession())
	}
	join := joiner{session: n.number, wanted: n.awaits, whole: n.deliverAnswer}
	go func() {
		n.end(read(n.ctx, stream.Recv, c.limit, func(p *wire.Part) error {
			n.child.noteSeen()
			return join.add(p)
		}))
	}()
	err = write(n.ctx, n.bulk, stream.Send)
	n.end(err)
	return err
}
