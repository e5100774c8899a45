// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/source"
)

// errSilent is what it comes to when a server says nothing.
var errSilent = errors.New("the server says nothing")

// silence is how long a server is waited for that says nothing.
const silence = 2 * time.Minute

// waited waits for a server as long as a duration says; "" is no server.
func waited(ctx context.Context, takes string) error {
	d, err := time.ParseDuration(takes)
	if err != nil {
		return nil //nolint:nilerr // none
	}
	select {
	case <-time.After(min(d, silence)):
	case <-ctx.Done():
		return ctx.Err()
	}
	if d > silence {
		return errSilent
	}
	return nil
}

// fetch adds a Transform whose module takes a time to come, and hardly any to evaluate.
func (x *town) fetch(namespace, name string, waits time.Duration) types.UID {
	one := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name),
		Labels: map[string]string{"waits": waits.String(), "takes": "10ms"},
	}}
	x.all.Add(1)
	x.queue <- one
	return one.UID
}

func TestServersThatSayNothingHoldNoOtherNamespaceUp(t *testing.T) {
	tests := map[string]struct {
		namespaces, each int // of those that wait for one
		within           time.Duration
	}{
		"fewer than there are seats":   {1, 7, 1100 * time.Millisecond},
		"as many as there are seats":   {1, 8, 7 * time.Second},
		"three times as many":          {1, 24, 25 * time.Second},
		"three times as many of three": {3, 8, 25 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTown(t, 8, 2)
				defer close(x.queue)
				for i := range test.each {
					for n := range test.namespaces {
						x.fetch(fmt.Sprint("evil", n), fmt.Sprint(i), time.Hour)
					}
				}
				time.Sleep(10 * time.Millisecond)
				begin := time.Now()
				var ours []types.UID
				for i := range 10 {
					ours = append(ours, x.fetch("good", fmt.Sprint(i), 100*time.Millisecond))
				}
				last := x.doneAt(t, ours, errSilent).Sub(begin)
				t.Logf("the good ones are done after %s, and all after %s", last, time.Since(begin))
				require.LessOrEqual(t, last, test.within)
				x.isEmpty(t)
			})
		})
	}
}

func TestServersThatAreSlowAreWaitedForAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTown(t, 8, 2)
		defer close(x.queue)
		begin := time.Now()
		for i := range 40 {
			x.fetch("slow", fmt.Sprint(i), 20*time.Second)
		}
		x.all.Wait()
		for uid, r := range x.done {
			require.NoError(t, r.err, "%s", uid)
		}
		t.Logf("40 of 20 s are done after %s", time.Since(begin))
		require.Less(t, time.Since(begin), 40/8*20*time.Second+5*time.Second, "nobody else waits")
		x.isEmpty(t)
	})
}

func TestASeatIsGivenAwayForAnotherNamespaceAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(1)
		begin := time.Now()
		of := func(namespace string) *v1alpha1.Transform {
			return &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", UID: types.UID(namespace)}}
		}
		quick := func(context.Context) error { return nil }
		slow := func(t *v1alpha1.Transform, work func(ctx context.Context)) <-chan error {
			out := make(chan error, 1)
			go func() {
				out <- s.during(context.Background(), t, "key", func(ctx context.Context) error {
					work(ctx)
					return ctx.Err()
				})
			}()
			synctest.Wait()
			return out
		}

		// What evaluates keeps its seat, and so does what has done so a short time ago.
		evaluated := slow(of("a"), func(ctx context.Context) {
			done := ctx.Value(seatKey{}).(*seat).evaluating() //nolint:forcetypeassert // it is one
			time.Sleep(time.Minute)
			done()
			time.Sleep(slowAfter - time.Second)
		})
		other := of("a")
		other.UID = "other"
		require.ErrorIs(t, s.during(t.Context(), other, "key", quick), errLater, "its namespace has one")
		require.NoError(t, s.during(t.Context(), of("b"), "key", quick), "who has none stands as long as it takes")
		require.Equal(t, time.Minute+slowAfter-time.Second, time.Since(begin))
		require.NoError(t, <-evaluated)

		silent := func(ctx context.Context) { _ = waited(ctx, "1h") }
		first := slow(of("a"), silent)
		time.Sleep(slowAfter)
		require.ErrorIs(t, s.during(t.Context(), other, "key", quick), errLater, "it is of the same namespace")
		require.NoError(t, s.during(t.Context(), of("b"), "key", quick))
		require.ErrorIs(t, <-first, errLater)
		require.Equal(t, laterLong, s.wait("a"))

		begin = time.Now()
		again := slow(of("a"), silent)
		require.NoError(t, s.during(t.Context(), of("b"), "key", quick))
		require.Equal(t, silence, time.Since(begin), "it keeps its seat the second time")
		require.NoError(t, <-again)
		require.Empty(t, s.held)
		require.Empty(t, s.ended)
	})
}

func TestAChangedSpecEndsWhatIsRenderedOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(4)
		one := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a", UID: "1", Generation: 2}}
		begin := time.Now()
		err := s.during(t.Context(), one, "key", func(ctx context.Context) error {
			s.supersede("2", 3)
			s.supersede("1", 2)
			require.NoError(t, ctx.Err(), "it is another one, or of this generation")
			time.AfterFunc(time.Second, func() { s.supersede("1", 3) })
			return waited(ctx, "1h")
		})
		require.ErrorIs(t, err, errLater)
		require.Equal(t, time.Second, time.Since(begin))
		require.Empty(t, s.ended, "it did nothing wrong")
		require.Empty(t, s.held)

		// Nor does it stand for a seat with a spec that has changed.
		full := newSeats(1)
		other := one.DeepCopy()
		other.Namespace, other.UID = "b", "2"
		require.NoError(t, full.during(t.Context(), one, "key", func(context.Context) error {
			begin = time.Now()
			time.AfterFunc(time.Second, func() { full.supersede("2", 3) })
			require.ErrorIs(t, full.during(t.Context(), other, "key", func(context.Context) error { return nil }), errLater)
			require.Equal(t, time.Second, time.Since(begin))
			return nil
		}))
		require.Empty(t, full.going)
		require.Empty(t, full.stands)
	})
}

func TestWhoIsPutOffIsNotForgiven(t *testing.T) {
	o := &outages{
		TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Hour), now: time.Now,
	}
	item := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	for range 6 {
		o.When(item)
	}
	o.note(item.NamespacedName, source.Refuse(source.ErrUnavailable, "x"))
	o.putOff(item.NamespacedName)
	o.Forget(item)
	require.Equal(t, 6, o.NumRequeues(item))
	require.NotEmpty(t, o.since)
	require.Empty(t, o.later)
	o.Forget(item)
	require.Zero(t, o.NumRequeues(item))
	require.Empty(t, o.since)
}
