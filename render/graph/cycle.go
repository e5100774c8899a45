// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/scc"
	"github.com/ropewalk/ropewalk/render/object"
)

// CycleError is a circle of explicit edges: each edge ends at the start of the next edge, and the
// last edge at the start of the first.
type CycleError struct {
	// Names are the ends of the edges: ids of nodes, or names of specs where all edges are
	// dependencies of specs. Names[i] depends on the next name.
	Names []string
	Edges []Edge
}

// mostSteps limits the steps of a circle in a message.
const mostSteps = 20

// Error prints the circle: cycle: a -> b -> a; the middle of a long one is left out.
func (e *CycleError) Error() string {
	if len(e.Names) == 0 {
		return "cycle"
	}
	names := e.Names
	if more := len(names) - mostSteps; more > 0 {
		names = slices.Insert(slices.Clone(names[:mostSteps]), mostSteps, fmt.Sprintf("(%d more)", more))
	}
	return "cycle: " + strings.Join(names, " -> ") + " -> " + e.Names[0]
}

// web is the vertices of a graph and what each depends on. Vertices below
// nodes are indexes of nodes; above them every join has a vertex of its own, so
// that a product of specs costs a sum.
type web struct {
	nodes int
	next  [][]int
}

// web returns the explicit edges.
func (b *builder) web() web {
	n := len(b.index.items)
	w := web{n, make([][]int, n+len(b.joins))}
	for _, e := range b.edges {
		start := b.index.ids[e.From]
		w.next[start] = append(w.next[start], b.index.ids[e.To])
	}
	for j, join := range b.joins {
		for _, id := range join.From {
			start := b.index.ids[id]
			w.next[start] = append(w.next[start], n+j)
		}
		for _, id := range join.To {
			w.next[n+j] = append(w.next[n+j], b.index.ids[id])
		}
	}
	return w
}

// reportCycles reports the shortest cycle of each strongly connected component of
// the explicit edges.
func (b *builder) reportCycles() {
	w := b.web()
	for _, component := range scc.Components(w.next) {
		if len(component) < 2 {
			continue
		}
		slices.Sort(component)
		cycle := b.cycle(w, w.shortest(component))
		e := &object.Error{Err: cycle, Hint: "remove one of these dependencies"}
		for i, edge := range cycle.Edges {
			e.Pos = object.FirstValid(e.Pos, edge.Pos)
			if i == mostSteps && len(cycle.Edges) > mostSteps {
				e.Notes = append(e.Notes, object.Note{Pos: edge.Pos, Text: fmt.Sprintf("and %d more", len(cycle.Edges)-mostSteps)})
				break
			}
			to := cycle.Names[(i+1)%len(cycle.Names)]
			e.Notes = append(e.Notes, object.Note{
				Pos: edge.Pos, Text: fmt.Sprintf("%s depends on %s (%s)", cycle.Names[i], to, edge.Rule),
			})
		}
		e.Pos = object.FirstValid(e.Pos, position(b.index.items[b.index.ids[cycle.Edges[0].From]].node))
		b.fail(e)
	}
}

// maxStarts is from how many vertices of a component a cycle is looked for: a ring of
// ten thousand nodes would else take the square of that.
const maxStarts = 100

// shortest returns the vertices of a shortest cycle through one of the first vertices of a
// component, which is sorted. The cycle starts at its smallest vertex. Only steps to nodes count.
func (w web) shortest(component []int) []int {
	inside := make(map[int]bool, len(component))
	for _, v := range component {
		inside[v] = true
	}
	var best []int
	length := len(component) + 1
	for i, start := range component {
		if start >= w.nodes || i == maxStarts {
			break
		}
		if cycle, n := w.around(start, inside, length); n < length {
			best, length = cycle, n
		}
	}
	return best
}

// around returns a shortest way from start back to itself in fewer than limit steps, and its
// length. It returns limit if there is no such way. Ways through a join cost nothing for the join
// itself, so its vertices go to the front of the queue.
func (w web) around(start int, inside map[int]bool, limit int) ([]int, int) {
	before := map[int]int{start: -1}
	level := []int{start}
	for steps := 1; steps < limit && len(level) > 0; steps++ {
		var after []int
		for i := 0; i < len(level); i++ {
			v := level[i]
			for _, next := range w.next[v] {
				if next == start {
					return w.way(before, v), steps
				}
				if _, seen := before[next]; seen || !inside[next] {
					continue
				}
				before[next] = v
				if next >= w.nodes {
					level = append(level, next)
				} else {
					after = append(after, next)
				}
			}
		}
		level = after
	}
	return nil, limit
}

func (w web) way(before map[int]int, last int) []int {
	var way []int
	for v := last; v >= 0; v = before[v] {
		way = append(way, v)
	}
	slices.Reverse(way)
	return way
}

// cycle names the edges between the vertices of a way.
func (b *builder) cycle(w web, way []int) *CycleError {
	c := &CycleError{}
	specs := true
	var names []string
	for i := 0; i < len(way); i++ {
		start := way[i]
		via := -1
		if i+1 < len(way) && way[i+1] >= w.nodes {
			i++
			via = way[i] - w.nodes
		}
		end := way[(i+1)%len(way)]
		edge, name := b.step(start, end, via)
		specs = specs && edge.Rule == RuleSpec
		c.Edges = append(c.Edges, edge)
		c.Names = append(c.Names, string(edge.From))
		names = append(names, name)
	}
	if specs {
		c.Names = names
	}
	return c
}

// step returns the edge from one node to another, and the name of its start. If via is not
// negative, the edge leads through that join, and its start is a spec or a set.
func (b *builder) step(start, end, via int) (Edge, string) {
	e := Edge{From: b.index.items[start].node.ID, To: b.index.items[end].node.ID, Explicit: true}
	if via >= 0 {
		e.Rule, e.Pos = b.joins[via].Rule, b.joins[via].Pos
		return e, b.joins[via].FromName
	}
	i, _ := slices.BinarySearchFunc(b.edges, e, compareEdges)
	return b.edges[i], string(e.From)
}

// breakCycles parts inferred edges into those that close no cycle and the rest. The edges are in
// the order of their certainty. Both results are sorted.
func (b *builder) breakCycles(inferred []Edge) (kept, dropped []Edge) {
	// Only edges within a strongly connected component can close a cycle.
	explicit := b.web()
	edges := explicit.clone()
	for _, e := range inferred {
		start := b.index.ids[e.From]
		edges.next[start] = append(edges.next[start], b.index.ids[e.To])
	}
	component := make([]int, len(edges.next))
	for c, vertices := range scc.Components(edges.next) {
		for _, v := range vertices {
			component[v] = c
		}
	}

	// Such an edge is dropped if its end already depends on its start.
	reach := reached{from: -1, seen: make([]int, len(edges.next))}
	for i, e := range inferred {
		start, end := b.index.ids[e.From], b.index.ids[e.To]
		if component[start] != component[end] {
			kept = append(kept, e)
			continue
		}
		// Edges onto one node follow each other, and keeping one of them adds
		// nothing to what the node itself depends on: one search does for all.
		if i == 0 || inferred[i-1].To != e.To || reach.from != end {
			explicit.reach(&reach, end)
		}
		if reach.steps > maxSteps || reach.seen[start] == reach.round {
			dropped = append(dropped, e)
			continue
		}
		kept = append(kept, e)
		explicit.next[start] = append(explicit.next[start], end)
	}
	slices.SortFunc(kept, compareEdges)
	slices.SortFunc(dropped, compareEdges)
	return kept, dropped
}

func (w web) clone() web {
	next := make([][]int, len(w.next))
	for v := range w.next {
		next[v] = slices.Clip(w.next[v])
	}
	return web{w.nodes, next}
}

// maxSteps limits the search for circles of inferred edges; edges that it does not reach are left
// out. A ring of 20,000 owners takes 200 million.
const maxSteps = 20_000_000

// reached is the vertices that a vertex depends on, itself included: those that seen
// gives the number of the round.
type reached struct {
	from, round, steps int
	seen               []int
}

// reach looks for what the vertex from depends on.
func (w web) reach(r *reached, start int) {
	r.from = start
	r.round++
	r.seen[start] = r.round
	todo := []int{start}
	for len(todo) > 0 && r.steps <= maxSteps {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r.steps += 1 + len(w.next[v])
		for _, next := range w.next[v] {
			if r.seen[next] != r.round {
				r.seen[next] = r.round
				todo = append(todo, next)
			}
		}
	}
}
