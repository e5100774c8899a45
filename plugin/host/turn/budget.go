// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import "sync"

// Budget bounds what is kept at once, in bytes, and how much of it one tenant keeps:
// half. It is safe for concurrent use.
type Budget struct {
	size int64

	mu   sync.Mutex
	used int64
	by   map[string]int64
}

// NewBudget is a budget of some bytes.
func NewBudget(size int64) *Budget { return &Budget{size: size, by: map[string]int64{}} }

// Take takes bytes for a tenant until they are given back, once; it is false where so
// many are not left.
func (b *Budget) Take(tenant string, bytes int64) (back func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+bytes > b.size || b.by[tenant]+bytes > (b.size+1)/2 {
		return nil, false
	}
	b.used += bytes
	b.by[tenant] += bytes
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.used -= bytes
		if b.by[tenant] -= bytes; b.by[tenant] == 0 {
			delete(b.by, tenant)
		}
	}), true
}

// Used is how many bytes are taken.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
