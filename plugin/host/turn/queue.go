// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"
)

// ErrFull says that as many requests wait as may.
var ErrFull = errors.New("too many requests wait")

// ErrShare says that as many requests of one application wait as may. It is ErrFull
// too.
var ErrShare error = shareError{}

// shareError is a type of its own: text that is put together costs each start of the
// program.
type shareError struct{}

func (shareError) Error() string { return "too many requests of this application: " + ErrFull.Error() }

func (shareError) Unwrap() error { return ErrFull }

// Name is whose turn it is: a tenant, and an application of theirs.
type Name struct{ Tenant, App string }

// Queue bounds what goes on at once. It is safe for concurrent use.
type Queue struct {
	size, room int
	// share is how many places, and shareRoom how much room, one application has, and
	// tenantShare how many places one tenant has.
	share, shareRoom, tenantShare int
	// yields says that places are taken back of who can give them, see [NewYielding].
	yields bool

	mu      sync.Mutex
	holders map[*place]struct{}
	waiting int
	// tenants are those with somebody waiting, in the order of their turns, and apps
	// the same for each of them.
	tenants []string
	apps    map[string][]string
	lines   map[Name][]*waiter
	// hadLong are the tenants that had a place for long work, the latest one last.
	hadLong []string
	looking bool
}

// place is held.
type place struct {
	name  Name
	since time.Time
	// isLong says that it is one of those for long work, which are not taken back.
	isLong bool
	task   *Task
	// yield ends what goes on in the place; nil where it cannot be taken back, or has
	// been already.
	yield func()
}

// waiter waits for a place.
type waiter struct {
	name    Name
	task    *Task
	again   bool // it has given a place away
	since   time.Time
	yield   func()
	granted chan *place
}

// isLong reports whether a waiter is for one of the places for long work. It may change
// while it waits; the lock is held.
func (w *waiter) isLong() bool { return w.again || w.task.isLong }

// NewQueue is a queue for size requests at once, while at most room wait. One
// application gets half of either at most, and one of each in any case: who holds all
// places would hold up everybody else for as long as its requests take. One tenant
// leaves a quarter of the places to others.
func NewQueue(size, room int) *Queue {
	return &Queue{
		size: size, room: room, share: (size + 1) / 2, shareRoom: (room + 1) / 2, tenantShare: max((size+1)/2, size-max(1, size/4)),
		holders: map[*place]struct{}{}, apps: map[string][]string{}, lines: map[Name][]*waiter{},
	}
}

// NewYielding is a queue for size tasks at once in which everybody may hold all
// places while nobody else waits, because they can be taken back: see [Queue.Run].
// The room to wait is not bounded.
func NewYielding(size int) *Queue {
	q := NewQueue(size, math.MaxInt)
	q.share, q.shareRoom, q.tenantShare, q.yields = size, math.MaxInt, size, true
	return q
}

// Wait returns when it is the turn of a request. Who got no error calls done once.
// Errors are ErrFull and that of ctx.
func (q *Queue) Wait(ctx context.Context, name Name) (done func(), err error) {
	return q.wait(ctx, &waiter{name: name, task: &Task{}})
}

func (q *Queue) wait(ctx context.Context, mine *waiter) (done func(), err error) {
	name := mine.name
	q.mu.Lock()
	if q.mayHold(mine) {
		p := q.take(mine)
		q.mu.Unlock()
		return q.done(p), nil
	}
	switch {
	case q.waiting >= q.room:
		err = ErrFull
	case len(q.lines[name]) >= q.shareRoom:
		err = ErrShare
	}
	if err != nil {
		q.mu.Unlock()
		return nil, err
	}
	mine.since, mine.granted = time.Now(), make(chan *place, 1)
	if len(q.apps[name.Tenant]) == 0 {
		q.tenants = append(q.tenants, name.Tenant)
	}
	if len(q.lines[name]) == 0 {
		q.apps[name.Tenant] = append(q.apps[name.Tenant], name.App)
	}
	q.lines[name] = append(q.lines[name], mine)
	q.waiting++
	q.look()
	q.mu.Unlock()
	select {
	case p := <-mine.granted:
		return q.done(p), nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	if at := slices.Index(q.lines[name], mine); at >= 0 {
		q.remove(name, at)
		q.mu.Unlock()
		return nil, ctx.Err()
	}
	q.mu.Unlock()
	q.done(<-mine.granted)() // Its turn came in the same moment.
	return nil, ctx.Err()
}

func (q *Queue) done(p *place) func() { return sync.OnceFunc(func() { q.leavePlace(p) }) }

// mayHold reports whether a waiter may have a place now; the lock is held.
func (q *Queue) mayHold(w *waiter) bool {
	app, tenant, long := 0, 0, 0
	for p := range q.holders {
		if p.name.Tenant == w.name.Tenant {
			tenant++
		}
		if p.name == w.name {
			app++
		}
		// What has gone on for that long may be about to give its place away.
		if p.isLong || time.Since(p.since) >= Patience {
			long++
		}
	}
	return len(q.holders) < q.size && app < q.share && tenant < q.tenantShare && (!w.isLong() || long < q.longShare())
}

// take gives a place; the lock is held.
func (q *Queue) take(w *waiter) *place {
	p := &place{name: w.name, since: time.Now(), isLong: w.isLong(), task: w.task, yield: w.yield}
	q.holders[p] = struct{}{}
	if p.isLong {
		q.hadLong = append(without(q.hadLong, w.name.Tenant), w.name.Tenant)
		q.hadLong = q.hadLong[max(0, len(q.hadLong)-maxHadLong):]
	}
	return p
}

// remove takes one that waits out of its line; the lock is held.
func (q *Queue) remove(name Name, at int) {
	q.waiting--
	if q.lines[name] = slices.Delete(q.lines[name], at, at+1); len(q.lines[name]) > 0 {
		return
	}
	delete(q.lines, name)
	if q.apps[name.Tenant] = without(q.apps[name.Tenant], name.App); len(q.apps[name.Tenant]) == 0 {
		delete(q.apps, name.Tenant)
		q.tenants = without(q.tenants, name.Tenant)
	}
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}

// leavePlace takes a place away, and gives it to who comes next.
func (q *Queue) leavePlace(p *place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.holders, p)
	// A place that was given away is for who waits and is not long: it was taken for them.
	taken := p.yield == nil
	// Those who wait because of their share leave places free.
	for len(q.holders) < q.size && (taken && q.next(nil) || !taken && q.nextYoung() || q.next(q.nextLong())) {
		taken = false
	}
}

// nextYoung gives a place to work that was ended before it went on for Patience, if it
// comes next among the long ones and may have one; the lock is held.
func (q *Queue) nextYoung() bool {
	long := q.nextLong()
	if long == nil || long.task.ran >= Patience || !q.mayHold(long) {
		return false
	}
	q.grant(long)
	return true
}

// next gives a place to the first in turn who may have one more, if there is any: long
// is the one of the long ones that may. The lock is held.
func (q *Queue) next(long *waiter) bool {
	for _, tenant := range q.tenants {
		for _, app := range q.apps[tenant] {
			name := Name{tenant, app}
			at := slices.IndexFunc(q.lines[name], func(w *waiter) bool {
				return (!w.isLong() || w == long) && q.mayHold(w)
			})
			if at >= 0 {
				q.grant(q.lines[name][at])
				return true
			}
		}
	}
	return false
}

// grant gives a place to one that waits; the lock is held.
func (q *Queue) grant(w *waiter) {
	tenant, app := w.name.Tenant, w.name.App
	q.remove(w.name, slices.Index(q.lines[w.name], w))
	// Who has had a turn comes last.
	if q.apps[tenant] != nil {
		q.tenants = append(without(q.tenants, tenant), tenant)
	}
	if q.lines[w.name] != nil {
		q.apps[tenant] = append(without(q.apps[tenant], app), app)
	}
	w.granted <- q.take(w)
}

// Length is how many requests are worked on, and how many wait.
func (q *Queue) Length() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.holders), q.waiting
}
