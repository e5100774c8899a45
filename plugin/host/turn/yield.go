// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// Times of a yielding queue.
const (
	// Patience is how long work goes on before it is long: others that wait then come
	// first.
	Patience = time.Second
	// sharing is the same where one tenant holds all places and another one waits.
	sharing = 250 * time.Millisecond
	// looking is how often it is looked for such work while somebody waits.
	looking = 50 * time.Millisecond
)

// maxHadLong is of how many tenants it is known that they had a place for long work.
const maxHadLong = 256

// errYield is why work ended that gave its place away.
var errYield = errors.New("gave its place away")

// Task is what several runs have in common: one that had to give a place away is
// long, and so are all that follow, until work that was begun again ends within Patience.
// The zero value is one that is not.
type Task struct {
	// Ended is called when work has given its place away, before it waits for another
	// one; nil tells nobody.
	Ended func()

	// The rest belongs to the lock of the queue. Work that was ended went on for as long
	// as ran.
	isLong bool
	ran    time.Duration
}

// longShare is how many places long tasks hold at most: half of them, and one in any
// case.
func (q *Queue) longShare() int { return max(1, q.size/2) }

// Run runs work in a place. Where all places are held, and more than half of them by work
// that goes on for longer than Patience, or all by that of one tenant while another one
// waits, the youngest of it ends, and runs again from its beginning when its turn comes. It
// never has to give its place away twice, but is one of the long ones then, which hold half
// of the places at most. So whoever runs for ever holds up nobody else for ever, and work
// that is only slow is begun twice at most.
//
// Among the long ones that wait, that of the tenant comes first who had no place for one
// for the longest time, then the one that went on for the shortest time. What was ended
// before it went on for Patience waits for no others: it may well be quick.
//
// Work ends early when its context does. A task is for one queue only. Errors are
// those of work and of ctx.
func (q *Queue) Run(ctx context.Context, name Name, task *Task, work func(ctx context.Context) error) error {
	for again := false; ; again = true {
		inner, end := context.WithCancelCause(ctx)
		done, err := q.wait(ctx, &waiter{name: name, task: task, again: again, yield: func() { end(errYield) }})
		if err != nil {
			end(nil)
			return err
		}
		began := time.Now()
		err = in(inner, done, work)
		yielded := errors.Is(context.Cause(inner), errYield)
		end(nil)
		if err == nil || !yielded || ctx.Err() != nil {
			if again && time.Since(began) < Patience {
				q.acquit(task)
			}
			return err
		}
		if task.Ended != nil {
			task.Ended()
		}
	}
}

// in runs work in a place, which is free afterwards, even where work panics.
func in(ctx context.Context, done func(), work func(ctx context.Context) error) error {
	defer done()
	return work(ctx)
}

// acquit says of a task that it is not long after all.
func (q *Queue) acquit(task *Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	task.isLong, task.ran = false, 0
}

// nextLong is who of the long ones that wait comes next; nil where none waits. The lock
// is held.
func (q *Queue) nextLong() (first *waiter) {
	if !q.yields {
		return nil
	}
	var had int
	for _, tenant := range q.tenants {
		at := slices.Index(q.hadLong, tenant)
		for _, app := range q.apps[tenant] {
			for _, w := range q.lines[Name{tenant, app}] {
				if w.isLong() && (first == nil || cmp.Or(cmp.Compare(at, had), cmp.Compare(w.task.ran, first.task.ran)) < 0) {
					first, had = w, at
				}
			}
		}
	}
	return first
}

// look looks at who holds places, now and for as long as somebody waits; the lock is
// held.
func (q *Queue) look() {
	if !q.yields || q.looking {
		return
	}
	q.takeBack(time.Now())
	q.looking = true
	time.AfterFunc(looking, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.looking = false; q.waiting > 0 {
			q.look()
		}
	})
}

// takeBack has one place given away where somebody waits for it who is not long
// themselves; the lock is held.
func (q *Queue) takeBack(now time.Time) {
	if len(q.holders) < q.size || q.size < 2 || !q.quickWaits() {
		return
	}
	// Young work is about to end, as far as one can tell.
	var long int
	var young bool
	tenants := map[string]bool{}
	for p := range q.holders {
		if p.yield == nil {
			return // It is about to be free.
		}
		tenants[p.name.Tenant] = true
		young = young || now.Sub(p.since) < sharing
		if p.isLong || now.Sub(p.since) >= Patience {
			long++
		}
	}
	after := sharing
	if young || !q.othersWait(tenants) {
		if long <= q.longShare() {
			return
		}
		after = Patience
	}
	var youngest *place
	for p := range q.holders {
		if !p.isLong && now.Sub(p.since) >= after && (youngest == nil || p.since.After(youngest.since)) {
			youngest = p
		}
	}
	if youngest == nil {
		return
	}
	youngest.task.isLong, youngest.task.ran = true, now.Sub(youngest.since)
	youngest.yield()
	youngest.yield = nil
}

// quickWaits reports whether somebody waits who is not long; the lock is held.
func (q *Queue) quickWaits() bool {
	for _, line := range q.lines {
		for _, w := range line {
			if !w.isLong() {
				return true
			}
		}
	}
	return false
}

// othersWait reports whether one tenant holds all places, and another one waits with
// what is not long: what is has places of its own, and has nobody's young work ended.
// The lock is held.
func (q *Queue) othersWait(holding map[string]bool) bool {
	if len(holding) > 1 {
		return false
	}
	for name, line := range q.lines {
		if !holding[name.Tenant] && slices.ContainsFunc(line, func(w *waiter) bool { return !w.isLong() }) {
			return true
		}
	}
	return false
}
