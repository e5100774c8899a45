// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"slices"
)

// stream returns all nodes in the order in which they are written, wave by wave. Engines that
// sort for themselves get their own order, so that the files look like what happens. For the
// others the order keeps every edge.
func (p *planner) stream() []int {
	order := make([]int, len(p.traits))
	for v := range order {
		order[v] = v
	}
	slices.SortFunc(order, func(v, w int) int {
		return cmp.Or(cmp.Compare(p.levels[v], p.levels[w]), p.compare(v, w))
	})
	if !p.KeepsOrder {
		return order
	}
	return p.keeping(order)
}

// keeping returns the nodes as order has them, but each after what it needs (Kahn's algorithm,
// the first free node first). Edges that lead to a later wave constrain nothing.
func (p *planner) keeping(order []int) []int {
	n := len(order)
	rank := make([]int, n)
	for i, v := range order {
		rank[v] = i
	}

	// Count for each vertex what it waits for. Joins are vertices after the nodes.
	users := make([][]int, n+len(p.joins))
	waits := make([]int, n+len(p.joins))
	need := func(start, end int) {
		users[end] = append(users[end], start)
		waits[start]++
	}
	for i := range p.to {
		if start := p.index[p.g.Edges[i].From]; p.levels[p.to[i]] <= p.levels[start] {
			need(start, p.to[i])
		}
	}
	for j, s := range p.joins {
		for _, start := range s.from {
			need(start, n+j)
		}
		for _, end := range s.to {
			if !leftOut(p.traits[end]) {
				need(n+j, end)
			}
		}
	}

	// A node is ready once nothing that it waits for is left; a join then frees its own users.
	ready := make([]bool, n) // by rank
	next := 0                // no rank below it is ready
	var free func(v int)
	release := func(v int) {
		for _, user := range users[v] {
			waits[user]--
			if waits[user] == 0 {
				free(user)
			}
		}
	}
	free = func(v int) {
		if v >= n {
			release(v)
			return
		}
		ready[rank[v]] = true
		next = min(next, rank[v])
	}
	for v, w := range slices.Clone(waits) {
		if w == 0 {
			free(v)
		}
	}

	// Take the first ready node until none is left.
	out := make([]int, 0, n)
	for next < n {
		if !ready[next] {
			next++
			continue
		}
		v := order[next]
		ready[next] = false
		out = append(out, v)
		release(v)
	}
	return out
}
