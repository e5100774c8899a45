// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package renders

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// queue reconciles as a controller does: the oldest first, as many at once as it has
// workers, and what found no slot after all others.
type queue struct {
	slots      *Slots
	fresh, low chan *reconciled
}

type reconciled struct {
	t     *v1alpha1.Transform
	takes time.Duration
	done  atomic.Pointer[time.Time]
}

func newQueue(t *testing.T, n int) *queue {
	t.Helper()
	q := &queue{slots: NewSlots(n), fresh: make(chan *reconciled, 10000), low: make(chan *reconciled, 10000)}
	for range 2 * n {
		go func() {
			for {
				select {
				case one := <-q.fresh:
					q.reconcile(t.Context(), one)
					continue
				default:
				}
				select {
				case one := <-q.fresh:
					q.reconcile(t.Context(), one)
				case one := <-q.low:
					q.reconcile(t.Context(), one)
				case <-t.Context().Done():
					return
				}
			}
		}()
	}
	return q
}

func (q *queue) reconcile(ctx context.Context, one *reconciled) {
	err := q.slots.Run(ctx, one.t, func(ctx context.Context) error {
		select {
		case <-time.After(one.takes):
		case <-ctx.Done():
		}
		return nil
	})
	if IsPostponed(err) {
		time.AfterFunc(Retry, func() { q.low <- one })
		return
	}
	at := time.Now()
	one.done.Store(&at)
}

func (q *queue) add(namespace string, n int, takes time.Duration) (out []*reconciled) {
	for i := range n {
		name := fmt.Sprintf("%s-%d", namespace, i)
		one := &reconciled{takes: takes, t: &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}}
		q.fresh <- one
		out = append(out, one)
	}
	return out
}

// wait returns when the last of them is done.
func wait(t *testing.T, all []*reconciled) (last time.Time) {
	t.Helper()
	for _, one := range all {
		for one.done.Load() == nil {
			time.Sleep(time.Millisecond)
		}
		if at := *one.done.Load(); at.After(last) {
			last = at
		}
	}
	return last
}

func TestAnotherNamespaceIsRenderedWithinTheDeadline(t *testing.T) {
	const deadline = 10 * time.Second
	tests := map[string]struct {
		namespaces, each int // of renders that run into the deadline
		within           time.Duration
	}{
		"beside fewer than there are slots": {1, 7, 5 * time.Second},
		"beside a hundred":                  {1, 100, deadline + 2*time.Second},
		"beside a hundred of two":           {2, 100, 2*deadline + 10*time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(t, 8)
				for n := range test.namespaces {
					q.add(fmt.Sprint("hostile", n), test.each, deadline)
				}
				time.Sleep(10 * time.Millisecond)
				for range 3 {
					began := time.Now()
					took := wait(t, q.add("good", 10, 100*time.Millisecond)).Sub(began)
					t.Logf("10 renders of 100 ms took %s", took)
					require.LessOrEqual(t, took, test.within)
				}
			})
		})
	}
}

func TestANamespaceAloneUsesAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, 10)
		began := time.Now()
		took := wait(t, q.add("good", 100, 100*time.Millisecond)).Sub(began)
		require.LessOrEqual(t, took, 2*time.Second)
	})
}

func TestAChangedSpecEndsTheRenderOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1)
		one := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a", UID: "1", Generation: 2}}
		other := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "a", UID: "2", Generation: 2}}
		began := time.Now()
		err := s.Run(t.Context(), one, func(ctx context.Context) error {
			s.Supersede("2", 3)
			s.Supersede("1", 2)
			require.NoError(t, ctx.Err(), "it is another one, or of this generation")

			time.AfterFunc(time.Second, func() { s.Supersede("2", 3) })
			err := s.Run(t.Context(), other, func(context.Context) error { return nil })
			require.ErrorIs(t, err, ErrSuperseded, "it does not wait for a slot either")
			require.Equal(t, time.Second, time.Since(began))

			time.AfterFunc(time.Second, func() { s.Supersede("1", 3) })
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, ErrSuperseded)
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Empty(t, s.renders)
		require.Zero(t, s.limiter.Stats())
	})
}
