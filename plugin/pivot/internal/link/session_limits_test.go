// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// TestMessagesThatAreTooLarge end the session that they are sent in, and no other.
func TestMessagesThatAreTooLarge(t *testing.T) {
	p := newParent(t, nil)
	p.join(p.address, p.agent("green", time.Hour))
	p.connected("green")
	for size, code := range map[int]codes.Code{10 << 20: codes.ResourceExhausted, maxMessage + 1: codes.ResourceExhausted, maxLevel + 1: codes.InvalidArgument} {
		s, _ := p.session(p.dial(p.agent("blue", time.Hour)))
		_ = s.Send(heartbeat(strings.Repeat("x", size))) // It may end before all is sent.
		require.Equal(t, code, status.Code(ends(t, s)), size)
		s, _ = p.session(p.dial(p.agent("blue", time.Hour)))
		_ = s.Send(&wire.FromChild{Message: &wire.FromChild_Reply{Reply: &wire.Reply{Response: make([]byte, size)}}})
		if size > maxMessage {
			require.Equal(t, code, status.Code(ends(t, s)), size)
		}
	}
	first := begin(t, p.dial(p.agent("blue", time.Hour)), connectName)
	large := ready()
	large.GetAgentReady().AgentVersion = strings.Repeat("x", maxLevel)
	require.NoError(t, first.SendMsg(large))
	require.Equal(t, codes.InvalidArgument, status.Code(ends(t, first)))
	require.Equal(t, int64(1), p.sessionsOf()["green"])
	require.True(t, p.Connected("green"))
}

// TestAnAnswerThatNeverEnds has more parts than an answer can have.
func TestAnAnswerThatNeverEnds(t *testing.T) {
	p := newParent(t, func(o *ServerOptions) { o.Patience = time.Second })
	conn := p.dial(p.agent("blue", time.Hour))
	s, n := p.session(conn)
	bulk := &clientBulk{ClientStream: begin(t, conn, bulkName)}
	require.NoError(t, bulk.Send(&wire.Part{Session: n}))
	errs := make(chan error, 1)
	go func() {
		_, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
		errs <- err
	}()
	m, err := s.Recv()
	require.NoError(t, err)
	for range 10 { // One that is not awaited is not kept.
		require.NoError(t, bulk.Send(&wire.Part{Session: n, OpId: "other", Data: make([]byte, maxMessage-100)}))
	}
	require.True(t, p.Connected("blue"))
	for err == nil {
		err = bulk.Send(&wire.Part{Session: n, OpId: m.GetPivot().GetOpId(), Data: make([]byte, partSize)})
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(ends(t, bulk)))
	require.ErrorIs(t, <-errs, ErrAway)
}

func TestAnAnswerThatIsNoResponse(t *testing.T) {
	p := newParent(t, nil)
	s, _ := p.session(p.dial(p.agent("blue", time.Hour)))
	go func() {
		m, _ := s.Recv()
		for range 2 { // The second one comes late.
			_ = s.Send(&wire.FromChild{Message: &wire.FromChild_Reply{Reply: &wire.Reply{OpId: m.GetPivot().GetOpId(), Response: []byte("[]")}}})
		}
	}()
	_, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
	require.ErrorContains(t, err, `the answer of cluster "blue" to Hello is not a response`)
}

// TestAFlood has one child send as fast as it can: it is read at its rate, and others are served.
func TestAFlood(t *testing.T) {
	p := newParent(t, nil)
	p.join(p.address, p.agent("green", time.Hour))
	p.connected("green")
	s, _ := p.session(p.dial(p.agent("blue", time.Hour)))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	begun := time.Now()
	var sent atomic.Int64
	go func() {
		for ctx.Err() == nil && s.Send(heartbeat(strings.Repeat("x", 1000))) == nil {
			sent.Add(1)
		}
	}()
	for ctx.Err() == nil {
		before := time.Now()
		out, err := p.Link("green").Call(t.Context(), state.Request{Op: state.Hello})
		require.NoError(t, err)
		require.Empty(t, out.Refused)
		require.Less(t, time.Since(before), time.Second)
	}
	read := p.count("blue: heartbeat " + strings.Repeat("x", 1000))
	require.LessOrEqual(t, float64(read), messageBurst+messageRate*time.Since(begun).Seconds())
	require.GreaterOrEqual(t, read, messageBurst-10)
	require.Less(t, sent.Load(), int64(read)+1000, "flow control holds it up")
	require.True(t, p.Connected("blue"))
}

func TestStreamsAndConnectionsOfAPeer(t *testing.T) {
	p := newParent(t, nil)
	c := p.agent("blue", time.Hour)
	conn := p.dial(c)
	p.session(conn)
	again := begin(t, conn, connectName)
	require.NoError(t, again.SendMsg(ready()))
	err := ends(t, again)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "one session per connection")

	idle := p.dial(c)
	for range maxStreams {
		begin(t, idle, connectName)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = idle.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+serviceName+"/"+connectName)
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "the server allows no more")

	oldest := begin(t, p.dial(p.agent("green", time.Hour)), connectName) // Of another key, it stays.
	key := p.agent("red", time.Hour)
	first := begin(t, p.dial(key), connectName)
	for range maxPerKey {
		begin(t, p.dial(key), connectName)
	}
	require.Equal(t, codes.Unavailable, status.Code(ends(t, first)), "the oldest of too many is cut")
	require.NoError(t, oldest.SendMsg(ready()))
	require.NoError(t, oldest.RecvMsg(&wire.FromParent{}))
}

func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	p := newParent(t, func(o *ServerOptions) { o.Connections = 1 })
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	p.join(p.address, p.agent("green", time.Hour))
	require.Never(t, func() bool { return p.Connected("green") }, 200*time.Millisecond, 10*time.Millisecond)
	a.stop()
	p.connected("green")
}

// TestConnectionsWithoutACertificate are closed beyond the share of their address. Those of
// children that have shown theirs do not count.
func TestConnectionsWithoutACertificate(t *testing.T) {
	p := newParent(t, nil)
	p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	open := func(d net.Dialer) net.Conn {
		c, err := d.Dial("tcp", p.address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() }) // The parent may have closed it.
		return c
	}
	for range maxPendingEach {
		open(from)
	}
	_, err := open(from).Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	p.join(p.address, p.agent("green", time.Hour))
	p.connected("green")
	for range maxPending - maxPendingEach {
		open(net.Dialer{})
	}
	_, err = open(net.Dialer{}).Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "there are too many in all")
	require.True(t, p.Connected("blue"))
	require.True(t, p.Connected("green"))
}

// TestFirstMessagesThatAreNone begins streams in ways that are none of the protocol.
func TestFirstMessagesThatAreNone(t *testing.T) {
	p := newParent(t, nil)
	conn := p.dial(p.agent("blue", time.Hour))
	old := ready()
	old.GetAgentReady().Protocol = 0
	for _, m := range []*wire.FromChild{heartbeat("early"), old, {}} {
		s := begin(t, conn, connectName)
		require.NoError(t, s.SendMsg(m))
		require.Equal(t, codes.InvalidArgument, status.Code(ends(t, s)))
	}
	s := begin(t, conn, bulkName)
	require.NoError(t, s.SendMsg(&wire.Part{}))
	require.Equal(t, codes.FailedPrecondition, status.Code(ends(t, s)), "there is no session")
	for _, method := range []string{connectName, bulkName} {
		s = begin(t, conn, method)
		require.NoError(t, s.CloseSend())
		require.Error(t, ends(t, s))
	}
	require.Empty(t, p.sessionsOf())

	_, n := p.session(conn)
	for i, number := range []int64{n + 1, n, n} {
		s = begin(t, conn, bulkName)
		require.NoError(t, s.SendMsg(&wire.Part{Session: number}))
		if i == 1 {
			require.Eventually(t, func() bool { return p.child("blue").current().bulked.Load() }, 10*time.Second, time.Millisecond)
			continue
		}
		require.Equal(t, codes.FailedPrecondition, status.Code(ends(t, s)), "of another session, or the second one")
	}
	require.True(t, p.Connected("blue"))
}

// TestAStreamWithoutAMessageIsCut opens one, and says nothing.
func TestAStreamWithoutAMessageIsCut(t *testing.T) {
	t.Parallel()
	p := newParent(t, nil)
	conn := p.dial(p.agent("blue", time.Hour))
	for _, method := range []string{connectName, bulkName} {
		begun := time.Now()
		require.Equal(t, codes.Unavailable, status.Code(ends(t, begin(t, conn, method))))
		require.InDelta(t, readyWithin.Seconds(), time.Since(begun).Seconds(), 5)
	}
}

// TestPingsThatComeTooOften end the connection.
func TestPingsThatComeTooOften(t *testing.T) {
	p := newParent(t, nil)
	conn := p.raw(p.agent("blue", time.Hour))
	framer := http2.NewFramer(conn, conn)
	for range 10 {
		_ = framer.WritePing(false, [8]byte{}) // The connection may be closed already.
	}
	for {
		frame, err := framer.ReadFrame()
		require.NoError(t, err)
		if end, ok := frame.(*http2.GoAwayFrame); ok {
			require.Equal(t, http2.ErrCodeEnhanceYourCalm, end.ErrCode)
			return
		}
	}
}

// liar is a parent that does not keep to the protocol.
func liar(t *testing.T, p *parent, connect, bulk func(n int64, stream grpc.ServerStream) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(p.server())))
	var sessions atomic.Int64
	server.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: connectName, ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			return connect(sessions.Add(1), s)
		}},
		{StreamName: bulkName, ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			return bulk(sessions.Load(), s)
		}},
	}}, nil)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

// TestAParentThatLies costs a child its sessions, and nothing more.
func TestAParentThatLies(t *testing.T) {
	p := newParent(t, nil)
	welcome := func(n int64, s grpc.ServerStream) error {
		return s.SendMsg(&wire.FromParent{Message: &wire.FromParent_Welcome{Welcome: &wire.Welcome{Session: n}}})
	}
	stay := func(_ int64, s grpc.ServerStream) error { <-s.Context().Done(); return nil }
	for want, lie := range map[string]struct {
		connect, bulk func(int64, grpc.ServerStream) error
	}{
		"has sent no Welcome": {func(_ int64, s grpc.ServerStream) error { return s.SendMsg(&wire.FromParent{}) }, stay},
		"the door is closed":  {func(int64, grpc.ServerStream) error { return status.Error(codes.Unavailable, "the door is closed") }, stay},
		"larger than max": {func(n int64, s grpc.ServerStream) error {
			_ = welcome(n, s)
			_ = s.SendMsg(&wire.FromParent{Message: &wire.FromParent_Pivot{Pivot: &wire.Pivot{Request: make([]byte, 10<<20)}}})
			return stay(n, s)
		}, stay},
		"was sent in session": {func(n int64, s grpc.ServerStream) error { _ = welcome(n, s); return stay(n, s) }, func(n int64, s grpc.ServerStream) error {
			_ = s.SendMsg(&wire.Part{Session: n + 1})
			return stay(n, s)
		}},
		"has more than": {func(n int64, s grpc.ServerStream) error { _ = welcome(n, s); return stay(n, s) }, func(n int64, s grpc.ServerStream) error {
			for s.SendMsg(&wire.Part{Session: n, OpId: "x", Data: make([]byte, maxMessage-100)}) == nil {
			}
			return nil
		}},
		"EOF": {func(n int64, s grpc.ServerStream) error { _ = welcome(n, s); return stay(n, s) }, func(int64, grpc.ServerStream) error { return nil }},
	} {
		a := p.join(liar(t, p, lie.connect, lie.bulk), p.agent("blue", time.Hour))
		require.Eventually(t, func() bool { err := a.lastError(); return err != nil && strings.Contains(err.Error(), want) }, 20*time.Second, time.Millisecond, "%s: %v", want, a.lastError())
		a.stop()
		require.Zero(t, a.handled())
	}
}

func TestHeartbeatsWithinReason(t *testing.T) {
	for ms, want := range map[int64]time.Duration{-1: 10 * time.Millisecond, 0: 10 * time.Millisecond, 15000: 15 * time.Second, 1 << 60: time.Minute} {
		require.Equal(t, want, heartbeatEvery(&wire.Welcome{HeartbeatMs: ms}), ms)
	}
}
