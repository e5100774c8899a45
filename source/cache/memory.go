// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"container/list"
	"sync"
)

// Memory keeps values in memory, up to a number of bytes; those used longest
// ago go first. It is safe for concurrent use. Its values are shared by all
// who get them, so they must never be changed. A nil Memory keeps nothing.
type Memory[V any] struct {
	max int64

	mu     sync.Mutex
	values map[string]*list.Element
	order  *list.List // of *held[V], used last at the front
	stats  MemoryStats
}

// MemoryStats are what a Memory did, and what it holds.
type MemoryStats struct {
	Hits, Misses, Evictions int64
	// Entries and Bytes are what is held now.
	Entries int
	Bytes   int64
}

type held[V any] struct {
	key   string
	value V
	size  int64
}

// NewMemory is a Memory of at most maxBytes; none where that is not positive.
func NewMemory[V any](maxBytes int64) *Memory[V] {
	if maxBytes <= 0 {
		return nil
	}
	return &Memory[V]{max: maxBytes, values: map[string]*list.Element{}, order: list.New()}
}

// Get is the value under key; false where there is none.
func (m *Memory[V]) Get(key string) (V, bool) {
	var none V
	if m == nil {
		return none, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.values[key]
	if !ok {
		m.stats.Misses++
		return none, false
	}
	m.stats.Hits++
	m.order.MoveToFront(e)
	return e.Value.(*held[V]).value, true
}

// Put keeps a value of about size bytes under key. One that is larger than the
// memory is not kept, and nothing is under key then.
func (m *Memory[V]) Put(key string, value V, size int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.values[key]; ok {
		m.remove(e)
	}
	if size > m.max {
		return
	}
	m.values[key] = m.order.PushFront(&held[V]{key: key, value: value, size: size})
	m.stats.Bytes += size
	for m.stats.Bytes > m.max {
		m.remove(m.order.Back())
		m.stats.Evictions++
	}
}

// remove takes a value out; the lock is held.
func (m *Memory[V]) remove(e *list.Element) {
	h := m.order.Remove(e).(*held[V])
	delete(m.values, h.key)
	m.stats.Bytes -= h.size
}

// Stats are the counters of the memory.
func (m *Memory[V]) Stats() MemoryStats {
	if m == nil {
		return MemoryStats{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stats := m.stats
	stats.Entries = m.order.Len()
	return stats
}
