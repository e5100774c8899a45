// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

type (
	clientConnect = grpc.GenericClientStream[wire.FromChild, wire.FromParent]
	clientBulk    = grpc.GenericClientStream[wire.Part, wire.Part]
)

// Run keeps a session with the parent until ctx ends, and tries again after each failure. It is
// called once.
func (c *Client) Run(ctx context.Context) error {
	c.mu.Lock()
	c.silence = Silence{Since: time.Now(), Tried: time.Now()}
	c.mu.Unlock()
	go c.watch(ctx)
	go c.handle(ctx)

	// Count failures in a row: a good session, or a new certificate, begins again at none.
	for failures := 0; ; failures++ {
		duration, err := c.connect(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errRenewed) {
			failures = -1
			continue
		}
		if duration >= c.options.Good {
			failures = 0
		}

		// Wait for longer after each failure.
		wait := c.backoff(failures)
		c.noteFailure(err, duration, wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// backoff returns a random time up to a bound that doubles with each failure, so that children
// that lost their parent together do not come back together.
func (c *Client) backoff(failures int) time.Duration {
	bound := c.options.MaxBackoff
	if failures < 16 {
		bound = min(bound, c.options.Backoff<<failures)
	}
	return rand.N(bound + 1) //nolint:gosec // it is no secret
}

// noteFailure notes why a session ended or could not begin, and logs that, once in a minute at most.
func (c *Client) noteFailure(err error, duration, wait time.Duration) {
	c.mu.Lock()
	c.silence.Tried, c.silence.Err = time.Now(), err
	if duration == 0 {
		c.silence.Attempts++
	}
	silence := c.silence
	c.mu.Unlock()
	c.logEnd.Do(func() {
		c.options.Log.Info("no session with the parent", "since", silence.Since.UTC().Format(time.RFC3339),
			"attempts", silence.Attempts, "retry", wait.String(), "error", err.Error())
	})
}

// connect runs a session on a connection of its own. It returns how long the session lasted, and
// why it ended.
func (c *Client) connect(ctx context.Context) (time.Duration, error) {
	// The parent and the first message are read anew for each session.
	parent, err := c.options.Parent(ctx)
	if err != nil {
		return 0, err
	}
	ready, err := c.options.Ready(ctx)
	if err != nil {
		return 0, err
	}

	// Nothing is dialled before the first stream.
	conn, err := grpc.NewClient("passthrough:///"+parent.Address,
		grpc.WithTransportCredentials(credentials.NewTLS(parent.TLS)),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                c.options.Keepalive,
			Timeout:             min(keepaliveWithin, c.options.Keepalive),
			PermitWithoutStream: true,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithMaxHeaderListSize(maxHeaders))
	if err != nil {
		return 0, fmt.Errorf("parent %q: %w", parent.Address, err)
	}
	defer func() { _ = conn.Close() }() // There is nothing to be done about it.

	// The cause that ended the session says more than the error of its stream.
	n := &childSession{messages: make(chan *wire.FromChild), parts: make(chan *wire.Part), changed: make(chan struct{}, 1)}
	n.ctx, n.end = context.WithCancelCause(ctx)
	defer n.end(errors.New("the session is over"))
	duration, err := c.serve(ctx, n, conn, ready)
	if cause := context.Cause(n.ctx); cause != nil && ctx.Err() == nil {
		err = cause
	}
	return duration, fmt.Errorf("parent %q: %w", parent.Address, err)
}

// errSlow ends a session that has not begun within welcomeWithin.
var errSlow = errors.New("no session in time")

// serve begins a session, and serves it until it ends.
func (c *Client) serve(ctx context.Context, n *childSession, conn *grpc.ClientConn, ready *wire.AgentReady) (time.Duration, error) {
	// The first stream begins with AgentReady, and is answered with Welcome.
	timeout := time.AfterFunc(welcomeWithin, func() { n.end(errSlow) })
	defer timeout.Stop()
	desc := grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	raw, err := conn.NewStream(n.ctx, &desc, "/"+serviceName+"/"+connectName)
	if err != nil {
		return 0, err
	}
	stream := &clientConnect{ClientStream: raw}
	ready = proto.CloneOf(ready)
	ready.Protocol = 1
	if err := stream.Send(&wire.FromChild{Message: &wire.FromChild_AgentReady{AgentReady: ready}}); err != nil {
		_, err = stream.Recv() // It knows why.
		return 0, err
	}
	first, err := stream.Recv()
	if err != nil {
		return 0, err
	}
	welcome := first.GetWelcome()
	if welcome.GetSession() < 1 {
		return 0, errors.New("the parent has sent no Welcome")
	}
	n.number = welcome.GetSession()

	// The second stream belongs to the same session.
	raw, err = conn.NewStream(n.ctx, &desc, "/"+serviceName+"/"+bulkName)
	if err != nil {
		return 0, err
	}
	bulk := &clientBulk{ClientStream: raw}
	if err := bulk.Send(&wire.Part{Session: n.number}); err != nil {
		_, err = bulk.Recv() // It knows why.
		return 0, err
	}
	if !timeout.Stop() {
		return 0, errSlow
	}

	// The session counts from here on.
	begun := time.Now()
	c.begin(n, welcome.GetPins())
	defer c.leave(n)

	// Each stream has a reader and a writer. The first of them to fail ends the session.
	join := joiner{
		session: n.number,
		wanted:  func(string) bool { return true },
		deliver: func(id string, request []byte) { c.handlePivot(ctx, id, request) },
	}
	go func() {
		n.end(read(n.ctx, stream.Recv, newLimit(), func(m *wire.FromParent) error {
			c.receive(ctx, m)
			return nil
		}))
	}()
	go func() { n.end(read(n.ctx, bulk.Recv, newLimit(), join.add)) }()
	go func() { n.end(write(n.ctx, n.parts, bulk.Send)) }()
	err = c.write(n, stream, heartbeatEvery(welcome))
	return time.Since(begun), err
}

// welcomeWithin bounds the begin of a session, with the dial.
const welcomeWithin = 30 * time.Second

// heartbeatEvery returns the interval that the parent wants, between 10 ms and a minute.
func heartbeatEvery(m *wire.Welcome) time.Duration {
	const lowest, highest = 10, 60_000
	return time.Duration(min(max(m.GetHeartbeatMs(), lowest), highest)) * time.Millisecond
}

// begin makes a session the current one.
func (c *Client) begin(n *childSession, pins []string) {
	c.mu.Lock()
	c.current = n
	c.pins = pins
	silence := c.silence
	c.mu.Unlock()
	c.logBegin.Do(func() {
		c.options.Log.Info("a session with the parent has begun", "session", n.number,
			"without", silence.Since.UTC().Format(time.RFC3339), "attempts", silence.Attempts)
	})
	c.request(func() { c.status = true })
}

// leave notes that the session has ended.
func (c *Client) leave(n *childSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == n {
		c.current = nil
		c.silence = Silence{Since: time.Now(), Tried: time.Now()}
	}
}

// write sends heartbeats, levels and replies, until the session ends.
func (c *Client) write(n *childSession, stream *clientConnect, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var sent levels
	n.wake()
	for {
		var m *wire.FromChild
		select {
		case <-n.ctx.Done():
			return context.Cause(n.ctx)
		case <-tick.C:
			m = c.heartbeat()
		case m = <-n.messages:
		case <-n.changed:
			if err := c.sendLevels(&sent, stream); err != nil {
				return n.cause(err)
			}
			continue
		}
		if err := stream.Send(m); err != nil {
			return n.cause(err)
		}
	}
}

// sendLevels sends the levels that were not sent yet.
func (c *Client) sendLevels(sent *levels, stream *clientConnect) error {
	c.mu.Lock()
	latest := c.levels
	c.mu.Unlock()
	for i, m := range latest {
		if m == nil || m == sent[i] {
			continue
		}
		if err := stream.Send(m); err != nil {
			return err
		}
		sent[i] = m
	}
	return nil
}

// cause waits a second for the reader's error, which explains why nothing can be sent. It returns err
// if the reader has no error.
func (n *childSession) cause(err error) error {
	select {
	case <-n.ctx.Done():
		return context.Cause(n.ctx)
	case <-time.After(time.Second):
		return err
	}
}

// heartbeat returns the message of a heartbeat.
func (c *Client) heartbeat() *wire.FromChild {
	m := &wire.Heartbeat{SentUnixMs: time.Now().UnixMilli()}
	if c.options.State != nil {
		m.AgentState = c.options.State()
	}
	return &wire.FromChild{Message: &wire.FromChild_Heartbeat{Heartbeat: m}}
}

// receive handles a message of the parent on Connect.
func (c *Client) receive(ctx context.Context, m *wire.FromParent) {
	switch m := m.GetMessage().(type) {
	case *wire.FromParent_Pivot:
		c.handlePivot(ctx, m.Pivot.GetOpId(), m.Pivot.GetRequest())
	case *wire.FromParent_Bootstrap:
		c.request(func() { c.bootstrap = m.Bootstrap })
	case *wire.FromParent_Reconcile:
		c.request(func() {
			c.reconcile = true
			c.pins = m.Reconcile.GetPins()
		})
	case *wire.FromParent_StatusRequest:
		c.request(func() { c.status = true })
	}
}
