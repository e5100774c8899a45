// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"net"
	"net/netip"
	"sync"
)

// Shares are how many connections clients have at once, by address (IPv6: by /64), so that one
// address cannot take all that others need. The zero value is not good.
type Shares struct {
	all, each int

	mu    sync.Mutex
	total int
	by    map[netip.Prefix]int
}

// NewShares returns shares for a number of connections in all, and of each address.
func NewShares(all, each int) *Shares {
	return &Shares{all: all, each: each, by: map[netip.Prefix]int{}}
}

// Take takes a share for a client, and returns false if there is none. The share ends with the
// first call of release.
func (s *Shares) Take(client net.Addr) (release func(), ok bool) {
	from := network(client.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.all || s.by[from] >= s.each {
		return nil, false
	}
	s.total++
	s.by[from]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		s.by[from]--
		if s.by[from] == 0 {
			delete(s.by, from)
		}
	}), true
}

// shared is a listener that closes connections which have no share. They have one until they
// are closed.
type shared struct {
	net.Listener
	shares *Shares
}

// Accept implements [net.Listener].
func (l shared) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if release, ok := l.shares.Take(c.RemoteAddr()); ok {
			return sharing{c, release}, nil
		}
		_ = c.Close() // The client tries again.
	}
}

// sharing is a connection that has a share.
type sharing struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c sharing) Close() error {
	c.release()
	return c.Conn.Close()
}

// network returns the address of a client, or its /64 for IPv6.
func network(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip := at.Addr().Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
