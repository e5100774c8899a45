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

// TestGoodWorkDoesNotWaitForWorkWithoutEnd has a machine so busy that good work takes
// longer than it takes to find that a tenant holds all places. What is ended then must
// not wait until work without end is stopped.
func TestGoodWorkDoesNotWaitForWorkWithoutEnd(t *testing.T) {
	const count, takes, limit = 10, 400 * time.Millisecond, 20 * time.Second
	tests := map[string]struct {
		evil   int
		after  time.Duration // that the good ones began at
		apart  time.Duration
		begins int
	}{
		"that was there first":          {evil: 3, begins: 1},
		"of many that were there first": {evil: 6, begins: 1},
		"that comes later":              {evil: 1, after: 50 * time.Millisecond, begins: 2},
		"of three that come later":      {evil: 3, after: 50 * time.Millisecond, begins: 2},
		"that keeps coming":             {evil: 10, after: 50 * time.Millisecond, apart: 700 * time.Millisecond, begins: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewYielding(2)
				var all sync.WaitGroup
				begun := time.Now()
				if test.after == 0 {
					begun = begun.Add(100 * time.Millisecond)
				}
				for i := range test.evil {
					all.Go(func() {
						time.Sleep(test.after + time.Duration(i)*test.apart)
						var began atomic.Int64
						_ = q.Run(t.Context(), Name{"evil", fmt.Sprint(i)}, &Task{}, func(ctx context.Context) error {
							ctx, cancel := context.WithTimeout(ctx, limit)
							defer cancel()
							return endless(&began)(ctx)
						})
						if began.Load() > 2 {
							t.Errorf("evil %d: begun %d times", i, began.Load())
						}
					})
				}
				time.Sleep(time.Until(begun))
				for i := range count {
					all.Go(func() {
						began := 0
						err := q.Run(t.Context(), Name{"good", fmt.Sprint(i)}, &Task{}, func(ctx context.Context) error {
							began++
							return sleeping(takes)(ctx)
						})
						// One place does them all, but for the time in which others prove to be long.
						bound := count*takes + time.Duration(test.evil)*Patience
						if took := time.Since(begun); err != nil || began > test.begins || took > bound {
							t.Errorf("good %d: %v, begun %d times, took %s of %s", i, err, began, took, bound)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// long waits in the queue as one that was ended after some time, and says when it runs.
func long(ctx context.Context, q *Queue, name Name, ran, takes time.Duration, order chan<- string) {
	_ = q.Run(ctx, name, &Task{isLong: true, ran: ran}, func(ctx context.Context) error {
		order <- name.Tenant + name.App
		return sleeping(takes)(ctx)
	})
}

func TestWhatWasEndedYoungComesBeforeWhatRanLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, order := NewYielding(2), make(chan string, 100)
		go long(t.Context(), q, Name{"b", "0"}, 0, 3*time.Second, order)
		synctest.Wait()
		for _, w := range []struct {
			name Name
			ran  time.Duration
		}{
			{Name{"b", "1"}, 300 * time.Millisecond}, {Name{"a", "2"}, 9 * time.Second},
			{Name{"a", "1"}, 3 * time.Second}, {Name{"a", "0"}, 400 * time.Millisecond},
		} {
			go long(t.Context(), q, w.name, w.ran, 10*time.Millisecond, order)
			synctest.Wait()
		}
		// The other place is busy with what is quick, all the time.
		var quick sync.WaitGroup
		for i := range 500 {
			quick.Go(func() {
				_ = q.Run(t.Context(), Name{"a", fmt.Sprint("quick", i)}, &Task{}, sleeping(100*time.Millisecond))
			})
		}
		var got []string
		for range 5 {
			got = append(got, <-order)
		}
		require.Equal(t, []string{"b0", "a0", "b1", "a1", "a2"}, got)
		quick.Wait()
		require.Empty(t, q.lines)
		require.Empty(t, q.holders)
	})
}

func TestATaskThatProvesToBeQuickIsNotLongAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewYielding(2)
		ended := 0
		task := &Task{Ended: func() { ended++ }}
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { require.NoError(t, q.Run(t.Context(), Name{"a", "a"}, task, sleeping(500*time.Millisecond))) })
		}
		synctest.Wait()
		require.NoError(t, q.Run(t.Context(), Name{"b", "b"}, &Task{}, sleeping(time.Millisecond)))
		require.Equal(t, 1, ended)
		all.Wait()
		require.Equal(t, 1, ended)
		require.False(t, task.isLong)
	})
}
