// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"encoding/json"
	"io"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Document is a plan as JSON. Nodes are in the order in which they are
// written, wave by wave; edges, joins and dropped edges are in the order of the
// graph. Arrays are never null.
type Document struct {
	// Engine is plain, argocd or flux.
	Engine string `json:"engine"`
	// Waves is how many there are.
	Waves int    `json:"waves"`
	Nodes []Node `json:"nodes"`
	// Edges lead from a node to one that comes first.
	Edges []Edge `json:"edges"`
	// Joins stand for every pair of two sides: the dependencies of whole specs
	// and apply sets.
	Joins []Join `json:"joins"`
	// Dropped are inferred edges that would have closed a cycle.
	Dropped []Edge `json:"dropped"`
	// Warnings are about waves that may hang or gate nothing.
	Warnings object.Errors `json:"warnings"`
}

// Node is one object of a [Document].
type Node struct {
	ID     object.ID  `json:"id"`
	Object object.Ref `json:"object"`
	Wave   int        `json:"wave"`
	// Reason says why the node is in its wave; After is the node that put it
	// there, where one did.
	Reason string     `json:"reason"`
	After  object.ID  `json:"after,omitempty"`
	Spec   object.Pos `json:"spec,omitzero"`
	Module object.Pos `json:"module,omitzero"`
}

// Edge is one edge of a [Document].
type Edge struct {
	From     object.ID  `json:"from"`
	To       object.ID  `json:"to"`
	Rule     graph.Rule `json:"rule"`
	Explicit bool       `json:"explicit"`
	// Gating edges cost a wave; loose ones do not bind the order inside one.
	Gating bool   `json:"gating"`
	Loose  bool   `json:"loose,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Path is the field of the object of From that makes the edge.
	Path string     `json:"path,omitempty"`
	Pos  object.Pos `json:"pos,omitzero"`
}

// Join is one join of a [Document].
type Join struct {
	From   string     `json:"from"`
	To     string     `json:"to"`
	Rule   graph.Rule `json:"rule"`
	Gating bool       `json:"gating"`
	Reason string     `json:"reason"`
	Pos    object.Pos `json:"pos,omitzero"`
	// FromNodes and ToNodes are the two sides.
	FromNodes []object.ID `json:"fromNodes"`
	ToNodes   []object.ID `json:"toNodes"`
}

// JSON writes a plan as a [Document], indented by two spaces.
func JSON(w io.Writer, plan *order.Plan) error {
	d := Document{
		Engine: plan.Rules.Engine, Waves: len(plan.Waves),
		Nodes: []Node{}, Edges: []Edge{}, Joins: []Join{}, Dropped: []Edge{}, Warnings: object.Errors{},
	}
	for _, wave := range plan.Waves {
		for _, n := range wave.Nodes {
			p := plan.Placements[n.ID]
			d.Nodes = append(d.Nodes, Node{
				ID: n.ID, Object: n.Object.Ref(), Wave: p.Wave, Reason: p.Reason, After: p.After,
				Spec: n.SpecPos, Module: n.Pos,
			})
		}
	}
	for i, e := range plan.Graph.Edges {
		d.Edges = append(d.Edges, document(e, plan.Gates[i]))
	}
	for i, j := range plan.Graph.Joins {
		gate := plan.JoinGates[i]
		d.Joins = append(d.Joins, Join{
			From: j.FromName, To: j.ToName, Rule: j.Rule, Gating: gate.Gating, Reason: gate.Reason, Pos: j.Pos,
			FromNodes: j.From, ToNodes: j.To,
		})
	}
	for _, e := range plan.Graph.Dropped {
		d.Dropped = append(d.Dropped, document(e, order.Gate{Reason: "it would close a cycle"}))
	}
	d.Warnings = append(d.Warnings, plan.Warnings...)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

func document(e graph.Edge, g order.Gate) Edge {
	return Edge{
		From: e.From, To: e.To, Rule: e.Rule, Explicit: e.Explicit,
		Gating: g.Gating, Loose: g.Loose, Reason: g.Reason, Path: e.Path.String(), Pos: e.Pos,
	}
}
