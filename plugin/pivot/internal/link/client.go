// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Handler carries out what the parent asks for. Its contexts end with Run, and not with a
// session.
type Handler interface {
	// Pivot is called for one request at a time. A request may come from a parent that is not to be
	// trusted, instead of state.Source: it may name another cluster.
	Pivot(ctx context.Context, r state.Request) state.Response
	// Bootstrap, Reconcile and Status are called one after the other. Requests that repeat before
	// the call are called once, with the last message.
	Bootstrap(ctx context.Context, m *wire.Bootstrap)
	Reconcile(ctx context.Context)
	// Status is requested in each session.
	Status(ctx context.Context) *wire.ClusterHealth
}

// Parent locates the server that a client dials.
type Parent struct {
	// Address is host:port. Its name is resolved each time.
	Address string
	// TLS has the certificate of the client.
	TLS *tls.Config
}

// Silence describes the time without a session.
type Silence struct {
	// Since is the end of the last session, or the start of Run.
	Since time.Time
	// Attempts counts the failed attempts since then.
	Attempts int
	// Tried is the time of the last attempt, and Err its error.
	Tried time.Time
	Err   error
}

// ClientOptions configure a Client. Options that state a default may be zero.
type ClientOptions struct {
	// Parent is called before each session, so that a certificate that was renewed is used.
	Parent func(ctx context.Context) (Parent, error)
	// Ready returns the first message of a session. Its protocol is set by the client.
	Ready   func(ctx context.Context) (*wire.AgentReady, error)
	Handler Handler
	// State returns the state for a heartbeat; it may be nil.
	State func() wire.AgentState
	// Silent is called after each interval of Watchdog without a session, also if the client itself
	// is stuck.
	Silent func(Silence)
	// Watchdog is 10 min by default.
	Watchdog time.Duration
	// Backoff bounds the wait before the second attempt, 1 s by default. The bound doubles with each
	// attempt, up to MaxBackoff, 50 s by default, so that all children are back within a minute. The
	// wait is random between 0 and the bound.
	Backoff, MaxBackoff time.Duration
	// Good is the duration of a session that resets the backoff, 60 s by default.
	Good time.Duration
	// Keepalive is the time without a message from the parent until the client pings it, 30 s by
	// default. gRPC raises it to 10 s at least.
	Keepalive time.Duration
	Log       logr.Logger
}

// Client is the end of a child.
type Client struct {
	options    ClientOptions
	operations operations
	requests   chan struct{}
	// logBegin and logEnd let a line pass once a minute.
	logBegin, logEnd rate.Sometimes

	mu sync.Mutex
	// levels are sent in each session, and again when they change.
	levels  levels
	current *childSession
	silence Silence
	// pins are the last that the parent has sent.
	pins []string
	// bootstrap, reconcile and status are requests that wait; the last of each kind counts.
	bootstrap         *wire.Bootstrap
	reconcile, status bool
}

// Levels of a child, beside AgentReady and Heartbeat.
const (
	levelHealth = iota
	levelBootstrap
	levelPivot
	levelCount
)

// levels hold the last message of each level.
type levels [levelCount]*wire.FromChild

// childSession is a session on the child.
type childSession struct {
	number   int64
	ctx      context.Context
	end      context.CancelCauseFunc
	messages chan *wire.FromChild
	parts    chan *wire.Part
	// changed holds an element when a level has changed.
	changed chan struct{}
	// replying is locked while the parts of an answer are sent.
	replying sync.Mutex
}

// wake lets the writer of the session look for levels that have changed.
func (n *childSession) wake() {
	select {
	case n.changed <- struct{}{}:
	default: // It is awake.
	}
}

// operations are the requests of pivots that a child carries out, and the last that it has carried
// out. They outlive sessions.
type operations struct {
	mu   sync.Mutex
	byID map[string]*operation
	// done are the IDs of operations that are carried out, the oldest first.
	done []string
	// slot is full while an operation is being carried out.
	slot chan struct{}
}

// operation holds the answer to a request, nil until the request is carried out.
type operation struct{ answer []byte }

// NewClient returns a client.
func NewClient(o ClientOptions) (*Client, error) {
	wire.Register()
	if o.Parent == nil || o.Ready == nil || o.Handler == nil {
		return nil, errors.New("a client of the link needs Parent, Ready and Handler")
	}
	o.Watchdog = cmp.Or(o.Watchdog, 10*time.Minute)
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 50*time.Second)
	o.Good = cmp.Or(o.Good, time.Minute)
	o.Keepalive = cmp.Or(o.Keepalive, keepaliveEvery)
	return &Client{
		options:    o,
		operations: operations{byID: map[string]*operation{}, slot: make(chan struct{}, 1)},
		requests:   make(chan struct{}, 1),
		silence:    Silence{Since: time.Now(), Tried: time.Now()},
		logBegin:   rate.Sometimes{Interval: time.Minute},
		logEnd:     rate.Sometimes{Interval: time.Minute},
	}, nil
}

// watch calls Silent until ctx ends. It shares only times with the sessions, so that it works also
// if they are stuck.
func (c *Client) watch(ctx context.Context) {
	tick := time.NewTicker(max(c.options.Watchdog/20, time.Millisecond))
	defer tick.Stop()
	var called time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if silence, lasts := c.lastingSilence(called); lasts {
			called = time.Now()
			if c.options.Silent != nil {
				c.options.Silent(silence)
			}
		}
	}
}

// lastingSilence returns the silence, and reports whether it has lasted for Watchdog, and since a
// time.
func (c *Client) lastingSilence(since time.Time) (Silence, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lasts := time.Since(c.silence.Since) >= c.options.Watchdog
	due := time.Since(since) >= c.options.Watchdog
	return c.silence, c.current == nil && lasts && due
}

// Healthy returns an error if the client is stuck: it has no session, and the last attempt was as
// long ago as Watchdog. A parent that is away is no reason to restart the process, which goes on
// without it.
func (c *Client) Healthy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil || time.Since(c.silence.Tried) < c.options.Watchdog {
		return nil
	}
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	return fmt.Errorf("no session with the parent since %s, and none was tried since %s: restart the process",
		stamp(c.silence.Since), stamp(c.silence.Tried))
}

// Connected reports whether there is a session.
func (c *Client) Connected() bool { return c.session() != nil }

// Pins returns the pins of the parent's authorities, as the parent sent them last.
func (c *Client) Pins() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pins
}

// errRenewed ends a session whose certificate the child has replaced.
var errRenewed = errors.New("the certificate was renewed")

// Renewed ends the current session, so that the next one uses the new certificate.
func (c *Client) Renewed() {
	if n := c.session(); n != nil {
		n.end(errRenewed)
	}
}

// session returns the current session; nil if there is none.
func (c *Client) session() *childSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// handle calls the handler for all requests except pivots.
func (c *Client) handle(ctx context.Context) {
	for {
		// Take the requests that have come.
		select {
		case <-ctx.Done():
			return
		case <-c.requests:
		}
		c.mu.Lock()
		bootstrap, reconcile, status := c.bootstrap, c.reconcile, c.status
		c.bootstrap, c.reconcile, c.status = nil, false, false
		c.mu.Unlock()

		// Carry them out one after the other.
		if bootstrap != nil {
			c.survive("carrying out a bootstrap", func() { c.options.Handler.Bootstrap(ctx, bootstrap) })
		}
		if reconcile {
			c.survive("looking at the cluster", func() { c.options.Handler.Reconcile(ctx) })
		}
		if status {
			c.survive("reading the health of the cluster", func() {
				if health := c.options.Handler.Status(ctx); health != nil {
					c.ClusterHealth(health)
				}
			})
		}
	}
}

// survive calls f, and logs and returns its panic: a request of a parent that is not to be trusted
// must not end the process.
func (c *Client) survive(doing string, f func()) (problem any) {
	defer func() {
		problem = recover()
		if problem != nil {
			c.options.Log.Error(fmt.Errorf("panic: %v", problem), doing, "stack", string(debug.Stack()))
		}
	}()
	f()
	return nil
}

// request notes a request of the parent, and wakes handle.
func (c *Client) request(note func()) {
	c.mu.Lock()
	note()
	c.mu.Unlock()
	select {
	case c.requests <- struct{}{}:
	default: // It is awake.
	}
}

// set keeps a level, and wakes the session.
func (c *Client) set(level int, m *wire.FromChild) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.levels[level] = m
	if n := c.current; n != nil {
		n.wake()
	}
}

// ClusterHealth sends the health of the cluster, now and in each session to come.
func (c *Client) ClusterHealth(m *wire.ClusterHealth) {
	c.set(levelHealth, &wire.FromChild{Message: &wire.FromChild_ClusterHealth{ClusterHealth: m}})
}

// BootstrapComplete sends that a Bootstrap was carried out, now and in each session to come.
func (c *Client) BootstrapComplete(m *wire.BootstrapComplete) {
	c.set(levelBootstrap, &wire.FromChild{Message: &wire.FromChild_BootstrapComplete{BootstrapComplete: m}})
}

// PivotComplete sends that the cluster is in charge of itself, now and in each session to come.
func (c *Client) PivotComplete(m *wire.PivotComplete) {
	c.set(levelPivot, &wire.FromChild{Message: &wire.FromChild_PivotComplete{PivotComplete: m}})
}
