// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package lru is a cache in memory with a limit on the sum of its entries' costs
// (bytes, or 1 for each); the least recently used entries are evicted first.
//
// # Invariants
//
// A Cache is safe for concurrent use. Its values are shared by all callers, who
// must not change them. A nil Cache keeps nothing.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values by key.
type Cache[K comparable, V any] struct {
	limit int64

	mu      sync.Mutex
	entries map[K]*list.Element
	recent  *list.List // of *entry[K, V], the most recently used first
	stats   Stats
}

// Stats are the counters of a Cache since it was made, and what it holds now.
type Stats struct {
	Hits, Misses, Evictions int64
	// Entries is their number, Cost the sum of their costs.
	Entries int
	Cost    int64
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
}

// New returns a Cache whose entries cost at most limit together; nil, which keeps
// nothing, if limit is not positive.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	if limit <= 0 {
		return nil
	}
	return &Cache[K, V]{limit: limit, entries: map[K]*list.Element{}, recent: list.New()}
}

// Get returns the value of key; false if the cache does not have it.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	if c == nil {
		return value, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		c.stats.Misses++
		return value, false
	}
	c.stats.Hits++
	c.recent.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value and replaces the one that key had. A value that costs more than
// the limit is not kept.
func (c *Cache[K, V]) Put(key K, value V, cost int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.remove(e)
	}
	if cost > c.limit {
		return
	}
	c.entries[key] = c.recent.PushFront(&entry[K, V]{key, value, cost})
	c.stats.Cost += cost
	for c.stats.Cost > c.limit {
		c.remove(c.recent.Back())
		c.stats.Evictions++
	}
}

// Delete forgets a key.
func (c *Cache[K, V]) Delete(key K) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.remove(e)
	}
}

// remove takes an entry out; the lock is held.
func (c *Cache[K, V]) remove(e *list.Element) {
	old := c.recent.Remove(e).(*entry[K, V])
	delete(c.entries, old.key)
	c.stats.Cost -= old.cost
}

// Stats returns the counters.
func (c *Cache[K, V]) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Entries = c.recent.Len()
	return stats
}
