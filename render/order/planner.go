// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"slices"

	"github.com/ropewalk/ropewalk/internal/scc"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// reason says why a node is in its wave: an edge or a join, by its index in the graph, and the node
// at its end.
type reason struct {
	edge, join int // -1 where the reason is something else
	after      int // -1 without such a node
	gate       bool
	// shared marks a claim in the wave of its user, and last a node that was moved to
	// the last wave.
	shared, last bool
}

func noReason() reason { return reason{edge: -1, join: -1, after: -1} }

// planner holds what is known of nodes, edges and joins, by their indices.
type planner struct {
	*engine
	g        *graph.Graph
	index    map[object.ID]int
	traits   []traits
	verdicts []verdict
	// from is the edges of each node, and joined its joins.
	from, joined [][]int
	to           []int // the end of each edge
	joins        []join
	// uses are the claims that a node uses, and user the node whose wave a claim shares, or -1.
	uses map[pair]bool
	user []int
	// least is the wave before which a node may not come.
	least []int

	levels  []int
	reasons []reason
	tables  []table
}

type pair struct{ from, to int }

// join is the two ends of a join, as indices of nodes.
type join struct{ from, to []int }

// newPlanner makes a planner with the nodes, edges and joins of g by number.
func newPlanner(g *graph.Graph, e *engine) *planner {
	n := len(g.Nodes)
	p := &planner{
		engine: e, g: g,
		index:  make(map[object.ID]int, n),
		traits: e.allTraits(g),
		from:   make([][]int, n), joined: make([][]int, n),
		to:     make([]int, len(g.Edges)),
		joins:  make([]join, len(g.Joins)),
		uses:   map[pair]bool{},
		user:   slices.Repeat([]int{-1}, n),
		least:  make([]int, n),
		levels: make([]int, n), reasons: make([]reason, n),
		tables: make([]table, len(g.Joins)),
	}

	// Each edge is found by the node that depends.
	for i, node := range g.Nodes {
		p.index[node.ID] = i
	}
	for i, edge := range g.Edges {
		start := p.index[edge.From]
		p.to[i] = p.index[edge.To]
		p.from[start] = append(p.from[start], i)
		if edge.Rule == graph.RuleClaim {
			p.uses[pair{start, p.to[i]}] = true
		}
	}

	// A join is found by each of its dependent nodes.
	for i, j := range g.Joins {
		p.joins[i] = join{p.indices(j.From), p.indices(j.To)}
		for _, start := range p.joins[i].from {
			p.joined[start] = append(p.joined[start], i)
		}
	}
	return p
}

func (p *planner) indices(ids []object.ID) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = p.index[id]
	}
	return out
}

// decide finds the verdict on every edge.
func (p *planner) decide() {
	p.verdicts = make([]verdict, len(p.g.Edges))
	for i, e := range p.g.Edges {
		from, to := p.index[e.From], p.to[i]
		if e.Explicit {
			p.verdicts[i] = p.explicit(p.traits[from], p.traits[to], p.uses[pair{from, to}])
		} else {
			p.verdicts[i] = p.inferred(e.Rule, p.traits[from], p.traits[to])
		}
	}
}

// level puts every node into the first wave that its edges allow: the longest path
// over gating edges. Claims are in one component with their user.
func (p *planner) level() {
	for _, component := range scc.Components(p.successors()) {
		slices.Sort(component)
		wave := 0
		for _, v := range component {
			if v < len(p.traits) {
				p.levels[v] = 0
			} else {
				p.tables[v-len(p.traits)] = p.newTable(v - len(p.traits))
			}
		}
		for _, v := range component {
			if v >= len(p.traits) {
				continue
			}
			p.constrain(v)
			wave = max(wave, p.levels[v])
		}
		for _, v := range component {
			if v < len(p.traits) && p.levels[v] < wave {
				p.levels[v] = wave
				p.reasons[v] = p.beside(v)
			}
		}
	}
}

// beside returns the reason of nodes that share a wave: a claim and its users.
func (p *planner) beside(v int) reason {
	if p.user[v] >= 0 {
		return reason{edge: -1, join: -1, after: p.user[v], shared: true}
	}
	for _, i := range p.from[v] {
		if p.user[p.to[i]] >= 0 {
			return reason{edge: i, join: -1, after: p.to[i]}
		}
	}
	return noReason()
}

// successors returns what constrains the wave of each vertex: edges, joins (which are vertices
// after the nodes), and for a claim its user.
func (p *planner) successors() [][]int {
	n := len(p.traits)
	next := make([][]int, n+len(p.joins))
	for v := range n {
		for _, i := range p.from[v] {
			if !p.verdicts[i].free {
				next[v] = append(next[v], p.to[i])
			}
		}
		for _, j := range p.joined[v] {
			next[v] = append(next[v], n+j)
		}
		if p.user[v] >= 0 {
			next[v] = append(next[v], p.user[v])
		}
	}
	for j, s := range p.joins {
		for _, to := range s.to {
			if !leftOut(p.traits[to]) {
				next[n+j] = append(next[n+j], to)
			}
		}
	}
	return next
}

// constrain raises the wave of v to what its edges and joins require, whose ends have
// their waves already. Of the reasons for one wave a gating one is kept, and of those
// the first.
func (p *planner) constrain(v int) {
	p.reasons[v] = noReason()
	if p.least[v] > 0 {
		p.levels[v] = p.least[v]
		p.reasons[v].last = true
	}
	raise := func(wave int, c reason) {
		isLoose := !p.reasons[v].gate && !p.reasons[v].last
		isStronger := wave == p.levels[v] && c.gate && isLoose
		if wave > p.levels[v] || isStronger {
			p.levels[v], p.reasons[v] = wave, c
		}
	}
	for _, i := range p.from[v] {
		switch d := p.verdicts[i]; {
		case d.gate:
			raise(p.levels[p.to[i]]+1, reason{edge: i, join: -1, after: p.to[i], gate: true})
		case !d.free:
			raise(p.levels[p.to[i]], reason{edge: i, join: -1, after: p.to[i]})
		}
	}
	for _, j := range p.joined[v] {
		for _, b := range p.tables[j].constraints(p, v) {
			raise(b.wave, reason{edge: -1, join: j, after: b.after, gate: b.gate})
		}
	}
}

// postpone moves what is never ready into the last wave, unless something waits for
// it.
func (p *planner) postpone() {
	last := slices.Max(append([]int{0}, p.levels...))
	waited := make([]bool, len(p.traits))
	for i, d := range p.verdicts {
		waited[p.to[i]] = waited[p.to[i]] || d.gate
	}
	for _, j := range p.joins {
		for _, to := range j.to {
			waited[to] = waited[to] || !leftOut(p.traits[to])
		}
	}
	moved := false
	for v, n := range p.traits {
		isFree := !waited[v] && p.user[v] < 0
		if n.neverReady != "" && isFree && p.levels[v] < last {
			p.least[v] = last
			moved = true
		}
	}
	if moved {
		p.level()
	}
}

// number closes gaps in the numbers of waves.
func (p *planner) number() {
	used := slices.Clone(p.levels)
	slices.Sort(used)
	used = slices.Compact(used)
	for v, level := range p.levels {
		p.levels[v], _ = slices.BinarySearch(used, level)
	}
}

// waves returns the nodes of each wave in the order in which they are written.
func (p *planner) waves() []Wave {
	order := p.stream()
	waves := make([]Wave, slices.Max(append([]int{-1}, p.levels...))+1)
	for _, v := range order {
		w := &waves[p.levels[v]]
		w.Nodes = append(w.Nodes, p.g.Nodes[v])
	}
	return waves
}

// compare compares two nodes in the stable total order inside a wave.
func (p *planner) compare(v, w int) int {
	return cmp.Or(p.traits[v].compare(p.traits[w]), cmp.Compare(p.g.Nodes[v].ID, p.g.Nodes[w].ID))
}
