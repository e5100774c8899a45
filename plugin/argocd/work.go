// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"sync"
	"time"
)

// stuck bounds the time for which work outlives its request, or its deadline, before the server is
// no longer live: nothing but its end releases the memory and the slot that it holds.
const stuck = time.Minute

// works is the work of requests that runs, each with the time when its context ended, the
// zero time before. It is safe for concurrent use.
type works struct {
	mutex   sync.Mutex
	running map[*time.Time]struct{}
}

// begin records work until the caller calls ended. What still runs then is abandoned: the client
// has left, or the deadline has passed.
func (w *works) begin(ctx context.Context) (ended func()) {
	deadline := &time.Time{}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.running == nil {
		w.running = map[*time.Time]struct{}{}
	}
	w.running[deadline] = struct{}{}
	stop := context.AfterFunc(ctx, func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		*deadline = time.Now()
	})
	return func() {
		stop()
		w.mutex.Lock()
		defer w.mutex.Unlock()
		delete(w.running, deadline)
	}
}

// abandoned returns how much work has outlived its context by more than a while.
func (w *works) abandoned(by time.Duration) (n int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for over := range w.running {
		if !over.IsZero() && time.Since(*over) >= by {
			n++
		}
	}
	return n
}
