// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flight_test

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

	"github.com/ropewalk/ropewalk/source/cache/flight"
)

func TestEqualWorkIsDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[int]
		var runs, joins atomic.Int64
		for range 5 {
			go func() {
				v, _, err := g.Do(t.Context(), "k", func(context.Context) (int, error) {
					runs.Add(1)
					time.Sleep(time.Second)
					return 7, nil
				}, func() { joins.Add(1) })
				if v != 7 || err != nil {
					t.Error(v, err)
				}
			}()
		}
		synctest.Wait()
		require.Equal(t, 5, g.Waiting())
		require.Equal(t, int64(4), joins.Load(), "who joins is told before the wait")
		time.Sleep(2 * time.Second)
		require.Equal(t, int64(1), runs.Load())
		require.Zero(t, g.Waiting())
		_, joined, err := g.Do(t.Context(), "k", func(context.Context) (int, error) { return 0, nil }, nil)
		require.NoError(t, err)
		require.False(t, joined, "nothing is remembered")
	})
}

func TestWorkEndsWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[int]
		ended := make(chan error, 1)
		work := func(ctx context.Context) (int, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return 0, ctx.Err()
		}
		first, leave := context.WithCancel(t.Context())
		go func() { _, _, _ = g.Do(first, "k", work, nil) }()
		synctest.Wait()
		second, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _, _, _ = g.Do(second, "k", work, nil) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		require.Empty(t, ended, "the second one still waits")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.ErrorIs(t, <-ended, context.Canceled)
		v, joined, err := g.Do(t.Context(), "k", func(context.Context) (int, error) { return 1, nil }, nil)
		require.NoError(t, err)
		require.False(t, joined)
		require.Equal(t, 1, v)
	})
}

// TestNobodyJoinsWhatIsBeingCancelled has work that takes its time to end: who asks
// meanwhile gets a flight of their own.
func TestNobodyJoinsWhatIsBeingCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string]
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_, _, _ = g.Do(ctx, "k", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				time.Sleep(time.Minute)
				return "old", nil
			}, nil)
		}()
		synctest.Wait()
		leave()
		synctest.Wait()
		v, joined, err := g.Do(t.Context(), "k", func(context.Context) (string, error) {
			time.Sleep(2 * time.Minute) // the old one lands before this one
			return "new", nil
		}, nil)
		require.NoError(t, err)
		require.False(t, joined)
		require.Equal(t, "new", v)
	})
}

func TestTheLastCallerWaitsForTheEnd(t *testing.T) {
	for _, c := range []struct{ patience, cleans, waits time.Duration }{
		{-1, time.Second, 0},
		{0, time.Second, time.Second},
		{0, time.Hour, flight.DefaultPatience},
		{time.Minute, time.Hour, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := flight.Group[int]{Patience: c.patience}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			_, _, err := g.Do(ctx, "k", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				time.Sleep(c.cleans)
				return 0, nil
			}, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, time.Minute+c.waits, time.Since(begin))
			time.Sleep(2 * time.Hour)
		})
	}
}

func TestTheValuesOfAContextStayAndItsEndDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var g flight.Group[any]
		first, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "first"))
		work := func(ctx context.Context) (any, error) {
			time.Sleep(time.Minute)
			return ctx.Value(key{}), ctx.Err()
		}
		go func() { _, _, _ = g.Do(first, "k", work, nil) }()
		synctest.Wait()
		time.AfterFunc(time.Second, leave)
		v, joined, err := g.Do(t.Context(), "k", work, nil)
		require.NoError(t, err)
		require.True(t, joined)
		require.Equal(t, "first", v)
	})
}

func TestAPanicIsAnErrorForAllWhoWait(t *testing.T) {
	for name, work := range map[string]func(){
		"*errors.errorString": func() { panic(errors.New("an error")) },
		"string":              func() { panic("a text") },
	} {
		var g flight.Group[int]
		begun, all := make(chan struct{}), sync.WaitGroup{}
		for range 3 {
			all.Go(func() {
				_, _, err := g.Do(t.Context(), "k", func(context.Context) (int, error) { <-begun; work(); return 0, nil }, nil)
				if err == nil {
					t.Error("no error")
				}
			})
		}
		require.Eventually(t, func() bool { return g.Waiting() == 3 }, 20*time.Second, time.Millisecond)
		close(begun)
		all.Wait()
		_, _, err := g.Do(t.Context(), "k", func(context.Context) (int, error) { work(); return 0, nil }, nil)
		require.ErrorContains(t, err, "please report it: a value of type "+name)
		_, _, err = g.Do(t.Context(), "k", func(context.Context) (int, error) { return 0, nil }, nil)
		require.NoError(t, err)
	}
}

func ExampleGroup() {
	var g flight.Group[string]
	value, joined, err := g.Do(context.Background(), "module", func(context.Context) (string, error) {
		return "fetched", nil
	}, nil)
	fmt.Println(value, joined, err)
	// Output: fetched false <nil>
}
