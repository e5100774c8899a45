// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull says that as many requests wait as may.
var ErrFull = errors.New("too many requests wait")

// Queue bounds what goes on at once. It is safe for concurrent use.
type Queue struct {
	size, room int

	mu      sync.Mutex
	running int
	waiting int
	// names are those with somebody waiting, in the order of their turns.
	names []string
	lines map[string][]chan struct{}
}

// NewQueue is a queue for size requests at once, while at most room wait.
func NewQueue(size, room int) *Queue {
	return &Queue{size: size, room: room, lines: map[string][]chan struct{}{}}
}

// Wait returns when it is the turn of a request of the named application. Who got
// no error calls done once. Errors are ErrFull and that of ctx.
func (q *Queue) Wait(ctx context.Context, name string) (done func(), err error) {
	q.mu.Lock()
	if q.running < q.size {
		q.running++
		q.mu.Unlock()
		return sync.OnceFunc(q.next), nil
	}
	if q.waiting >= q.room {
		q.mu.Unlock()
		return nil, ErrFull
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
		return sync.OnceFunc(q.next), nil
	case <-ctx.Done():
	}
	if !q.leave(name, mine) {
		q.next() // Its turn came in the same moment.
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

// next gives a place that was left to who comes next.
func (q *Queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.names) == 0 {
		q.running--
		return
	}
	name := q.names[0]
	q.names = q.names[1:]
	line := q.lines[name]
	close(line[0])
	q.waiting--
	if line = line[1:]; len(line) == 0 {
		delete(q.lines, name)
		return
	}
	q.lines[name] = line
	q.names = append(q.names, name)
}

// Length is how many requests are worked on, and how many wait.
func (q *Queue) Length() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}
