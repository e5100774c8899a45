// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"container/list"
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/object"
)

// Memory is an Evaluator that remembers what another one gave: a process that
// renders a project again and again evaluates only what has changed in between.
// It is safe for concurrent use, as what it gives is: the objects of nodes are
// shared between results and must not be changed, nodes themselves are not.
//
// The key is the whole request but its limits, positions too, so that an error
// or a trace always names the right line. Only what went well is remembered.
type Memory struct {
	evaluator Evaluator
	limit     int64

	mu      sync.Mutex
	entries map[memoryKey]*list.Element
	recent  list.List // of *remembered, the latest first
	size    int64
	stats   MemoryStats
}

type memoryKey [sha256.Size]byte

type remembered struct {
	key    memoryKey
	result Result
	size   int64
}

// MemoryStats count what happened in a Memory since it was made.
type MemoryStats struct {
	Hits, Misses int
	// Entries and Bytes are what is remembered now.
	Entries int
	Bytes   int64
}

// Remember is e with a memory of at most limit bytes of results, by their size
// as messages: in memory they take some four times as much.
func Remember(e Evaluator, limit int64) *Memory {
	return &Memory{evaluator: e, limit: limit, entries: map[memoryKey]*list.Element{}}
}

// Evaluate implements Evaluator.
func (m *Memory) Evaluate(ctx context.Context, req Request) (Result, error) {
	c, err := newCodec()
	if err != nil {
		return Result{}, err
	}
	keyed := req
	keyed.Limits = Limits{}
	data, err := c.enc.Marshal(keyed)
	if err != nil {
		return m.evaluator.Evaluate(ctx, req)
	}
	key := memoryKey(sha256.Sum256(data))
	if result, ok := m.get(key); ok {
		return result, ctx.Err()
	}
	result, err := m.evaluator.Evaluate(ctx, req)
	if err != nil {
		return result, err
	}
	data, err = c.enc.Marshal(resultFrame{Result: result, Warnings: mistakeFrames(result.Warnings)})
	if err == nil {
		m.put(&remembered{key: key, result: own(result), size: int64(len(data))})
	}
	return result, nil
}

// Trace implements Evaluator. Nothing of it is remembered.
func (m *Memory) Trace(ctx context.Context, req Request, queries []Query) ([]Origin, error) {
	return m.evaluator.Trace(ctx, req, queries)
}

// Stats is what happened so far.
func (m *Memory) Stats() MemoryStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	stats := m.stats
	stats.Entries, stats.Bytes = len(m.entries), m.size
	return stats
}

func (m *Memory) get(key memoryKey) (Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.entries[key]
	if !ok {
		m.stats.Misses++
		return Result{}, false
	}
	m.stats.Hits++
	m.recent.MoveToFront(at)
	return own(at.Value.(*remembered).result), true //nolint:forcetypeassert // it holds nothing else
}

func (m *Memory) put(r *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[r.key] != nil || r.size > m.limit {
		return // Another call was faster, or it would push out all others.
	}
	m.entries[r.key] = m.recent.PushFront(r)
	m.size += r.size
	for m.size > m.limit {
		last := m.recent.Back()
		old := m.recent.Remove(last).(*remembered) //nolint:forcetypeassert // it holds nothing else
		delete(m.entries, old.key)
		m.size -= old.size
	}
}

// own is r with nodes of its own, because later stages fill in what they lack.
func own(r Result) Result {
	r.Nodes = ownNodes(r.Nodes)
	if r.Provisioned != nil {
		made := make(map[string]Provisioned, len(r.Provisioned))
		for key, p := range r.Provisioned {
			p.Nodes = ownNodes(p.Nodes)
			made[key] = p
		}
		r.Provisioned = made
	}
	r.Violations, r.Warnings = slices.Clone(r.Violations), slices.Clone(r.Warnings)
	return r
}

func ownNodes(nodes []*object.Node) []*object.Node {
	out := slices.Clone(nodes)
	for i, n := range out {
		copied := *n
		out[i] = &copied
	}
	return out
}
