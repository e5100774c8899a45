// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestApplicationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 100)
		done, err := q.Wait(t.Context(), Name{"loud", "loud"})
		require.NoError(t, err)
		var order []string
		var mu sync.Mutex
		ask := func(name string) {
			go func() {
				done, err := q.Wait(t.Context(), Name{name, name})
				if err == nil {
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
					done()
				}
			}()
			synctest.Wait()
		}
		for range 4 {
			ask("loud")
		}
		ask("quiet")
		ask("other")
		running, waiting := q.Length()
		require.Equal(t, []int{1, 6}, []int{running, waiting})
		done()
		synctest.Wait()
		require.Equal(t, []string{"loud", "quiet", "other", "loud", "loud", "loud"}, order)
		running, waiting = q.Length()
		require.Equal(t, []int{0, 0}, []int{running, waiting})
	})
}

func TestWhoLeavesTheQueueHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 1)
		done, err := q.Wait(t.Context(), Name{"a", "a"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = q.Wait(ctx, Name{"b", "b"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		go func() { _, _ = q.Wait(t.Context(), Name{"c", "c"}) }()
		synctest.Wait()
		_, err = q.Wait(t.Context(), Name{"d", "d"})
		require.ErrorIs(t, err, ErrFull)
		done()
		done() // twice is once
		synctest.Wait()
		running, waiting := q.Length()
		require.Equal(t, []int{1, 0}, []int{running, waiting})
	})
}

func TestOneApplicationGetsHalfOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(4, 4)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var loud []func()
		for range 2 {
			done, err := q.Wait(ctx, Name{"loud", "loud"})
			require.NoError(t, err)
			loud = append(loud, done)
		}
		for range 2 {
			go func() {
				if done, err := q.Wait(ctx, Name{"loud", "loud"}); err == nil {
					defer done()
					<-ctx.Done()
				}
			}()
			synctest.Wait()
		}
		_, err := q.Wait(ctx, Name{"loud", "loud"})
		require.ErrorIs(t, err, ErrShare)
		require.ErrorIs(t, err, ErrFull)
		running, waiting := q.Length()
		require.Equal(t, []int{2, 2}, []int{running, waiting}, "two places are free, and not for this one")
		for range 2 {
			done, err := q.Wait(ctx, Name{"quiet", "quiet"})
			require.NoError(t, err)
			defer done()
		}
		loud[0]()
		synctest.Wait()
		running, waiting = q.Length()
		require.Equal(t, []int{4, 1}, []int{running, waiting})
		cancel()
		loud[1]()
		synctest.Wait()
		require.Empty(t, q.lines)
	})
}

func TestTheQueueNeverRunsMoreThanItMay(t *testing.T) {
	q := NewQueue(3, 1000)
	var now, most atomic.Int64
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond)
			defer cancel()
			done, err := q.Wait(ctx, Name{fmt.Sprint(i % 5), fmt.Sprint(i % 5)})
			if err != nil {
				return
			}
			defer done()
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(time.Millisecond)
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	running, waiting := q.Length()
	require.Equal(t, []int{0, 0}, []int{running, waiting})
	require.Empty(t, q.lines)
	require.Empty(t, q.tenants)
	require.Empty(t, q.apps)
	require.Empty(t, q.holders)
}

func TestEqualWorkIsDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Once[int]
		var runs, joins atomic.Int64
		for range 5 {
			go func() {
				v, _, err := o.Do(t.Context(), "k", func(context.Context) (int, error) {
					runs.Add(1)
					time.Sleep(time.Second)
					return 7, nil
				}, func() { joins.Add(1) })
				if v != 7 || err != nil {
					t.Error(v, err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []int64{1, 4}, []int64{runs.Load(), joins.Load()})
		require.Empty(t, o.calls)
	})
}

func TestWorkEndsWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Once[int]
		ended := make(chan error, 1)
		work := func(ctx context.Context) (int, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return 0, ctx.Err()
		}
		first, leave := context.WithCancel(t.Context())
		go func() { _, _, _ = o.Do(first, "k", work, func() {}) }()
		synctest.Wait()
		second, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _, _, _ = o.Do(second, "k", work, func() {}) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		require.Empty(t, ended, "the second one still waits")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.ErrorIs(t, <-ended, context.Canceled)
		v, joined, err := o.Do(t.Context(), "k", func(context.Context) (int, error) { return 1, nil }, func() {})
		require.NoError(t, err)
		require.False(t, joined)
		require.Equal(t, 1, v)
	})
}

func TestAPanicIsAnError(t *testing.T) {
	var o Once[int]
	_, _, err := o.Do(t.Context(), "k", func(context.Context) (int, error) { panic(errors.New("boom")) }, func() {})
	require.ErrorContains(t, err, "boom")
}
