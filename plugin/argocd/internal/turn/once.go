// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// Once does work that several ask for at the same time once. The zero value is
// ready. It is safe for concurrent use.
type Once[V any] struct {
	mu    sync.Mutex
	calls map[string]*call[V]
}

// call is work that goes on.
type call[V any] struct {
	asking int
	cancel context.CancelFunc
	done   chan struct{}
	value  V
	err    error
}

// Do is the result of work, or of the work that goes on under the same key; joined
// says which, and joins is called at once where it is the latter. The context of the work ends when nobody waits for it any more. Who
// waits with a deadline gets its error when that has passed.
func (o *Once[V]) Do(ctx context.Context, key string, work func(ctx context.Context) (V, error), joins func()) (value V, joined bool, err error) {
	o.mu.Lock()
	c, joined := o.calls[key]
	if !joined {
		c = o.begin(ctx, key, work)
	}
	c.asking++
	o.mu.Unlock()
	if joined {
		joins()
	}
	select {
	case <-c.done:
		return c.value, joined, c.err
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.asking--; c.asking == 0 {
		c.cancel()
		// Who asks now must not get the end of this one.
		if o.calls[key] == c {
			delete(o.calls, key)
		}
	}
	return value, joined, ctx.Err()
}

// begin starts work; the lock is held.
func (o *Once[V]) begin(ctx context.Context, key string, work func(ctx context.Context) (V, error)) *call[V] {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &call[V]{cancel: cancel, done: make(chan struct{})}
	if o.calls == nil {
		o.calls = map[string]*call[V]{}
	}
	o.calls[key] = c
	go func() {
		defer cancel()
		// One request must not end the process for all others.
		defer func() {
			if p := recover(); p != nil {
				c.err = fmt.Errorf("ropewalk panicked, please report it: %v\n%s", p, debug.Stack())
			}
			o.mu.Lock()
			if o.calls[key] == c {
				delete(o.calls, key)
			}
			o.mu.Unlock()
			close(c.done)
		}()
		c.value, c.err = work(ctx)
	}()
	return c
}
