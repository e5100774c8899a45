// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync"
	"time"
)

// flights do a thing once for all who ask for it at the same time. The zero
// value is ready.
type flights[V any] struct {
	mu   sync.Mutex
	live map[string]*flight[V]
}

// flight is one thing that is being done.
type flight[V any] struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

// patience is how long the last caller of a flight that has no use any more waits
// for it to clean up behind itself.
const patience = 3 * time.Second

// do is what f gives, which runs once for all callers of one key. A caller
// whose context ends leaves with its error, and the others stay; when the last
// has left, the context of f ends. That one waits for the end of f, within
// patience: a process that ends before it would leave behind what f has started.
func (g *flights[V]) do(ctx context.Context, key string, f func(context.Context) (V, error)) (V, error) {
	one := g.join(ctx, key, f)
	select {
	case <-one.done:
		return one.value, one.err
	case <-ctx.Done():
		if g.leave(key, one) {
			select {
			case <-one.done:
			case <-time.After(patience):
			}
		}
		var none V
		return none, ctx.Err()
	}
}

// join is the flight of key, which begins where there is none.
func (g *flights[V]) join(ctx context.Context, key string, f func(context.Context) (V, error)) *flight[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one, ok := g.live[key]; ok {
		one.waiting++
		return one
	}
	if g.live == nil {
		g.live = map[string]*flight[V]{}
	}
	// The values of the first caller's context stay, its end does not.
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one := &flight[V]{waiting: 1, cancel: cancel, done: make(chan struct{})}
	g.live[key] = one
	go func() {
		defer cancel()
		one.value, one.err = f(own)
		g.land(key, one)
	}()
	return one
}

// land ends a flight: who comes later begins another.
func (g *flights[V]) land(key string, one *flight[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live[key] == one {
		delete(g.live, key)
	}
	close(one.done)
}

// leave is a caller that waits no longer; it reports whether that was the last. A
// flight without any is no longer found, so that nobody joins one that is being
// cancelled.
func (g *flights[V]) leave(key string, one *flight[V]) (last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one.waiting--; one.waiting > 0 {
		return false
	}
	one.cancel()
	if g.live[key] == one {
		delete(g.live, key)
	}
	return true
}
