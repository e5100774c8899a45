// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flight

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// DefaultPatience is that of a Group where nobody says.
const DefaultPatience = 3 * time.Second

// Group is flights by their keys. The zero value is ready. It is safe for concurrent
// use, and must not be copied after its first.
type Group[V any] struct {
	// Patience is how long the last caller of a flight waits for it to clean up behind
	// itself when it has left: a process that ends before that would leave behind what
	// the flight has started. DefaultPatience where zero, none where negative.
	Patience time.Duration

	mu   sync.Mutex
	live map[string]*one[V]
}

// one is a flight.
type one[V any] struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

// Do is the result of work, or of the work that goes on under the same key; joined
// says that it is the latter. Joins is called then, before the wait; it may be nil.
//
// The context of the work ends when nobody waits for it any more. A caller whose own
// context ends gets its error. Work that panics gives an error.
func (g *Group[V]) Do(ctx context.Context, key string, work func(ctx context.Context) (V, error), joins func()) (value V, joined bool, err error) {
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

// Waiting is how many callers wait for flights.
func (g *Group[V]) Waiting() (callers int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.live {
		callers += f.waiting
	}
	return callers
}

// join is the flight of key, which begins where there is none.
func (g *Group[V]) join(ctx context.Context, key string, work func(context.Context) (V, error)) (f *one[V], joined bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f, joined = g.live[key]; joined {
		f.waiting++
		return f, true
	}
	if g.live == nil {
		g.live = map[string]*one[V]{}
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f = &one[V]{waiting: 1, cancel: cancel, done: make(chan struct{})}
	g.live[key] = f
	go func() {
		defer cancel()
		defer g.land(key, f)
		f.value, f.err = work(own)
	}()
	return f, false
}

// land ends a flight, also one that panics: who comes later begins another.
func (g *Group[V]) land(key string, f *one[V]) {
	if p := recover(); p != nil {
		f.err = fmt.Errorf("ropewalk panicked, please report it: %v\n%s", p, debug.Stack())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live[key] == f {
		delete(g.live, key)
	}
	close(f.done)
}

// leave is a caller that waits no longer; it reports whether that was the last. A
// flight without any is no longer found, so that nobody joins one that is being
// cancelled.
func (g *Group[V]) leave(key string, f *one[V]) (last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return false
	}
	f.cancel()
	if g.live[key] == f {
		delete(g.live, key)
	}
	return true
}
