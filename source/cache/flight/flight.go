// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flight

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/internal/crash"
)

// DefaultPatience is the default of Group.Patience.
const DefaultPatience = 3 * time.Second

// Group is flights by their keys. The zero value is ready. It is safe for concurrent
// use, and must not be copied after its first.
type Group[V any] struct {
	// Patience limits the time that the last caller waits for the cancelled work to clean up, so
	// that what it has started does not outlive the process. DefaultPatience if zero, no wait if
	// negative.
	Patience time.Duration

	mu   sync.Mutex
	live map[string]*flight[V]
}

// flight is one run of work, which its callers share.
type flight[V any] struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

// Do returns the result of work, or the result of the work that already runs under the same
// key; joined reports the latter. In that case joins is called before the wait; it may be
// nil.
//
// The context of the work ends when its last caller has left. A caller whose own context ends
// returns its error. A panic of the work is returned as an error.
func (g *Group[V]) Do(
	ctx context.Context, key string, work func(ctx context.Context) (V, error), joins func(),
) (value V, joined bool, err error) {
	f, joined := g.join(ctx, key, work)
	if joined && joins != nil {
		joins()
	}
	select {
	case <-f.done:
		return f.value, joined, f.err
	case <-ctx.Done():
	}
	if g.leave(key, f) && g.Patience >= 0 {
		select {
		case <-f.done:
		case <-time.After(cmp.Or(g.Patience, DefaultPatience)):
		}
	}
	return value, joined, ctx.Err()
}

// Waiting returns how many callers wait for flights.
func (g *Group[V]) Waiting() (callers int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.live {
		callers += f.waiting
	}
	return callers
}

// join returns the flight of key, and begins it if there is none.
func (g *Group[V]) join(ctx context.Context, key string, work func(context.Context) (V, error)) (f *flight[V], joined bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, joined = g.live[key]
	if joined {
		f.waiting++
		return f, true
	}
	if g.live == nil {
		g.live = map[string]*flight[V]{}
	}
	workCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f = &flight[V]{waiting: 1, cancel: cancel, done: make(chan struct{})}
	g.live[key] = f
	go func() {
		defer cancel()
		defer g.land(key, f)
		f.value, f.err = work(workCtx)
	}()
	return f, false
}

// land ends a flight, also one that panics. A later caller begins another.
func (g *Group[V]) land(key string, f *flight[V]) {
	if p := recover(); p != nil {
		f.err = crash.Of(p)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live[key] == f {
		delete(g.live, key)
	}
	close(f.done)
}

// leave removes a caller, and reports whether it was the last. If it was, the flight is
// cancelled and no longer joined.
func (g *Group[V]) leave(key string, f *flight[V]) (last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return false
	}
	f.cancel()
	if g.live[key] == f {
		delete(g.live, key)
	}
	return true
}
