// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lru_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/lru"
)

func TestTheLeastRecentlyUsedEntriesAreEvicted(t *testing.T) {
	c := lru.New[string, int](10)
	c.Put("a", 1, 4)
	c.Put("b", 2, 4)
	_, ok := c.Get("a")
	require.True(t, ok)
	c.Put("c", 3, 4)
	_, ok = c.Get("b")
	require.False(t, ok)
	v, ok := c.Get("a")
	require.True(t, ok)
	require.Equal(t, 1, v)
	require.Equal(t, lru.Stats{Hits: 2, Misses: 1, Evictions: 1, Entries: 2, Cost: 8}, c.Stats())
}

func TestAValueOverTheLimitIsNotKept(t *testing.T) {
	c := lru.New[int, string](10)
	c.Put(1, "old", 3)
	c.Put(1, "larger than all", 11)
	_, ok := c.Get(1)
	require.False(t, ok, "the old value is stale")
	require.Zero(t, c.Stats().Cost)
	c.Put(1, "new", 10)
	c.Put(1, "newer", 9)
	c.Delete(2)
	require.Equal(t, int64(9), c.Stats().Cost)
	c.Delete(1)
	require.Zero(t, c.Stats().Entries)
}

func TestANilCacheKeepsNothing(t *testing.T) {
	c := lru.New[string, int](0)
	require.Nil(t, c)
	c.Put("a", 1, 1)
	c.Delete("a")
	_, ok := c.Get("a")
	require.False(t, ok)
	require.Zero(t, c.Stats())
}

func TestACacheIsSafeForConcurrentUse(t *testing.T) {
	c := lru.New[string, int](50)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 1000 {
				key := strconv.Itoa((i * (w + 1)) % 80)
				if v, ok := c.Get(key); ok {
					require.Equal(t, key, strconv.Itoa(v))
				}
				n, _ := strconv.Atoi(key)
				c.Put(key, n, 1)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, c.Stats().Cost, int64(50))
}
