// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package limiter bounds how many requests of several tenants are worked on at once,
// fairly: there is a queue for each tenant, and tenants take slots in rotation.
//
// # Invariants
//
// A tenant uses all slots only while no other tenant has sent a request for
// [Alone]; otherwise at most half of them (at least one). So a tenant whose requests
// run into their deadlines delays the requests of others once, and by one deadline at
// most. Requests of one tenant are admitted in their order. A slot is never taken
// back: what runs has a deadline of its own (the worker's, the fetch's).
//
// The queues are bounded by Options.Queue together, and one tenant uses half of that
// at most. A request that holds more memory than others takes several places in them.
package limiter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Alone is the time without a request of other tenants after which a tenant may use more than half
// of the slots.
const Alone = 5 * time.Minute

// ErrQueueFull is returned when a queue is full. Retrying later helps.
var ErrQueueFull = errors.New("too many requests are waiting")

// Options are the bounds of a Limiter.
type Options struct {
	// Slots limits the requests that run at once; 1 if it is less.
	Slots int
	// Queue limits the places of requests that wait; 0 means no bound.
	Queue int
}

// Limiter grants slots. It is safe for concurrent use.
type Limiter struct {
	opts Options

	mu      sync.Mutex
	running map[string]int
	total   int
	queues  map[string][]waiter
	order   []string             // the tenants that wait, in rotation
	seen    map[string]time.Time // the last request of each tenant
}

// waiter is a request that waits, and how many places of the queue it takes.
type waiter struct {
	granted chan struct{}
	places  int
}

// Stats count the requests that run and wait now.
type Stats struct{ Running, Waiting int }

// New returns a limiter.
func New(opts Options) *Limiter {
	opts.Slots = max(1, opts.Slots)
	return &Limiter{opts: opts, running: map[string]int{}, queues: map[string][]waiter{}, seen: map[string]time.Time{}}
}

// Acquire returns when the request of a tenant may run. The caller calls release once it has ended;
// further calls do nothing. The error is ErrQueueFull, or the error of ctx with the reason for the
// wait.
func (l *Limiter) Acquire(ctx context.Context, tenant string) (release func(), err error) {
	return l.AcquireLarge(ctx, tenant, 1)
}

// AcquireLarge works as Acquire does, for a request that takes several places of the queue
// while it waits.
func (l *Limiter) AcquireLarge(ctx context.Context, tenant string, places int) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.noteRequest(tenant)
	if len(l.queues[tenant]) == 0 && l.admits(tenant) {
		l.take(tenant)
		l.mu.Unlock()
		return l.release(tenant), nil
	}
	if err := l.checkQueue(tenant, places); err != nil {
		l.mu.Unlock()
		return nil, err
	}

	// A tenant that has requests in the queue has a place in the order of tenants already.
	granted := make(chan struct{})
	if len(l.queues[tenant]) == 0 {
		l.order = append(l.order, tenant)
	}
	l.queues[tenant] = append(l.queues[tenant], waiter{granted, places})
	l.mu.Unlock()
	select {
	case <-granted:
		return l.release(tenant), nil
	case <-ctx.Done():
		return nil, l.cancel(ctx, tenant, granted)
	}
}

// checkQueue returns ErrQueueFull if so many more places of a tenant do not fit; the lock is
// held.
func (l *Limiter) checkQueue(tenant string, places int) error {
	total := 0
	for _, queue := range l.queues {
		total += taken(queue)
	}
	switch waiting := taken(l.queues[tenant]); {
	case l.opts.Queue == 0:
		return nil
	case total+places > l.opts.Queue:
		return fmt.Errorf("%w: %d of %d", ErrQueueFull, total, l.opts.Queue)
	case waiting+places > half(l.opts.Queue):
		return fmt.Errorf("%w: %d of %q", ErrQueueFull, waiting, tenant)
	}
	return nil
}

// taken returns how many places the requests of a queue take.
func taken(queue []waiter) (places int) {
	for _, w := range queue {
		places += w.places
	}
	return places
}

// cancel takes a request out of its queue, or returns the slot that it was granted
// in the same moment.
func (l *Limiter) cancel(ctx context.Context, tenant string, granted chan struct{}) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.queues[tenant], func(w waiter) bool { return w.granted == granted })
	if at < 0 {
		l.give(tenant)
		return ctx.Err()
	}
	l.dequeue(tenant, at)
	return fmt.Errorf("waiting for a free slot: %q uses %d of %d: %w", tenant, l.running[tenant], l.opts.Slots, ctx.Err())
}

// noteRequest notes a request of a tenant, and forgets those that are idle; the lock is held.
func (l *Limiter) noteRequest(tenant string) {
	maps.DeleteFunc(l.seen, func(other string, _ time.Time) bool { return l.idle(other) })
	l.seen[tenant] = time.Now()
}

// idle reports whether a tenant has no request, and has sent none for a while; the lock
// is held.
func (l *Limiter) idle(tenant string) bool {
	return l.running[tenant] == 0 && len(l.queues[tenant]) == 0 && time.Since(l.seen[tenant]) >= Alone
}

// admits reports whether a tenant may have one more slot; the lock is held.
func (l *Limiter) admits(tenant string) bool {
	if l.total >= l.opts.Slots {
		return false
	}
	return l.running[tenant] < half(l.opts.Slots) || l.alone(tenant)
}

// alone reports whether no other tenant has sent a request for as long as [Alone]; the lock
// is held.
func (l *Limiter) alone(tenant string) bool {
	for other := range l.seen {
		if other != tenant && !l.idle(other) {
			return false
		}
	}
	return true
}

func half(n int) int { return (n + 1) / 2 }

// take gives a tenant a slot; the lock is held.
func (l *Limiter) take(tenant string) {
	l.running[tenant]++
	l.total++
}

func (l *Limiter) release(tenant string) func() {
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.give(tenant)
	})
}

// give returns a slot, and grants the free ones to the tenants in rotation; the lock
// is held.
func (l *Limiter) give(tenant string) {
	l.total--
	l.running[tenant]--
	if l.running[tenant] == 0 {
		delete(l.running, tenant)
	}
	for i := 0; i < len(l.order); {
		next := l.order[i]
		if !l.admits(next) {
			i++
			continue
		}
		granted := l.queues[next][0].granted
		l.dequeue(next, 0)
		if at := slices.Index(l.order, next); at >= 0 {
			l.order = append(slices.Delete(l.order, at, at+1), next)
		}
		l.take(next)
		close(granted)
		i = 0
	}
}

// dequeue removes one request; the lock is held.
func (l *Limiter) dequeue(tenant string, i int) {
	l.queues[tenant] = slices.Delete(l.queues[tenant], i, i+1)
	if len(l.queues[tenant]) > 0 {
		return
	}
	delete(l.queues, tenant)
	l.order = slices.DeleteFunc(l.order, func(t string) bool { return t == tenant })
}

// Running returns how many slots a tenant uses.
func (l *Limiter) Running(tenant string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[tenant]
}

// Stats returns how many requests run and wait.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Stats{Running: l.total}
	for _, queue := range l.queues {
		out.Waiting += len(queue)
	}
	return out
}
