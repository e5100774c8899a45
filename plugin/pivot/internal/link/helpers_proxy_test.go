// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy forwards connections, until it is told not to.
type proxy struct {
	t       testing.TB
	address string

	mu    sync.Mutex
	pipes []*pipe
	// idle, where set, is after how long without a byte a connection is cut.
	idle time.Duration
	// left, where not negative, is after how many bytes all connections are cut.
	left int
}

// pipe is a connection by way of a proxy.
type pipe struct {
	from, to net.Conn
	// held: nothing is forwarded any more, and nothing closed.
	held atomic.Bool
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{t: t, address: l.Addr().String(), left: -1}
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
	})
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			one := &pipe{from: from, to: server}
			p.mu.Lock()
			p.pipes = append(p.pipes, one)
			p.mu.Unlock()
			go p.forward(one, from, server)
			go p.forward(one, server, from)
		}
	}()
	return p
}

func (p *proxy) forward(one *pipe, from, to net.Conn) {
	buffer := make([]byte, 4<<10)
	for {
		p.mu.Lock()
		idle := p.idle
		p.mu.Unlock()
		if idle > 0 {
			_ = from.SetReadDeadline(time.Now().Add(idle))
		}
		n, err := from.Read(buffer)
		if one.held.Load() {
			if err != nil {
				return // The other end is not told.
			}
			continue // It is read, and goes nowhere.
		}
		n, last := p.budget(n)
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			_, _ = from.Close(), to.Close()
			return
		}
		if last {
			p.cut()
			return
		}
	}
}

// budget is how many of n bytes are forwarded, and whether they are the last ones.
func (p *proxy) budget(n int) (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < 0 {
		return n, false
	}
	if p.left -= n; p.left > 0 {
		return n, false
	}
	n += p.left
	p.left = -1
	return n, true
}

// cutAfter cuts all connections after a number of bytes, which is -1 for never, and returns what
// was left of the one before.
func (p *proxy) cutAfter(bytes int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.left
	p.left = bytes
	return before
}

// drops cuts connections that are idle for a time, from the next byte on.
func (p *proxy) drops(idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = idle
}

// hold forwards nothing any more on the connections that there are: they are half-open.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.pipes {
		one.held.Store(true)
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	pipes := p.pipes
	p.pipes = nil
	p.mu.Unlock()
	for _, one := range pipes {
		_, _ = one.from.Close(), one.to.Close()
	}
}
