// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/turn"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// How long who found no seat stays away: what has rendered nothing yet, and what was
// ended because it went on for long.
const (
	laterNew  = time.Second
	laterLong = 5 * time.Second
)

// errLater ends a render that is to be begun again later, so that others have its place
// among the reconciliations. Nothing is wrong with it.
var errLater = errors.New("it goes on for long, or others of its namespace do, and waits for its turn")

// Turns has namespaces, and in them Transforms, take turns at an evaluator that does size
// evaluations at once. One that goes on for long while others wait ends and is begun
// again when its turn comes; such evaluations take no more than half of the places from
// then on, so that modules without end, of however many Transforms, hold up no others.
func Turns(e evaluate.Evaluator, size int) evaluate.Evaluator {
	queue := turn.NewYielding(size)
	return turn.Evaluator{Next: e, Run: func(ctx context.Context, work func(ctx context.Context) error) error {
		s, ok := ctx.Value(seatKey{}).(*seat)
		if !ok {
			s = &seat{task: &turn.Task{}}
		}
		return queue.Run(ctx, s.name, s.task, work)
	}}
}

// seats bound how many of the reconciliations that go on at once wait for workers.
// There are few of them, and Transforms of modules without end would hold them all: who
// has no seat looks at nothing, and has no turn.
//
// A namespace has three quarters of them while one of its Transforms is known to go on
// for long, and all of them otherwise. Those that go on for long have a quarter for each
// namespace, and half for all. More of them give their seats away, and come back later:
// what was ended is known then.
type seats struct {
	all int

	mu sync.Mutex
	// taken and long are how many of each namespace have a seat, and how many of these
	// go on for long; longAll is that of all of them.
	taken, long map[string]int
	longAll     int
	// ended are Transforms whose render was ended, with what it was made of.
	ended map[types.UID]endedRender
}

type endedRender struct {
	key  string
	task *turn.Task
}

// seat is that of one render.
type seat struct {
	name turn.Name
	task *turn.Task
	// isLong belongs to the lock of the seats.
	isLong bool
}

// seatKey finds the seat of a render in its context.
type seatKey struct{}

func newSeats(all int) *seats {
	return &seats{all: all, taken: map[string]int{}, long: map[string]int{}, ended: map[types.UID]endedRender{}}
}

// during renders in a seat. It is errLater where there is none, or where the render had
// to give its seat away; what has this key is then begun where it was ended.
func (s *seats) during(ctx context.Context, t *v1alpha1.Transform, key string, render func(ctx context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	mine, ok := s.take(t, key, func() { end(errLater) })
	if !ok {
		return errLater
	}
	defer s.leave(mine)
	err := render(context.WithValue(ctx, seatKey{}, mine))
	later := err != nil && errors.Is(context.Cause(ctx), errLater)
	s.remember(t.UID, key, mine.task, later)
	if later {
		return errLater
	}
	return err
}

// take takes a seat; away has its render ended. It is false where none is free.
func (s *seats) take(t *v1alpha1.Transform, key string, away func()) (*seat, bool) {
	mine := &seat{name: turn.Name{Tenant: t.Namespace, App: t.Name}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.ended[t.UID]; ok && before.key == key {
		mine.task = before.task
		if !s.mayWait(t.Namespace) {
			return nil, false
		}
		s.isLong(mine)
	} else if mine.task = new(turn.Task); s.long[t.Namespace] > 0 && s.taken[t.Namespace] >= max(1, s.all*3/4) {
		return nil, false
	}
	s.taken[t.Namespace]++
	mine.task.Ended = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case mine.isLong:
		case s.mayWait(t.Namespace):
			s.isLong(mine)
		default:
			away()
		}
	}
	return mine, true
}

// mayWait reports whether one more that goes on for long may have a seat; the lock is
// held.
func (s *seats) mayWait(namespace string) bool {
	return s.long[namespace] < max(1, s.all/4) && s.longAll < max(1, s.all/2)
}

// isLong notes that a seat is of one that goes on for long; the lock is held.
func (s *seats) isLong(mine *seat) {
	mine.isLong = true
	s.long[mine.name.Tenant]++
	s.longAll++
}

func (s *seats) leave(mine *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	less(s.taken, mine.name.Tenant)
	if mine.isLong {
		less(s.long, mine.name.Tenant)
		s.longAll--
	}
}

func less(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

// remember remembers a render that was ended, and forgets any other one.
func (s *seats) remember(uid types.UID, key string, task *turn.Task, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.ended, uid); ended {
		s.ended[uid] = endedRender{key: key, task: task}
	}
}

// forget forgets a Transform that is gone.
func (s *seats) forget(uid types.UID) { s.remember(uid, "", nil, false) }

// wait is how long a Transform stays away that found no seat.
func (s *seats) wait(uid types.UID) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.ended[uid]; ok {
		return laterLong
	}
	return laterNew
}
