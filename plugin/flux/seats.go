// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/turn"
)

// How long who found no seat stays away: what has rendered nothing yet, and what was
// ended because it went on for long.
const (
	laterNew  = time.Second
	laterLong = 5 * time.Second
)

// How long a render may do something else than evaluate, which is mostly to wait for
// servers, before its seat is one to give away.
const slowAfter = 5 * time.Second

// standing is how many reconciliations may wait for a seat beside those that have one, so
// that it is seen who waits: the queue tells nobody. They stand for standFor at most while
// no seat is given back and their namespace has one, so that the next in the queue is seen
// too, and look for one every standLook.
const (
	standing  = 4
	standFor  = time.Second
	standLook = 250 * time.Millisecond
)

// errLater ends a render that is to be begun again later, so that others have its place
// among the reconciliations. Nothing is wrong with it.
var errLater = errors.New("it goes on for long, or others of its namespace do, and waits for its turn")

// errSuperseded ends a render of what the spec says no longer.
var errSuperseded = fmt.Errorf("the spec has changed: %w", errLater)

// seats bound how many of the reconciliations that go on at once fetch and render.
// There are few of them, and Transforms of modules without end, or of servers that say
// nothing, would hold them all: who has no seat looks at nothing, and has no turn.
//
// A namespace has three quarters of them while one of its Transforms is known to go on
// for long, and all of them otherwise. Those that go on for long have a quarter for each
// namespace, and half for all. More of them give their seats away, and come back later:
// what was ended is known then.
//
// Where all seats are taken, and a namespace waits that has fewer of them than another
// one, that one gives a seat away that has not evaluated anything for slowAfter. When its
// render comes back it keeps its seat. Those have an eighth of the seats for each namespace
// and a quarter for all, and one in any case.
type seats struct {
	all int

	mu sync.Mutex
	// held are the seats that are taken, by the Transform, leaving is how many of them
	// were given away and are not free yet, and freed is closed when one is.
	held    map[types.UID]*seat
	leaving int
	freed   chan struct{}
	// stands is how many of each namespace stand, and going are the Transforms that have
	// a seat or stand.
	stands map[string]int
	going  map[types.UID]going
	// taken, long and slow are how many of each namespace have a seat, and how many of
	// these go on for long or have come back because they are slow; the others are those
	// of all of them.
	taken, long, slow map[string]int
	longAll, slowAll  int
	// ended are Transforms whose render was ended, with what it was made of.
	ended map[types.UID]endedRender
}

// going is a render that goes on, or stands, and how it is ended.
type going struct {
	generation int64
	end        context.CancelCauseFunc
}

type endedRender struct {
	key  string
	task *turn.Task
	// isSlow says that it was ended for a seat and not for a worker.
	isSlow bool
}

// seat is that of one render.
type seat struct {
	of   *seats
	uid  types.UID
	name turn.Name
	task *turn.Task
	// away ends the render.
	away context.CancelCauseFunc

	// The rest belongs to the lock of the seats. Evaluations is how many evaluations go
	// on, or wait for a worker, and idle since when there is none.
	isLong, isSlow, isAway bool
	evaluations            int
	idle                   time.Time
}

// seatKey finds the seat of a render in its context.
type seatKey struct{}

func newSeats(all int) *seats {
	return &seats{
		all: all, held: map[types.UID]*seat{}, freed: make(chan struct{}), ended: map[types.UID]endedRender{},
		stands: map[string]int{}, going: map[types.UID]going{}, taken: map[string]int{}, long: map[string]int{}, slow: map[string]int{},
	}
}

// during renders in a seat. It is errLater where there is none, or where the render had
// to give its seat away; what has this key is then begun where it was ended.
func (s *seats) during(ctx context.Context, t *v1alpha1.Transform, key string, render func(ctx context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.goes(t, end)
	defer s.went(t.UID)
	mine, err := s.stand(ctx, t, key, end)
	if err != nil {
		return err
	}
	defer s.leave(mine)
	err = render(context.WithValue(ctx, seatKey{}, mine))
	why := context.Cause(ctx)
	later := err != nil && errors.Is(why, errLater)
	s.remember(t.UID, key, mine, later && !errors.Is(why, errSuperseded))
	if later {
		return errLater
	}
	return err
}

// stand takes a seat, and waits for one where all are taken: for a short time where the
// namespace has others, and it is errLater then.
func (s *seats) stand(ctx context.Context, t *v1alpha1.Transform, key string, away context.CancelCauseFunc) (*seat, error) {
	until := time.NewTimer(standFor)
	defer until.Stop()
	for first := true; ; first = false {
		mine, freed := s.take(t, key, away)
		if first {
			s.stood(t.Namespace, 1)
			defer s.stood(t.Namespace, -1)
		}
		if mine != nil {
			return mine, nil
		}
		if freed == nil {
			return nil, errLater
		}
		select {
		case <-freed:
			until.Reset(standFor)
		case <-time.After(standLook):
		case <-until.C:
			if s.has(t.Namespace) {
				return nil, errLater
			}
			until.Reset(standFor)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// stood notes that one more of a namespace stands, or one less.
func (s *seats) stood(namespace string, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stands[namespace] += more; s.stands[namespace] == 0 {
		delete(s.stands, namespace)
	}
}

// has reports whether a namespace has a seat.
func (s *seats) has(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[namespace] > 0
}

// comesLater reports whether somebody stands whose namespace has fewer seats; the lock is
// held.
func (s *seats) comesLater(namespace string) bool {
	for other := range s.stands {
		if s.taken[other] < s.taken[namespace] {
			return true
		}
	}
	return false
}

// take takes a seat; away has its render ended. Without a seat it gives what is closed when
// one is free, and neither where it is not for this Transform to have one.
func (s *seats) take(t *v1alpha1.Transform, key string, away context.CancelCauseFunc) (mine *seat, freed <-chan struct{}) {
	mine = &seat{
		of: s, uid: t.UID, away: away, task: new(turn.Task),
		name: turn.Name{Tenant: t.Namespace, App: t.Name}, idle: time.Now(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.ended[t.UID]
	ok = ok && before.key == key
	switch {
	case ok && before.isSlow && (s.slow[t.Namespace] >= max(1, s.all/8) || s.slowAll >= max(1, s.all/4)),
		ok && !before.isSlow && !s.mayWait(t.Namespace),
		!ok && s.long[t.Namespace] > 0 && s.taken[t.Namespace] >= max(1, s.all*3/4):
		return nil, nil
	case len(s.held) >= s.all, s.comesLater(t.Namespace):
		s.makeRoom(t.Namespace, time.Now())
		return nil, s.freed
	case ok && before.isSlow:
		mine.task, mine.isSlow = before.task, true
		s.slow[t.Namespace]++
		s.slowAll++
	case ok:
		mine.task = before.task
		s.isLong(mine)
	}
	s.taken[t.Namespace]++
	s.held[t.UID] = mine
	mine.task.Ended = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case mine.isLong:
		case s.mayWait(t.Namespace):
			s.isLong(mine)
		default:
			away(errLater)
		}
	}
	return mine, nil
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

// makeRoom has a seat given away for a namespace, by one that has more of them; the lock
// is held.
func (s *seats) makeRoom(namespace string, now time.Time) {
	if s.leaving > 0 {
		return
	}
	var slowest *seat
	for _, one := range s.held {
		if one.isSlow || one.evaluations > 0 || now.Sub(one.idle) < slowAfter || s.taken[one.name.Tenant] <= s.taken[namespace] {
			continue
		}
		if slowest == nil || s.taken[one.name.Tenant] > s.taken[slowest.name.Tenant] ||
			s.taken[one.name.Tenant] == s.taken[slowest.name.Tenant] && one.idle.Before(slowest.idle) {
			slowest = one
		}
	}
	if slowest == nil {
		return
	}
	slowest.isAway = true
	s.leaving++
	slowest.away(errLater)
}

// evaluating notes that the render of a seat evaluates, until the function that it gives
// is called.
func (m *seat) evaluating() (done func()) {
	s := m.of
	s.mu.Lock()
	defer s.mu.Unlock()
	m.evaluations++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		m.evaluations--
		m.idle = time.Now()
	}
}

// goes notes that a Transform is rendered, or stands, and went that it is not.
func (s *seats) goes(t *v1alpha1.Transform, end context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.going[t.UID] = going{generation: t.Generation, end: end}
}

func (s *seats) went(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.going, uid)
}

// supersede ends the render of a Transform that is of an earlier generation.
func (s *seats) supersede(uid types.UID, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.going[uid]; ok && one.generation < generation {
		one.end(errSuperseded)
	}
}

func (s *seats) leave(mine *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.freed)
	s.freed = make(chan struct{})
	delete(s.held, mine.uid)
	less(s.taken, mine.name.Tenant)
	if mine.isAway {
		s.leaving--
	}
	if mine.isSlow {
		less(s.slow, mine.name.Tenant)
		s.slowAll--
	}
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
func (s *seats) remember(uid types.UID, key string, mine *seat, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.ended, uid); ended {
		s.ended[uid] = endedRender{key: key, task: mine.task, isSlow: mine.isAway}
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
