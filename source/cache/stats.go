// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Stats count the accesses to one kind of entry since the store was opened, in this process.
type Stats struct {
	Kind string
	// Hits and Misses count reads; an entry that was corrupt is a miss.
	Hits, Misses int64
	// Corrupt counts entries that were not what their header says.
	Corrupt int64
	// Failures counts reads and writes that the file system refused.
	Failures int64
}

// counters are the Stats of a kind while they change.
type counters struct {
	hits, misses, corrupt, failures atomic.Int64
}

// countersOf returns the counters of a kind.
func (s *Store) countersOf(kind string) *counters {
	if c, ok := s.kinds.Load(kind); ok {
		return c.(*counters)
	}
	c, _ := s.kinds.LoadOrStore(kind, &counters{})
	return c.(*counters)
}

// Stats returns the counters of every kind that was used, sorted by kind.
func (s *Store) Stats() []Stats {
	var out []Stats
	s.kinds.Range(func(kind, value any) bool {
		c := value.(*counters)
		out = append(out, Stats{
			Kind: kind.(string), Hits: c.hits.Load(), Misses: c.misses.Load(), Corrupt: c.corrupt.Load(), Failures: c.failures.Load(),
		})
		return true
	})
	slices.SortFunc(out, func(a, b Stats) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}
