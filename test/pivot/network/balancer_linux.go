// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Balancer is a load balancer of TCP that drops connections on which nothing was sent for a
// time.
type Balancer struct {
	// Idle is that time.
	Idle time.Duration
	// Forget drops without closing: both ends keep a connection on which nothing arrives.
	Forget bool

	dropped atomic.Int64
	mu      sync.Mutex
	last    time.Time
}

// Serve accepts connections at an address of a namespace, and forwards them to another one
// there.
func (b *Balancer) Serve(t testing.TB, n *Namespace, at, to string) {
	t.Helper()
	l := n.Listen(t, at)
	go serve(l, func(child net.Conn) {
		parent, err := n.Dial(t.Context(), "tcp", to)
		if err != nil {
			_ = child.Close() // nothing listens there
			return
		}
		t.Cleanup(func() { _ = parent.Close(); _ = child.Close() }) // those that were forgotten
		var gone atomic.Bool
		timer := time.AfterFunc(b.Idle, func() {
			gone.Store(true)
			b.drop()
			if !b.Forget {
				_ = parent.Close()
				_ = child.Close()
			}
		})
		go b.carry(parent, child, timer, &gone)
		b.carry(child, parent, timer, &gone)
	})
}

// Dropped is how many connections were dropped, and when the last one was.
func (b *Balancer) Dropped() (count int64, last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped.Load(), b.last
}

func (b *Balancer) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropped.Add(1)
	b.last = time.Now()
}

// carry copies until an end is closed. What comes for a connection that is forgotten is read,
// and goes nowhere: the closing of an end too.
func (b *Balancer) carry(to, from net.Conn, timer *time.Timer, gone *atomic.Bool) {
	data := make([]byte, 32<<10)
	for {
		n, err := from.Read(data)
		if gone.Load() && b.Forget {
			if err != nil {
				return
			}
			continue
		}
		if err == nil {
			timer.Reset(b.Idle)
			_, err = to.Write(data[:n])
		}
		if err != nil {
			timer.Stop()
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}
