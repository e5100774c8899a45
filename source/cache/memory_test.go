// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/cache"
)

func TestMemoryHoldsWhatWasUsedLast(t *testing.T) {
	m := cache.NewMemory[string](100)
	for i := range 4 {
		m.Put(fmt.Sprint(i), fmt.Sprint("value ", i), 25)
	}
	got, ok := m.Get("0")
	require.True(t, ok)
	require.Equal(t, "value 0", got)
	m.Put("4", "value 4", 25)
	_, ok = m.Get("1")
	require.False(t, ok, "it was used longest ago")
	require.Equal(t, cache.MemoryStats{Hits: 1, Misses: 1, Evictions: 1, Entries: 4, Bytes: 100}, m.Stats())

	m.Put("4", "other", 50)
	got, _ = m.Get("4")
	require.Equal(t, "other", got)
	require.Equal(t, 3, m.Stats().Entries, "a larger value for the same key pushes others out")
	m.Put("4", "too large", 101)
	_, ok = m.Get("4")
	require.False(t, ok, "not even the value before")
	require.EqualValues(t, 50, m.Stats().Bytes)
}

func TestNoMemoryKeepsNothing(t *testing.T) {
	m := cache.NewMemory[int](0)
	require.Nil(t, m)
	m.Put("a", 1, 1)
	_, ok := m.Get("a")
	require.False(t, ok)
	require.Zero(t, m.Stats())
}

func ExampleMemory() {
	m := cache.NewMemory[[]string](1 << 20)
	m.Put("shop", []string{"00-Namespace--shop.yaml"}, 23)
	files, ok := m.Get("shop")
	fmt.Println(files, ok)
	// Output: [00-Namespace--shop.yaml] true
}
