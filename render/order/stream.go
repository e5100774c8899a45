// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"container/heap"
	"slices"
)

// stream is all nodes in the order in which they are written, wave by wave. Engines
// that sort for themselves get their own order, so that the files look like what
// happens; for the others the order keeps every edge.
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
	rank := make([]int, len(order))
	for i, v := range order {
		rank[v] = i
	}
	return p.keeping(rank)
}

// keeping is the nodes in the order of rank, but each after what it needs (Kahn's
// algorithm with a priority queue). Edges that lead to a later wave constrain nothing.
func (p *planner) keeping(rank []int) []int {
	n := len(rank)
	users := make([][]int, n+len(p.joins))
	waits := make([]int, n+len(p.joins))
	need := func(from, to int) {
		users[to] = append(users[to], from)
		waits[from]++
	}
	for i := range p.to {
		if from := p.index[p.g.Edges[i].From]; p.levels[p.to[i]] <= p.levels[from] {
			need(from, p.to[i])
		}
	}
	for j, s := range p.joins {
		for _, from := range s.from {
			need(from, n+j)
		}
		for _, to := range s.to {
			if !leftOut(p.traits[to]) {
				need(n+j, to)
			}
		}
	}
	q := &queue{rank: rank}
	var free func(v int)
	free = func(v int) {
		if v < n {
			heap.Push(q, v)
			return
		}
		for _, user := range users[v] {
			if waits[user]--; waits[user] == 0 {
				free(user)
			}
		}
	}
	for v, w := range slices.Clone(waits) {
		if w == 0 {
			free(v)
		}
	}
	out := make([]int, 0, n)
	for q.Len() > 0 {
		v, _ := heap.Pop(q).(int)
		out = append(out, v)
		for _, user := range users[v] {
			if waits[user]--; waits[user] == 0 {
				free(user)
			}
		}
	}
	return out
}

// queue is nodes by rank; it implements heap.Interface.
type queue struct {
	rank, nodes []int
}

func (q *queue) Len() int           { return len(q.nodes) }
func (q *queue) Less(i, j int) bool { return q.rank[q.nodes[i]] < q.rank[q.nodes[j]] }
func (q *queue) Swap(i, j int)      { q.nodes[i], q.nodes[j] = q.nodes[j], q.nodes[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	if v, ok := x.(int); ok {
		q.nodes = append(q.nodes, v)
	}
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	v := q.nodes[len(q.nodes)-1]
	q.nodes = q.nodes[:len(q.nodes)-1]
	return v
}
