// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// New cuts a graph into waves by the rules of an engine. It changes neither
// the graph nor its nodes, and costs little more than a sort of them.
func New(g *graph.Graph, rules Rules) *Plan {
	p := newPlanner(g, newEngine(rules))
	p.judge()
	p.level()
	p.shareClaims()
	p.postpone()
	p.number()
	plan := &Plan{
		Graph: g, Rules: rules,
		Waves:      p.waves(),
		Placements: p.placements(),
		Gates:      p.gates(),
		JoinGates:  p.joinGates(),
	}
	plan.Warnings = p.warnings().Sorted()
	return plan
}

// cause is what put a node into its wave: an edge or a join, by its place in
// the graph, and the node at its end.
type cause struct {
	edge, join int // -1 where it is not one
	after      int // -1 where there is none
	gate       bool
	// shares marks a claim that was put beside its user, and last a node that
	// was put into the last wave.
	shares, last bool
}

func uncaused() cause { return cause{edge: -1, join: -1, after: -1} }

// planner holds what is known of nodes, edges and joins, by their places.
type planner struct {
	*engine
	g        *graph.Graph
	place    map[object.ID]int
	natures  []nature
	verdicts []verdict
	// from is the edges of each node, and joined its joins.
	from, joined [][]int
	to           []int // the end of each edge
	sides        []side
	// uses are the claims that a node uses, and user the node whose wave a
	// claim shares; -1 where there is none.
	uses map[pair]bool
	user []int
	// torn are claims that cannot share a wave with their user.
	torn []int
	// least is the wave before which a node may not come.
	least []int

	levels []int
	causes []cause
	tables []table
}

type pair struct{ from, to int }

// side is the two sides of a join, as places of nodes.
type side struct{ from, to []int }

func newPlanner(g *graph.Graph, e *engine) *planner {
	n := len(g.Nodes)
	p := &planner{
		engine: e, g: g,
		place:   make(map[object.ID]int, n),
		natures: e.natures(g),
		from:    make([][]int, n), joined: make([][]int, n),
		to:     make([]int, len(g.Edges)),
		sides:  make([]side, len(g.Joins)),
		uses:   map[pair]bool{},
		user:   slices.Repeat([]int{-1}, n),
		least:  make([]int, n),
		levels: make([]int, n), causes: make([]cause, n),
		tables: make([]table, len(g.Joins)),
	}
	for i, node := range g.Nodes {
		p.place[node.ID] = i
	}
	for i, edge := range g.Edges {
		from := p.place[edge.From]
		p.to[i] = p.place[edge.To]
		p.from[from] = append(p.from[from], i)
		if edge.Rule == graph.RuleClaim {
			p.uses[pair{from, p.to[i]}] = true
		}
	}
	for i, join := range g.Joins {
		p.sides[i] = side{p.places(join.From), p.places(join.To)}
		for _, from := range p.sides[i].from {
			p.joined[from] = append(p.joined[from], i)
		}
	}
	return p
}

func (p *planner) places(ids []object.ID) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = p.place[id]
	}
	return out
}

// judge finds the verdict on every edge.
func (p *planner) judge() {
	p.verdicts = make([]verdict, len(p.g.Edges))
	for i, e := range p.g.Edges {
		from, to := p.place[e.From], p.to[i]
		if e.Explicit {
			p.verdicts[i] = p.named(p.natures[from], p.natures[to], p.uses[pair{from, to}])
		} else {
			p.verdicts[i] = p.inferred(e.Rule, p.natures[from], p.natures[to])
		}
	}
}

// level puts every node into the first wave that its edges allow: the longest
// path over gating edges. Claims are in one component with their user.
func (p *planner) level() {
	for _, component := range graph.Components(p.successors()) {
		slices.Sort(component)
		wave := 0
		for _, v := range component {
			if v < len(p.natures) {
				p.levels[v] = 0
			} else {
				p.tables[v-len(p.natures)] = p.table(v - len(p.natures))
			}
		}
		for _, v := range component {
			if v >= len(p.natures) {
				continue
			}
			p.bind(v)
			wave = max(wave, p.levels[v])
		}
		for _, v := range component {
			if v < len(p.natures) && p.levels[v] < wave {
				p.levels[v] = wave
				p.causes[v] = p.beside(v)
			}
		}
	}
}

// beside is the cause of what shares a wave: a claim and its users.
func (p *planner) beside(v int) cause {
	if p.user[v] >= 0 {
		return cause{edge: -1, join: -1, after: p.user[v], shares: true}
	}
	for _, i := range p.from[v] {
		if p.user[p.to[i]] >= 0 {
			return cause{edge: i, join: -1, after: p.to[i]}
		}
	}
	return uncaused()
}

// successors is what binds the wave of each vertex: edges, joins (which are
// vertices after the nodes), and for a claim its user.
func (p *planner) successors() [][]int {
	n := len(p.natures)
	next := make([][]int, n+len(p.sides))
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
	for j, s := range p.sides {
		for _, to := range s.to {
			if !skips(p.natures[to]) {
				next[n+j] = append(next[n+j], to)
			}
		}
	}
	return next
}

// bind raises the wave of v to what its edges and joins ask for, whose ends
// have their waves already. Of causes for one wave a gating one is kept, and of
// those the first.
func (p *planner) bind(v int) {
	p.causes[v] = uncaused()
	if p.least[v] > 0 {
		p.levels[v] = p.least[v]
		p.causes[v].last = true
	}
	raise := func(wave int, c cause) {
		if wave > p.levels[v] || wave == p.levels[v] && c.gate && !p.causes[v].gate && !p.causes[v].last {
			p.levels[v], p.causes[v] = wave, c
		}
	}
	for _, i := range p.from[v] {
		switch d := p.verdicts[i]; {
		case d.gate:
			raise(p.levels[p.to[i]]+1, cause{edge: i, join: -1, after: p.to[i], gate: true})
		case !d.free:
			raise(p.levels[p.to[i]], cause{edge: i, join: -1, after: p.to[i]})
		}
	}
	for _, j := range p.joined[v] {
		for _, b := range p.tables[j].bounds(p, v) {
			raise(b.wave, cause{edge: -1, join: j, after: b.after, gate: b.gate})
		}
	}
}

// postpone moves what may hang into the last wave, unless something waits for
// it.
func (p *planner) postpone() {
	last := slices.Max(append([]int{0}, p.levels...))
	waited := make([]bool, len(p.natures))
	for i, d := range p.verdicts {
		if d.gate {
			waited[p.to[i]] = true
		}
	}
	for _, s := range p.sides {
		for _, to := range s.to {
			if !skips(p.natures[to]) {
				waited[to] = true
			}
		}
	}
	moved := false
	for v, n := range p.natures {
		if n.trap != TrapNone && !waited[v] && p.user[v] < 0 && p.levels[v] < last {
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

// waves is the nodes of each wave in the order in which they are written.
func (p *planner) waves() []Wave {
	order := p.stream()
	waves := make([]Wave, slices.Max(append([]int{-1}, p.levels...))+1)
	for _, v := range order {
		w := &waves[p.levels[v]]
		w.Nodes = append(w.Nodes, p.g.Nodes[v])
	}
	return waves
}

// compare is the stable total order inside a wave.
func (p *planner) compare(v, w int) int {
	if c := p.natures[v].place(p.natures[w]); c != 0 {
		return c
	}
	return strings.Compare(string(p.g.Nodes[v].ID), string(p.g.Nodes[w].ID))
}
