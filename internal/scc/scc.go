// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package scc orders directed graphs that may have cycles: the vertices of a cycle are one
// component, and components come after those that they lead to. The order depends on nothing
// but the input.
package scc

import "slices"

// Components returns the strongly connected components of a graph that is given by the
// successors of each vertex (Tarjan, 1972). A component comes after the components that it
// leads to. The result is the same for the same input; the cost is one visit of each edge.
func Components(next [][]int) (out [][]int) {
	index, low := make([]int, len(next)), make([]int, len(next)) // from 1; 0 means not yet visited
	open := make([]bool, len(next))
	var stack []int
	count := 0
	var visit func(v int)
	visit = func(v int) {
		count++
		index[v], low[v], open[v] = count, count, true
		stack = append(stack, v)
		for _, n := range next[v] {
			if index[n] == 0 {
				visit(n)
				low[v] = min(low[v], low[n])
			} else if open[n] {
				low[v] = min(low[v], index[n])
			}
		}

		// A vertex that reaches a vertex below it on the stack belongs to the component of that
		// vertex.
		if low[v] < index[v] {
			return
		}

		// The component is v and all above it on the stack.
		top := len(stack) - 1
		for ; stack[top] != v; top-- {
			open[stack[top]] = false
		}
		open[v] = false
		out = append(out, slices.Clone(stack[top:]))
		stack = stack[:top]
	}

	// Vertices that no visit reached so far start one of their own.
	for v := range next {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}
