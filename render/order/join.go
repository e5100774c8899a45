// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"
	"sort"
)

// table answers for any node what a join requires of it, without looking at every
// pair: a join of two large specs costs a sort. The end of a join is in the order of
// the engine; a node finds its own position there, and all that is before it costs no
// wave.
type table struct {
	// ready is the latest end that every node must wait for, or -1.
	ready int
	// rest is the ends without readiness, in the order of the engine.
	rest []int
	// before is the latest of the ends up to each index of rest, and after the latest
	// from there on.
	before, after []int
}

// constraint is the first wave that one node allows another.
type constraint struct {
	wave, after int
	gate        bool
}

// newTable makes the table of join j, whose ends have their waves already.
func (p *planner) newTable(j int) table {
	t := table{ready: -1}
	for _, node := range p.joins[j].to {
		switch n := p.traits[node]; {
		case leftOut(n):
		case n.ready:
			t.ready = p.later(t.ready, node)
		default:
			t.rest = append(t.rest, node)
		}
	}
	slices.SortFunc(t.rest, p.compare)
	t.before, t.after = slices.Clone(t.rest), slices.Clone(t.rest)
	for i := 1; i < len(t.rest); i++ {
		t.before[i] = p.later(t.before[i-1], t.rest[i])
	}
	for i := len(t.rest) - 2; i >= 0; i-- {
		t.after[i] = p.later(t.rest[i], t.after[i+1])
	}
	return t
}

// later returns the node of the later wave. If both are in the same wave it returns a workload,
// which people think of first, and else the first node. -1 stands for no node.
func (p *planner) later(a, b int) int {
	switch {
	case a < 0, p.levels[b] > p.levels[a]:
		return b
	case p.levels[b] == p.levels[a] && p.traits[b].workload && !p.traits[a].workload:
		return b
	}
	return a
}

// constraints returns what the join requires of v.
func (t table) constraints(p *planner, v int) []constraint {
	var out []constraint
	if t.ready >= 0 {
		out = append(out, constraint{p.levels[t.ready] + 1, t.ready, true})
	}
	cut := t.cut(p, v)
	if cut > 0 {
		end := t.before[cut-1]
		out = append(out, constraint{p.levels[end], end, false})
	}
	if cut < len(t.rest) {
		end := t.after[cut]
		out = append(out, constraint{p.levels[end] + 1, end, true})
	}
	return out
}

// cut returns how many of rest the engine surely applies before v inside a wave.
func (t table) cut(p *planner, v int) int {
	return sort.Search(len(t.rest), func(i int) bool {
		return !p.before(p.traits[t.rest[i]], p.traits[v])
	})
}
