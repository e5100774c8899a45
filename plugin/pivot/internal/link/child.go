// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// ErrAway means that the child has no session.
var ErrAway = errors.New("not connected")

// child holds the server's state of a cluster, across its sessions.
type child struct {
	options *ServerOptions
	cluster string
	// calling is full while a call is under way: there is one at a time.
	calling chan struct{}
	// sessions limits how often a session begins, as each costs the caller a write.
	sessions *rate.Limiter
	// events is locked while an event is called, so that events do not overlap.
	events sync.Mutex

	mu      sync.Mutex
	session *session
	// number identifies the last session.
	number int64
	// changed is closed when session changes.
	changed chan struct{}
	// seen is the time of the last message.
	seen time.Time
	// silence fires when the child is lost.
	silence *time.Timer
}

// begin makes a session current, if it is the newest of the cluster.
func (c *child) begin(n *session) error {
	// Refuse a session that is older than the last one.
	c.mu.Lock()
	if n.number <= c.number {
		defer c.mu.Unlock()
		err := status.Errorf(codes.Aborted, "session %d of the cluster has begun, so that %d is over", c.number, n.number)
		n.end(err)
		return err
	}

	// Replace the session, and begin to wait for its messages.
	previous := c.session
	c.session = n
	c.number = n.number
	c.seen = time.Now()
	c.notify()
	if c.silence == nil {
		c.silence = time.AfterFunc(c.options.Lost, c.reportLost)
	}
	c.silence.Reset(c.options.Lost)
	c.mu.Unlock()

	// End the session that it replaces.
	if previous != nil {
		previous.end(status.Errorf(codes.Aborted, "session %d of the cluster has begun, so that %d is over", n.number, previous.number))
	}
	return nil
}

// leave ends a session for good.
func (c *child) leave(n *session) {
	n.end(status.Error(codes.Canceled, "the session is over"))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == n {
		c.session = nil
		c.notify()
	}
}

// notify wakes the calls that wait for a change of the session. The caller holds mu.
func (c *child) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// cut ends the session, if there is one.
func (c *child) cut(err error) {
	if n := c.current(); n != nil {
		n.end(err)
	}
}

// current returns the session; nil if there is none.
func (c *child) current() *session {
	n, _ := c.look()
	return n
}

// look returns the session, and a channel that is closed when the session changes.
func (c *child) look() (*session, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil && c.session.ctx.Err() != nil {
		return nil, c.changed
	}
	return c.session, c.changed
}

// noteSeen notes that something was received, which puts off the loss of the child.
func (c *child) noteSeen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = time.Now()
	c.silence.Reset(c.options.Lost)
}

// reportLost ends the session and reports the child as lost, after nothing was received for too
// long.
func (c *child) reportLost() {
	c.mu.Lock()
	n, seen := c.session, c.seen
	c.mu.Unlock()
	if n != nil {
		n.end(status.Errorf(codes.DeadlineExceeded, "nothing was received for %s", c.options.Lost))
	}

	// An event that was being handled may have come from the child meanwhile.
	c.events.Lock()
	defer c.events.Unlock()
	c.mu.Lock()
	returned := c.seen != seen
	c.mu.Unlock()
	if report := c.options.Events.Lost; report != nil && !returned {
		report(c.cluster, seen)
	}
}

// receive handles what the child sends on Connect.
func (c *child) receive(n *session, m *wire.FromChild) error {
	c.noteSeen()
	if reply := m.GetReply(); reply != nil {
		n.deliverAnswer(reply.GetOpId(), reply.GetResponse())
		return nil
	}
	if proto.Size(m) > maxLevel {
		return status.Errorf(codes.InvalidArgument, "the message has more than %d bytes", maxLevel)
	}
	return c.handle(n, m)
}

// handle calls the event of a message, if the session is not over. The child is not lost during the
// call, because nothing is read from it.
func (c *child) handle(n *session, m *wire.FromChild) error {
	c.events.Lock()
	defer c.events.Unlock()
	if n.ctx.Err() != nil {
		return context.Cause(n.ctx)
	}
	c.silence.Stop()
	defer c.noteSeen()
	events := c.options.Events
	switch m := m.GetMessage().(type) {
	case *wire.FromChild_AgentReady:
		if events.AgentReady != nil {
			if err := events.AgentReady(n.ctx, c.cluster, m.AgentReady); err != nil {
				return status.Error(codes.FailedPrecondition, err.Error())
			}
		}
	case *wire.FromChild_Heartbeat:
		call(events.Heartbeat, n.ctx, c.cluster, m.Heartbeat)
	case *wire.FromChild_ClusterHealth:
		call(events.ClusterHealth, n.ctx, c.cluster, m.ClusterHealth)
	case *wire.FromChild_BootstrapComplete:
		call(events.BootstrapComplete, n.ctx, c.cluster, m.BootstrapComplete)
	case *wire.FromChild_PivotComplete:
		call(events.PivotComplete, n.ctx, c.cluster, m.PivotComplete)
	}
	return nil
}

// call calls an event, unless it is nil.
func call[M any](f func(context.Context, string, M), ctx context.Context, cluster string, m M) { //nolint:revive // the event comes first
	if f != nil {
		f(ctx, cluster, m)
	}
}

// errUnread ends the wait for a child that does not read: the caller works for other children too.
var errUnread = errors.New("it does not read what was sent to it before")

// send sends a message in the current session.
func (c *child) send(ctx context.Context, m *wire.FromParent) error {
	if size := proto.Size(m); size > maxMessage {
		return fmt.Errorf("cluster %q: the message has %d bytes: at most %d are sent", c.cluster, size, maxMessage)
	}
	n := c.current()
	if n == nil {
		return fmt.Errorf("cluster %q: %w", c.cluster, ErrAway)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sendWithin, errUnread)
	defer cancel()
	err := put(ctx, n.ctx, n.messages, m)
	if errors.Is(err, errUnread) {
		return fmt.Errorf("cluster %q: %w", c.cluster, err)
	}
	if err != nil {
		return fmt.Errorf("cluster %q: %w: %w", c.cluster, ErrAway, err)
	}
	return nil
}
