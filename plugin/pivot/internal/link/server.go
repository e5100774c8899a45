// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// Server is the parent's end of the link. Children of all clusters share it.
type Server struct {
	options     ServerOptions
	connections *connections
	admitting   chan struct{}
	lines       *rate.Limiter

	mu       sync.Mutex
	children map[string]*child
}

// NewServer returns a server.
func NewServer(o ServerOptions) (*Server, error) {
	wire.Register()
	if o.TLS == nil || o.Authorize == nil || o.Session == nil {
		return nil, errors.New("a server of the link needs TLS, Authorize and Session")
	}
	if o.Pins == nil {
		o.Pins = func() []string { return nil }
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.Lost = cmp.Or(o.Lost, time.Minute)
	o.Patience = cmp.Or(o.Patience, 90*time.Second)
	o.Answer = cmp.Or(o.Answer, 15*time.Minute)
	o.Connections = cmp.Or(o.Connections, 4096)
	return &Server{
		options:     o,
		connections: newConnections(),
		admitting:   make(chan struct{}, admittedAtOnce),
		lines:       rate.NewLimiter(linesRate, linesBurst),
		children:    map[string]*child{},
	}, nil
}

// child returns the server's state of a cluster. It makes an entry if there is none, because a call
// may wait for the first session.
func (s *Server) child(cluster string) *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.children[cluster]
	if c == nil {
		c = &child{
			options:  &s.options,
			cluster:  cluster,
			calling:  make(chan struct{}, 1),
			sessions: rate.NewLimiter(sessionRate, sessionBurst),
			changed:  make(chan struct{}),
		}
		s.children[cluster] = c
	}
	return c
}

// allChildren returns the children.
func (s *Server) allChildren() []*child {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*child, 0, len(s.children))
	for _, c := range s.children {
		out = append(out, c)
	}
	return out
}

// Connected reports whether a child has a session.
func (s *Server) Connected(cluster string) bool { return s.child(cluster).current() != nil }

// Drop closes the connections of a public key at once. The key is given as enrol.PublicKeySum
// returns it. Authorize has to refuse it from then on.
func (s *Server) Drop(publicKeySum string) { s.connections.drop(publicKeySum) }

// Bootstrap sends the first objects of a cluster. It returns ErrAway if the child has no session.
// The answer is the event BootstrapComplete.
func (s *Server) Bootstrap(ctx context.Context, cluster string, m *wire.Bootstrap) error {
	return s.child(cluster).send(ctx, &wire.FromParent{Message: &wire.FromParent_Bootstrap{Bootstrap: m}})
}

// Reconcile asks a child to reconcile its PivotCluster and its certificate. It returns ErrAway if
// the child has no session.
func (s *Server) Reconcile(ctx context.Context, cluster string) error {
	reconcile := &wire.Reconcile{Pins: s.options.Pins()}
	return s.child(cluster).send(ctx, &wire.FromParent{Message: &wire.FromParent_Reconcile{Reconcile: reconcile}})
}

// StatusRequest asks a child for ClusterHealth. It returns ErrAway if the child has no session.
func (s *Server) StatusRequest(ctx context.Context, cluster string) error {
	request := &wire.StatusRequest{}
	return s.child(cluster).send(ctx, &wire.FromParent{Message: &wire.FromParent_StatusRequest{StatusRequest: request}})
}
