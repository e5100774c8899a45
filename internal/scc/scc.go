// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package scc orders directed graphs that may have cycles.
//
// Callers: render/graph, render/order and render/workload/generate.
package scc

import "slices"

// Components is the strongly connected components of a graph given by the
// successors of each vertex (Tarjan, 1972). Successors come in components
// before or with those that lead to them. The result is the same for the same
// input; it costs one visit of each edge.
func Components(next [][]int) [][]int {
	t := &tarjan{next: next, index: make([]int, len(next)), low: make([]int, len(next)), on: make([]bool, len(next))}
	for v := range next {
		if t.index[v] == 0 {
			t.visit(v)
		}
	}
	return t.out
}

type tarjan struct {
	next       [][]int
	index, low []int // from 1; 0 means not yet visited
	on         []bool
	stack      []int
	count      int
	out        [][]int
}

// frame is one vertex on the way of the search, with the number of successors
// that were followed. A stack of frames bears chains of any depth.
type frame struct{ vertex, done int }

func (t *tarjan) visit(root int) {
	way := []frame{{vertex: root}}
	t.open(root)
	for len(way) > 0 {
		top := &way[len(way)-1]
		v := top.vertex
		if top.done < len(t.next[v]) {
			n := t.next[v][top.done]
			top.done++
			switch {
			case t.index[n] == 0:
				t.open(n)
				way = append(way, frame{vertex: n})
			case t.on[n]:
				t.low[v] = min(t.low[v], t.index[n])
			}
			continue
		}
		if t.low[v] == t.index[v] {
			t.close(v)
		}
		way = way[:len(way)-1]
		if len(way) > 0 {
			up := way[len(way)-1].vertex
			t.low[up] = min(t.low[up], t.low[v])
		}
	}
}

func (t *tarjan) open(v int) {
	t.count++
	t.index[v], t.low[v], t.on[v] = t.count, t.count, true
	t.stack = append(t.stack, v)
}

func (t *tarjan) close(v int) {
	at := len(t.stack) - 1
	for t.stack[at] != v {
		at--
	}
	component := slices.Clone(t.stack[at:])
	for _, u := range component {
		t.on[u] = false
	}
	t.stack = t.stack[:at]
	t.out = append(t.out, component)
}
