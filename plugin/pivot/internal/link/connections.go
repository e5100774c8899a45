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

// connections holds the connections of a server, by the public key of the peer. A connection is
// listed before its key is authorised, so that no connection escapes a drop.
type connections struct {
	// pending counts the connections that have not shown a certificate yet.
	pending *enrol.Shares

	mu    sync.Mutex
	byKey map[string][]*connection // the oldest first
}

func newConnections() *connections {
	return &connections{pending: enrol.NewShares(maxPending, maxPendingEach), byKey: map[string][]*connection{}}
}

// connection is a connection that a child has opened.
type connection struct {
	net.Conn
	owner *connections
	// release ends its share of the pending connections.
	release func()
	// limit bounds the rate at which messages are read.
	limit *rate.Limiter
	// tls and key are set by the handshake. The key comes from enrol.PublicKeySum.
	tls tls.ConnectionState
	key string
	// session is the session of the connection, which has one at most.
	session atomic.Pointer[session]
}

// newLimit returns the limit for the messages of a stream.
func newLimit() *rate.Limiter { return rate.NewLimiter(messageRate, messageBurst) }

// tracked is a listener that records its connections.
type tracked struct {
	net.Listener
	connections *connections
}

// listen returns a listener that records the connections of another.
func (c *connections) listen(l net.Listener) net.Listener { return tracked{l, c} }

// Accept implements [net.Listener]. It closes connections beyond the limits of pending connections:
// a client needs no certificate to open them, so they must not keep children out.
func (l tracked) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if release, ok := l.connections.pending.Take(conn.RemoteAddr()); ok {
			return &connection{Conn: conn, owner: l.connections, release: release, limit: newLimit()}, nil
		}
		_ = conn.Close() // A child tries again.
	}
}

// identify notes the key of a connection. If a key has too many connections, the oldest is cut,
// which may be half-open.
func (c *connection) identify(state tls.ConnectionState) error {
	key, err := enrol.PublicKeySum(state.PeerCertificates[0].PublicKey)
	if err != nil {
		return err
	}
	c.release()
	c.owner.mu.Lock()
	c.tls = state
	c.key = key
	conns := append(c.owner.byKey[c.key], c)
	c.owner.byKey[c.key] = conns
	c.owner.mu.Unlock()
	if len(conns) > maxPerKey {
		_ = conns[0].Close() // It is gone, or goes.
	}
	return nil
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.release()
	c.owner.mu.Lock()
	conns := slices.DeleteFunc(slices.Clone(c.owner.byKey[c.key]), func(o *connection) bool { return o == c })
	if len(conns) > 0 {
		c.owner.byKey[c.key] = conns
	} else {
		delete(c.owner.byKey, c.key)
	}
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

// drop closes the connections of a key. They are closed below TLS, which would wait for a peer
// that does not read.
func (c *connections) drop(key string) {
	c.mu.Lock()
	conns := c.byKey[key]
	c.mu.Unlock()
	for _, conn := range conns {
		if s := conn.session.Load(); s != nil {
			s.end(status.Error(codes.PermissionDenied, "the key is blocked"))
		}
		_ = conn.Close() // It is gone, or goes.
	}
}

// guard adds the connection to the identity that TLS has verified.
type guard struct {
	credentials.TransportCredentials
	refused func(peer net.Addr, err error)
}

// identity is the verified peer of a stream.
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

// identify returns the identity of the peer of a connection, and notes its key there.
func identify(raw net.Conn, info credentials.AuthInfo) (credentials.AuthInfo, error) {
	c, tracked := raw.(*connection)
	t, verified := info.(credentials.TLSInfo)
	if !tracked || !verified || len(t.State.VerifiedChains) == 0 {
		return nil, errors.New("the certificate of the client was not verified: set ClientAuth to RequireAndVerifyClientCert")
	}
	err := c.identify(t.State)
	return identity{t, c}, err
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
