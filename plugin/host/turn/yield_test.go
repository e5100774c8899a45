// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// endless works until its context ends, and counts how often it begins.
func endless(began *atomic.Int64) func(context.Context) error {
	return func(ctx context.Context) error {
		began.Add(1)
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

func sleeping(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestWorkWithoutEndLeavesHalfOfThePlacesToOthers(t *testing.T) {
	tests := map[string]struct {
		bad   func(i int) Name
		first time.Duration // that the first of the good ones waits
	}{
		"of one tenant":                {func(i int) Name { return Name{"evil", fmt.Sprint(i)} }, sharing + looking},
		"of the same tenant as others": {func(i int) Name { return Name{"good", fmt.Sprint(i)} }, Patience + looking},
		"of many tenants":              {func(i int) Name { return Name{fmt.Sprint(i), ""} }, Patience + looking},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewYielding(2)
				ctx, cancel := context.WithCancel(t.Context())
				var began atomic.Int64
				for i := range 3 {
					go func() { _ = q.Run(ctx, test.bad(i), &Task{}, endless(&began)) }()
				}
				synctest.Wait()
				for i := range 50 {
					begin := time.Now()
					require.NoError(t, q.Run(t.Context(), Name{"good", "x"}, &Task{}, sleeping(10*time.Millisecond)))
					if i > 5 {
						require.Equal(t, 10*time.Millisecond, time.Since(begin), "%d", i)
					}
					require.LessOrEqual(t, time.Since(begin), 2*test.first)
				}
				require.LessOrEqual(t, began.Load(), int64(6), "each begins twice at most")
				cancel()
				synctest.Wait()
				require.Empty(t, q.holders)
				require.Empty(t, q.lines)
			})
		})
	}
}

// TestMoreThanHalfOfThePlacesAreNobodysForLong has work without end on most of four
// places, all of it of one task or none of it, and a stream of quick work on the last.
func TestMoreThanHalfOfThePlacesAreNobodysForLong(t *testing.T) {
	for name, test := range map[string]struct {
		bad  int
		task func() *Task
	}{
		"four of a task of their own": {4, func() *Task { return new(Task) }},
		"four of one task":            {4, func() func() *Task { one := new(Task); return func() *Task { return one } }()},
		"three, with a stream beside": {3, func() *Task { return new(Task) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewYielding(4)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var began atomic.Int64
				for range test.bad {
					go func() { _ = q.Run(ctx, Name{"evil", "x"}, test.task(), endless(&began)) }()
				}
				synctest.Wait()
				// Two of the places are for who is not without end.
				begin := time.Now()
				var done sync.WaitGroup
				for i := range 2 {
					done.Go(func() {
						for range 200 {
							if err := q.Run(t.Context(), Name{"good", fmt.Sprint(i)}, new(Task), sleeping(100*time.Millisecond)); err != nil {
								t.Error(err)
							}
						}
					})
				}
				done.Wait()
				took := time.Since(begin)
				t.Logf("200 x 100 ms each: %s, begun %d times", took, began.Load())
				require.LessOrEqual(t, took, 20*time.Second+2*Patience)
				require.LessOrEqual(t, began.Load(), int64(2*test.bad))
				cancel()
				synctest.Wait()
				require.Empty(t, q.holders)
			})
		})
	}
}

func TestAPanicLeavesItsPlace(t *testing.T) {
	q := NewYielding(1)
	require.Panics(t, func() {
		_ = q.Run(t.Context(), Name{"a", "a"}, new(Task), func(context.Context) error { panic("a fault") })
	})
	require.NoError(t, q.Run(t.Context(), Name{"a", "a"}, new(Task), func(context.Context) error { return nil }))
}

func TestWorkThatIsSlowIsBegunTwiceAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewYielding(2)
		var began atomic.Int64
		begin := time.Now()
		done := make(chan error)
		for i := range 10 {
			go func() {
				done <- q.Run(t.Context(), Name{fmt.Sprint(i % 3), fmt.Sprint(i)}, &Task{}, func(ctx context.Context) error {
					began.Add(1)
					return sleeping(3 * time.Second)(ctx)
				})
			}()
		}
		for range 10 {
			require.NoError(t, <-done)
		}
		require.LessOrEqual(t, began.Load(), int64(20))
		require.Less(t, time.Since(begin), 45*time.Second)
		t.Logf("10 x 3 s on two places: %s, begun %d times", time.Since(begin), began.Load())
	})
}

func TestWhoIsAloneHasAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewYielding(2)
		begin := time.Now()
		done := make(chan error)
		for range 2 {
			go func() { done <- q.Run(t.Context(), Name{"a", "a"}, &Task{}, sleeping(time.Minute)) }()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

func TestOneTenantLeavesAQuarterOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8, 100)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 20 {
			go func() { _, _ = q.Wait(ctx, Name{"evil", fmt.Sprint(i)}) }()
		}
		synctest.Wait()
		running, waiting := q.Length()
		require.Equal(t, []int{6, 14}, []int{running, waiting})
		_, err := q.Wait(t.Context(), Name{"good", "a"})
		require.NoError(t, err)
		cancel()
		synctest.Wait()
	})
}

func TestABudgetIsSharedByTenants(t *testing.T) {
	b := NewBudget(100)
	back, ok := b.Take("a", 50)
	require.True(t, ok)
	_, ok = b.Take("a", 1)
	require.False(t, ok, "it has its half")
	_, ok = b.Take("b", 50)
	require.True(t, ok)
	_, ok = b.Take("c", 1)
	require.False(t, ok)
	back()
	back() // twice is once
	require.Equal(t, int64(50), b.Used())
	_, ok = b.Take("a", 1)
	require.True(t, ok)
}
