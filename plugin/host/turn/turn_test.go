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
