// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"fmt"
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
