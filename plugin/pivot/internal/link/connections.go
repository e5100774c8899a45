// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

// connections are those of a server, by the public key of the peer. One is known before its
// key is authorised, so that none escapes a drop.
type connections struct {
	// pending are those that have not shown a certificate yet.
	pending *enrol.Shares

	mu    sync.Mutex
	byKey map[string][]*connection // the oldest first
}

func newConnections() *connections {
	return &connections{pending: enrol.NewShares(maxPending, maxPendingEach), byKey: map[string][]*connection{}}
}

// connection is one of a child.
type connection struct {
	net.Conn
	all *connections
	// known ends its share of those that are pending.
	known func()
	// limit is the rate at which messages are read.
	limit *rate.Limiter
	// tls and key are set by the handshake. The key is as enrol.PublicKeySum has it.
	tls tls.ConnectionState
	key string
	// session is the one that was begun on it; there is one at most.
	session atomic.Pointer[session]
}

func newLimit() *rate.Limiter { return rate.NewLimiter(messageRate, messageBurst) }

// tracked is a listener of connections.
type tracked struct {
	net.Listener
	all *connections
}

func (c *connections) listen(l net.Listener) net.Listener { return tracked{l, c} }

// Accept implements [net.Listener]. It closes connections beyond the limits of those that are
// pending: a client needs no certificate to open them, so they must not keep children out.
func (l tracked) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if known, ok := l.all.pending.Take(c.RemoteAddr()); ok {
			return &connection{Conn: c, all: l.all, known: known, limit: newLimit()}, nil
		}
		_ = c.Close() // A child tries again.
	}
}

// identify notes the key of a connection. If one key has too many connections, the oldest is cut:
// the other ones may be half-open.
func (c *connection) identify(state tls.ConnectionState) error {
	key, err := enrol.PublicKeySum(state.PeerCertificates[0].PublicKey)
	if err != nil {
		return err
	}
	c.known()
	c.all.mu.Lock()
	c.tls = state
	c.key = key
	same := append(c.all.byKey[c.key], c)
	c.all.byKey[c.key] = same
	c.all.mu.Unlock()
	if len(same) > maxPerKey {
		_ = same[0].Close() // It is gone, or goes.
	}
	return nil
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.known()
	c.all.mu.Lock()
	if same := slices.DeleteFunc(slices.Clone(c.all.byKey[c.key]), func(o *connection) bool { return o == c }); len(same) > 0 {
		c.all.byKey[c.key] = same
	} else {
		delete(c.all.byKey, c.key)
	}
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// drop closes the connections of a key. They are closed below TLS, which would wait for a peer
// that does not read.
func (c *connections) drop(key string) {
	c.mu.Lock()
	same := c.byKey[key]
	c.mu.Unlock()
	for _, one := range same {
		if s := one.session.Load(); s != nil {
			s.end(status.Error(codes.PermissionDenied, "the key is blocked"))
		}
		_ = one.Close() // It is gone, or goes.
	}
}

// guard is TLS that ties a stream to its connection.
type guard struct {
	credentials.TransportCredentials
	refused func(peer net.Addr, err error)
}

// identity is what a stream knows of its peer.
type identity struct {
	credentials.TLSInfo
	connection *connection
}

// ServerHandshake implements [credentials.TransportCredentials].
func (g guard) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := g.TransportCredentials.ServerHandshake(raw)
	if err == nil {
		info, err = identify(raw, info)
		if err != nil {
			_ = conn.Close() // It is of no use to any peer.
		}
	}
	if err != nil {
		g.refused(raw.RemoteAddr(), err)
		return nil, nil, err
	}
	return conn, info, nil
}

func identify(raw net.Conn, info credentials.AuthInfo) (credentials.AuthInfo, error) {
	c, tracked := raw.(*connection)
	t, verified := info.(credentials.TLSInfo)
	if !tracked || !verified || len(t.State.VerifiedChains) == 0 {
		return nil, errors.New("the certificate of the client was not verified: set ClientAuth to RequireAndVerifyClientCert")
	}
	return identity{t, c}, c.identify(t.State)
}

// Clone implements [credentials.TransportCredentials].
func (g guard) Clone() credentials.TransportCredentials {
	return guard{g.TransportCredentials.Clone(), g.refused}
}

// connectionOf returns the connection of a stream.
func connectionOf(ctx context.Context) (*connection, error) {
	if p, ok := peer.FromContext(ctx); ok {
		if id, ok := p.AuthInfo.(identity); ok {
			return id.connection, nil
		}
	}
	return nil, status.Error(codes.Unauthenticated, "no certificate")
}
