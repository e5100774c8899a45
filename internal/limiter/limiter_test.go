// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/limiter"
)

func acquire(t *testing.T, l *limiter.Limiter, tenant string) func() {
	t.Helper()
	release, err := l.Acquire(t.Context(), tenant)
	require.NoError(t, err)
	return release
}

func TestATenantAloneUsesAllSlots(t *testing.T) {
	l := limiter.New(limiter.Options{Slots: 4})
	for range 4 {
		acquire(t, l, "a")
	}
	require.Equal(t, limiter.Stats{Running: 4}, l.Stats())
	require.Equal(t, 4, l.Running("a"))
	require.Zero(t, l.Running("b"))
}

func TestATenantBesideOthersUsesHalfOfTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter.New(limiter.Options{Slots: 4})
		acquire(t, l, "b")()
		acquire(t, l, "a")
		acquire(t, l, "a")
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Acquire(short, "a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `waiting for a free slot: "a" uses 2 of 4`)
		acquire(t, l, "b")
		time.Sleep(2 * limiter.Alone)
		acquire(t, l, "c")
		require.Equal(t, limiter.Stats{Running: 4}, l.Stats())
	})
}

func TestOthersAreServedAfterOneDeadlineOfATenantThatHoldsAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deadline = 10 * time.Second
		l := limiter.New(limiter.Options{Slots: 2})
		ctx, cancel := context.WithCancel(t.Context())
		defer time.Sleep(2 * deadline) // What has a slot by then ends before the test.
		defer cancel()
		for range 20 { // requests that never end by themselves
			go func() {
				release, err := l.Acquire(ctx, "hostile")
				if err != nil {
					return
				}
				time.Sleep(deadline)
				release()
			}()
		}
		time.Sleep(time.Millisecond)
		for i := range 5 {
			began := time.Now()
			release := acquire(t, l, "good")
			wait := time.Since(began)
			require.LessOrEqual(t, wait, deadline)
			if i > 0 {
				require.Zero(t, wait, "the other half of the slots is free")
			}
			release()
		}
	})
}

func TestTenantsTakeSlotsInRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter.New(limiter.Options{Slots: 1})
		first := acquire(t, l, "x")
		var mu sync.Mutex
		var order []string
		for _, tenant := range []string{"a", "a", "a", "b", "c"} {
			go func() {
				release := acquire(t, l, tenant)
				mu.Lock()
				order = append(order, tenant)
				mu.Unlock()
				release()
			}()
			synctest.Wait()
		}
		first()
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "c", "a", "a"}, order)
	})
}

func TestQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter.New(limiter.Options{Slots: 1, Queue: 4})
		acquire(t, l, "x")
		ctx, cancel := context.WithCancel(t.Context())
		wait := func(tenant string) { go func() { _, _ = l.Acquire(ctx, tenant) }(); synctest.Wait() }
		wait("a")
		wait("a")
		_, err := l.Acquire(ctx, "a")
		require.ErrorIs(t, err, limiter.ErrQueueFull)
		require.ErrorContains(t, err, `2 of "a"`)
		wait("b")
		wait("c")
		_, err = l.Acquire(ctx, "d")
		require.ErrorIs(t, err, limiter.ErrQueueFull)
		cancel()
		synctest.Wait()
		require.Equal(t, limiter.Stats{Running: 1}, l.Stats())
		_, err = l.Acquire(ctx, "a")
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestALargeRequestTakesSeveralPlacesWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter.New(limiter.Options{Slots: 1, Queue: 8})
		release, err := l.AcquireLarge(t.Context(), "x", 9)
		require.NoError(t, err, "it waits for nothing")
		go func() { _, _ = l.AcquireLarge(t.Context(), "a", 3) }()
		synctest.Wait()
		_, err = l.AcquireLarge(t.Context(), "a", 2)
		require.ErrorIs(t, err, limiter.ErrQueueFull)
		require.ErrorContains(t, err, `3 of "a"`)
		go func() { _, _ = l.AcquireLarge(t.Context(), "b", 4) }()
		synctest.Wait()
		_, err = l.AcquireLarge(t.Context(), "c", 2)
		require.ErrorContains(t, err, "7 of 8")
		require.Equal(t, limiter.Stats{Running: 1, Waiting: 2}, l.Stats())
		release()
		synctest.Wait()
		require.Equal(t, limiter.Stats{Running: 1, Waiting: 1}, l.Stats())
	})
}

func TestNoSlotIsLostOrGrantedTwice(t *testing.T) {
	l := limiter.New(limiter.Options{Slots: 3, Queue: 50})
	var running, most atomic.Int64
	var all sync.WaitGroup
	for w := range 40 {
		all.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(300))*time.Microsecond)
				release, err := l.Acquire(ctx, fmt.Sprint(w%5))
				cancel()
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, limiter.ErrQueueFull) {
						t.Error(err)
					}
					continue
				}
				n := running.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				time.Sleep(time.Duration(rand.IntN(20)) * time.Microsecond)
				running.Add(-1)
				release()
				release()
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	require.Equal(t, limiter.Stats{}, l.Stats())
}

func TestMoreTenantsThanAreRememberedAreServed(t *testing.T) {
	l := limiter.New(limiter.Options{Slots: 2})
	for i := range 3000 {
		acquire(t, l, fmt.Sprint(i))()
	}
	require.Equal(t, limiter.Stats{}, l.Stats())
}
