// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"net"
	"net/netip"
	"sync"
)

// Shares count the open connections of clients, by address (IPv6: by /64), so that no address can
// take the connections that others need. NewShares makes them.
type Shares struct {
	limit, limitEach int

	mu        sync.Mutex
	total     int
	byAddress map[netip.Prefix]int
}

// NewShares returns shares with a bound for all connections, and for each address.
func NewShares(all, each int) *Shares {
	return &Shares{limit: all, limitEach: each, byAddress: map[netip.Prefix]int{}}
}

// Take takes a share for a client, and reports whether there was a free share. The share ends with
// the first call of release.
func (s *Shares) Take(client net.Addr) (release func(), ok bool) {
	address := network(client.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.limit || s.byAddress[address] >= s.limitEach {
		return nil, false
	}
	s.total++
	s.byAddress[address]++
	release = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		s.byAddress[address]--
		if s.byAddress[address] == 0 {
			delete(s.byAddress, address)
		}
	})
	return release, true
}

// shared is a listener that closes connections which get no share. The others keep their share
// until they are closed.
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
	addrPort, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip := addrPort.Addr().Unmap()
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
