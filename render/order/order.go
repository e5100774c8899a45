// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// Plan is a graph cut into waves.
type Plan struct {
	Graph   *graph.Graph
	Dialect dialect.Dialect
	// Waves are numbered from 0 by their index; none is empty, but in a part of a plan.
	Waves []Wave
	// Placements say for each node where it is and why.
	Placements map[object.ID]Placement
	// Gates say for each edge of the graph, by its index there, whether it costs a
	// wave.
	Gates []Gate
	// JoinGates say the same for each join of the graph: one gates where any of its
	// pairs does.
	JoinGates []Gate
	// Blocking are the nodes that a later wave waits for: the ends of gating edges, and
	// of the ends of gating joins those that have a readiness. An engine that does not
	// wait for complete waves must be told which they are.
	Blocking map[object.ID]bool
	// Warnings are about waves that may hang or gate nothing.
	Warnings object.Errors
}

// Wave is nodes that may be applied at the same time.
type Wave struct {
	// Nodes are in the order in which they are written.
	Nodes []*object.Node
}

// Placement is the wave of a node.
type Placement struct {
	Wave int
	// Edge is the index in Graph.Edges of the gating edge that put the node there, -1
	// where none did.
	Edge int
	// After is the node that put the node there, by an edge or by a join; "" where
	// none did.
	After object.ID
	// Reason is a sentence for people.
	Reason string
}

// Gate tells whether an edge costs a wave.
type Gate struct {
	Gating bool
	// Loose marks an edge that the order does not keep, because the cluster retries
	// until it holds: its ends may be applied in either order.
	Loose bool
	// Reason is a sentence for people.
	Reason string
}

// New cuts a graph into waves by the rules of a dialect. It changes neither the
// graph nor its nodes, and costs little more than a sort of them.
func New(g *graph.Graph, d dialect.Dialect) *Plan {
	p := newPlanner(g, newEngine(d))
	p.decide()
	p.level()
	p.placeClaims()
	p.postpone()
	p.number()
	return &Plan{
		Graph: g, Dialect: d,
		Waves:      p.waves(),
		Placements: p.placements(),
		Gates:      p.gates(),
		JoinGates:  p.joinGates(),
		Blocking:   p.blocking(),
		Warnings:   p.warnings().Sorted(),
	}
}

// Only returns the plan of some nodes, in the waves that they have in p. The number counts the
// edges and joins between them and other nodes, which are left out. The placements are shared with
// p.
func (p *Plan) Only(has func(object.ID) bool) (*Plan, int) {
	// Nodes keep their waves; a wave may become empty.
	out := *p
	omitted := 0
	g := *p.Graph
	g.Nodes = slices.DeleteFunc(slices.Clone(g.Nodes), func(n *object.Node) bool { return !has(n.ID) })
	out.Graph = &g
	out.Waves = make([]Wave, len(p.Waves))
	for i, w := range p.Waves {
		out.Waves[i].Nodes = slices.DeleteFunc(slices.Clone(w.Nodes), func(n *object.Node) bool { return !has(n.ID) })
	}

	// An edge is kept if both of its ends are.
	g.Edges, out.Gates = nil, nil
	g.Joins, out.JoinGates = nil, nil
	for i, e := range p.Graph.Edges {
		switch from, to := has(e.From), has(e.To); {
		case from && to:
			g.Edges, out.Gates = append(g.Edges, e), append(out.Gates, p.Gates[i])
		case from || to:
			omitted++
		}
	}
	g.Dropped = slices.DeleteFunc(slices.Clone(g.Dropped), func(e graph.Edge) bool { return !has(e.From) || !has(e.To) })

	// A join is kept with the ends that are left on both sides.
	not := func(id object.ID) bool { return !has(id) }
	for i, j := range p.Graph.Joins {
		all := len(j.From) + len(j.To)
		j.From, j.To = slices.DeleteFunc(slices.Clone(j.From), not), slices.DeleteFunc(slices.Clone(j.To), not)
		if len(j.From) > 0 && len(j.To) > 0 {
			g.Joins, out.JoinGates = append(g.Joins, j), append(out.JoinGates, p.JoinGates[i])
		}
		if kept := len(j.From) + len(j.To); kept > 0 && kept < all {
			omitted++
		}
	}
	return &out, omitted
}
