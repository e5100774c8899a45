// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"errors"
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

// errYield is why work ended that gave its place away.
var errYield = errors.New("gave its place away")

// Task is what several runs have in common: one that had to give a place away is
// long, and so are all that follow. The zero value is one that is not.
type Task struct {
	// isLong belongs to the lock of the queue.
	isLong bool
}

// longShare is how many places long tasks hold at most: half of them, and one in any
// case.
func (q *Queue) longShare() int { return max(1, q.size/2) }

// Run runs work in a place. Where all places are held by work that goes on for longer
// than Patience, or by that of one tenant while another one waits, the youngest of it
// ends, and runs again from its beginning when its turn comes. It never has to give
// its place away twice, but is one of the long ones then, which hold half of the
// places at most. So whoever runs for ever holds up nobody else for ever, and work
// that is only slow is begun twice at most.
//
// Work ends early when its context does. A task is for one queue only. Errors are
// those of work and of ctx.
func (q *Queue) Run(ctx context.Context, name Name, task *Task, work func(ctx context.Context) error) error {
	for {
		inner, end := context.WithCancelCause(ctx)
		done, err := q.wait(ctx, name, task, func() { end(errYield) })
		if err != nil {
			end(nil)
			return err
		}
		err = work(inner)
		done()
		yielded := errors.Is(context.Cause(inner), errYield)
		end(nil)
		if err == nil || !yielded || ctx.Err() != nil {
			return err
		}
	}
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
	if len(q.holders) < q.size || q.size < 2 {
		return
	}
	tenants := map[string]bool{}
	var youngest *place
	for p := range q.holders {
		if now.Sub(p.since) < sharing || p.yield == nil {
			return // It is about to end, as far as one can tell.
		}
		tenants[p.name.Tenant] = true
		if !p.task.isLong && (youngest == nil || p.since.After(youngest.since)) {
			youngest = p
		}
	}
	if youngest == nil || !q.quickWaits() || now.Sub(youngest.since) < Patience && !q.othersWait(tenants) {
		return
	}
	youngest.task.isLong = true
	youngest.yield()
	youngest.yield = nil
}

// quickWaits reports whether somebody waits who is not long; the lock is held.
func (q *Queue) quickWaits() bool {
	for _, line := range q.lines {
		for _, w := range line {
			if !w.task.isLong {
				return true
			}
		}
	}
	return false
}

// othersWait reports whether one tenant holds all places, and another one waits; the
// lock is held.
func (q *Queue) othersWait(holding map[string]bool) bool {
	if len(holding) > 1 {
		return false
	}
	for _, tenant := range q.tenants {
		if !holding[tenant] {
			return true
		}
	}
	return false
}
