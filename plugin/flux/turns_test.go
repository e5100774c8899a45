// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// errTimeout is what an evaluation without end comes to.
var errTimeout = errors.New("no result within the time")

// timed evaluates nothing: it takes as long as the name of the spec says, or the time
// that it may take.
type timed struct {
	limit time.Duration
	evaluate.Evaluator
}

func (e timed) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	takes, err := time.ParseDuration(req.Spec)
	if err != nil {
		return evaluate.Result{}, err
	}
	select {
	case <-time.After(min(takes, e.limit)):
	case <-ctx.Done():
		return evaluate.Result{}, ctx.Err()
	}
	if takes > e.limit {
		return evaluate.Result{}, errTimeout
	}
	return evaluate.Result{}, nil
}

// town reconciles renders as a controller does: the first in the queue comes first, as
// many at once as there are seats, and who comes later is put at the end of the queue.
type town struct {
	evaluator evaluate.Evaluator
	seats     *seats
	queue     chan *v1alpha1.Transform

	mu   sync.Mutex
	done map[types.UID]result
	all  sync.WaitGroup
}

type result struct {
	at  time.Time
	err error
}

func newTown(t *testing.T, reconciles, workers int) *town {
	t.Helper()
	x := &town{
		evaluator: Turns(timed{limit: evaluate.DefaultTimeout}, workers), seats: newSeats(reconciles),
		queue: make(chan *v1alpha1.Transform, 10000), done: map[types.UID]result{},
	}
	for range reconciles + standing {
		go func() {
			for one := range x.queue {
				x.reconcile(t.Context(), one)
			}
		}()
	}
	return x
}

func (x *town) reconcile(ctx context.Context, one *v1alpha1.Transform) {
	err := x.seats.during(ctx, one, "key", func(ctx context.Context) error {
		if err := waited(ctx, one.Labels["waits"]); err != nil {
			return err
		}
		_, err := x.evaluator.Evaluate(ctx, evaluate.Request{Spec: one.Labels["takes"]})
		return err
	})
	if errors.Is(err, errLater) {
		time.AfterFunc(x.seats.wait(one.UID), func() { x.queue <- one })
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done[one.UID] = result{time.Now(), err}
	x.all.Done()
}

func (x *town) add(namespace, name string, takes time.Duration) types.UID {
	one := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"takes": takes.String()}}}
	one.UID = types.UID(namespace + "/" + name)
	x.all.Add(1)
	x.queue <- one
	return one.UID
}

// doneAt waits until all is done, and gives the time at which the good ones were. The
// others may have come to a certain end.
func (x *town) doneAt(t *testing.T, good []types.UID, end error) (last time.Time) {
	t.Helper()
	x.all.Wait()
	for _, uid := range good {
		require.NoError(t, x.done[uid].err)
		if at := x.done[uid].at; at.After(last) {
			last = at
		}
	}
	for uid, r := range x.done {
		if r.err != nil {
			require.ErrorIs(t, r.err, end, "%s", uid)
		}
	}
	return last
}

// isEmpty requires that nothing is left of what was done.
func (x *town) isEmpty(t *testing.T) {
	t.Helper()
	s := x.seats
	for name, left := range map[string]int{
		"held": len(s.held), "taken": len(s.taken), "long": len(s.long), "slow": len(s.slow), "ended": len(s.ended),
		"long ones": s.longAll, "slow ones": s.slowAll, "leaving": s.leaving,
	} {
		require.Zero(t, left, name)
	}
}

func TestANamespaceWithoutEndHoldsNoOtherUp(t *testing.T) {
	const good, takes = 10, 100 * time.Millisecond
	tests := map[string]struct {
		namespaces, each int           // of those without end
		of               string        // the namespace of the good ones
		extra            time.Duration // beyond the time that the good ones take one by one
	}{
		"by two":                         {1, 2, "good", 600 * time.Millisecond},
		"by as many as are worked on":    {1, 10, "good", 5 * time.Second},
		"by a hundred":                   {1, 100, "good", 6 * time.Second},
		"by two in the same namespace":   {1, 2, "evil0", 1300 * time.Millisecond},
		"by three in the same namespace": {1, 3, "evil0", 2500 * time.Millisecond},
		// Each of them has a second to be quick in.
		"by two in each of many":           {10, 2, "good", 20 * time.Second},
		"by a hundred in the same one too": {1, 100, "evil0", 110 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTown(t, 10, 2)
				defer close(x.queue)
				for i := range test.each {
					for n := range test.namespaces {
						x.add(fmt.Sprint("evil", n), fmt.Sprint(i), time.Hour)
					}
				}
				time.Sleep(10 * time.Millisecond)
				begin := time.Now()
				var ours []types.UID
				for i := range good {
					ours = append(ours, x.add(test.of, fmt.Sprint("good", i), takes))
				}
				last := x.doneAt(t, ours, errTimeout).Sub(begin)
				t.Logf("%d good ones are done after %s", good, last)
				require.LessOrEqual(t, last, good*takes+test.extra)
				require.Len(t, x.done, good+test.each*test.namespaces)
				x.isEmpty(t)
			})
		})
	}
}

func TestATransformThatIsSlowIsRenderedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTown(t, 10, 2)
		defer close(x.queue)
		begin := time.Now()
		for i := range 30 {
			x.add("slow", fmt.Sprint(i), 3*time.Second)
		}
		x.all.Wait()
		for uid, r := range x.done {
			require.NoError(t, r.err, "%s", uid)
		}
		t.Logf("30 of 3 s are done after %s", time.Since(begin))
		require.Less(t, time.Since(begin), 30*(3*time.Second+time.Second)+10*time.Second)
	})
}

func TestANamespaceOfGoodOnesHasAllSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTown(t, 10, 2)
		defer close(x.queue)
		begin := time.Now()
		for i := range 100 {
			x.add("good", fmt.Sprint(i), 100*time.Millisecond)
		}
		x.all.Wait()
		require.Equal(t, 5*time.Second, time.Since(begin))
	})
}

func TestAChangeOfWhatWasEndedBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(4)
		one := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a", UID: "1"}}
		other := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "2"}}
		held, _ := s.take(other, "key", func(error) {})
		require.NotNil(t, held)
		held.task.Ended()
		err := s.during(t.Context(), one, "old", func(ctx context.Context) error {
			ctx.Value(seatKey{}).(*seat).task.Ended() //nolint:forcetypeassert // it is one
			return ctx.Err()
		})
		require.ErrorIs(t, err, errLater)
		require.Equal(t, laterLong, s.wait("1"))
		require.ErrorIs(t, s.during(t.Context(), one, "old", func(context.Context) error { return nil }), errLater, "a namespace has a quarter of the seats for those")
		require.NoError(t, s.during(t.Context(), one, "new", func(context.Context) error { return nil }))
		require.Empty(t, s.ended)
		s.leave(held)
	})
}
