// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrFull says that as many requests wait as may.
var ErrFull = errors.New("too many requests wait")

// ErrShare says that as many requests of one application wait as may. It is ErrFull
// too.
var ErrShare = fmt.Errorf("too many requests of this application: %w", ErrFull)

// Queue bounds what goes on at once. It is safe for concurrent use.
type Queue struct {
	size, room int
	// share is how many places, and shareRoom how much room, one application has.
	share, shareRoom int

	mu      sync.Mutex
	running int
	// held is places by application.
	held    map[string]int
	waiting int
	// names are those with somebody waiting, in the order of their turns.
	names []string
	lines map[string][]chan struct{}
}

// NewQueue is a queue for size requests at once, while at most room wait. One
// application gets half of either at most, and one of each in any case: who holds all
// places would hold up everybody else for as long as its requests take.
func NewQueue(size, room int) *Queue {
	return &Queue{
		size: size, room: room, share: (size + 1) / 2, shareRoom: (room + 1) / 2,
		held: map[string]int{}, lines: map[string][]chan struct{}{},
	}
}

// Wait returns when it is the turn of a request of the named application. Who got
// no error calls done once. Errors are ErrFull and that of ctx.
func (q *Queue) Wait(ctx context.Context, name string) (done func(), err error) {
	q.mu.Lock()
	done = sync.OnceFunc(func() { q.leavePlace(name) })
	if q.running < q.size && q.held[name] < q.share {
		q.take(name)
		q.mu.Unlock()
		return done, nil
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
	mine := make(chan struct{})
	if len(q.lines[name]) == 0 {
		q.names = append(q.names, name)
	}
	q.lines[name] = append(q.lines[name], mine)
	q.waiting++
	q.mu.Unlock()
	select {
	case <-mine:
		return done, nil
	case <-ctx.Done():
	}
	if !q.leave(name, mine) {
		done() // Its turn came in the same moment.
	}
	return nil, ctx.Err()
}

// leave takes a request out of its line; it is false where it is not in there any
// more.
func (q *Queue) leave(name string, mine chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.lines[name], mine)
	if at < 0 {
		return false
	}
	q.waiting--
	if q.lines[name] = slices.Delete(q.lines[name], at, at+1); len(q.lines[name]) == 0 {
		delete(q.lines, name)
		q.names = slices.DeleteFunc(q.names, func(n string) bool { return n == name })
	}
	return true
}

// take gives a place to an application; the lock is held.
func (q *Queue) take(name string) {
	q.running++
	q.held[name]++
}

// leavePlace takes a place from an application, and gives it to who comes next.
func (q *Queue) leavePlace(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if q.held[name]--; q.held[name] == 0 {
		delete(q.held, name)
	}
	// Those who wait because of their share leave places free.
	for q.running < q.size && q.next() {
		continue
	}
}

// next gives a place to the first in turn who may have one more, if there is any; the
// lock is held.
func (q *Queue) next() bool {
	at := slices.IndexFunc(q.names, func(n string) bool { return q.held[n] < q.share })
	if at < 0 {
		return false
	}
	name := q.names[at]
	q.names = slices.Delete(q.names, at, at+1)
	line := q.lines[name]
	close(line[0])
	q.waiting--
	q.take(name)
	if line = line[1:]; len(line) == 0 {
		delete(q.lines, name)
		return true
	}
	q.lines[name] = line
	q.names = append(q.names, name)
	return true
}

// Length is how many requests are worked on, and how many wait.
func (q *Queue) Length() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}
