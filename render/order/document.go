// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// Document is a plan as data, for other programs: the command line prints it,
// and artifacts carry it. Nodes are in the order in which they are
// written, wave by wave; edges, joins and dropped edges are in the order of the
// graph. Arrays are never null.
type Document struct {
	// Engine is the name of the dialect.
	Engine dialect.Name `json:"engine"`
	// Waves counts the waves.
	Waves int            `json:"waves"`
	Nodes []NodeDocument `json:"nodes"`
	// Edges lead from a node to one that comes first.
	Edges []EdgeDocument `json:"edges"`
	// Joins stand for every pair of their ends: the dependencies between complete
	// specs and apply sets.
	Joins []JoinDocument `json:"joins"`
	// Dropped are inferred edges that would have closed a cycle.
	Dropped []EdgeDocument `json:"dropped"`
	// Warnings are about waves that may hang or gate nothing.
	Warnings object.Errors `json:"warnings"`
}

// NodeDocument is one object of a [Document].
type NodeDocument struct {
	ID     object.ID  `json:"id"`
	Object object.Ref `json:"object"`
	Wave   int        `json:"wave"`
	// Reason says why the node is in its wave; After is the node that put it
	// there, where one did.
	Reason string    `json:"reason"`
	After  object.ID `json:"after,omitempty"`
	// Adopt is the policy of that name, of the node or else of its spec; "" if neither has a
	// policy.
	Adopt string `json:"adopt,omitempty"`
	// Needs are objects outside of the render that must be in the cluster first.
	Needs []object.Need `json:"needs,omitempty"`
	// Timeout limits the time until the node is ready, a duration of Go; "" if its rules name no
	// timeout.
	Timeout string     `json:"timeout,omitempty"`
	Spec    object.Pos `json:"spec,omitzero"`
	Module  object.Pos `json:"module,omitzero"`
}

// EdgeDocument is one edge of a [Document].
type EdgeDocument struct {
	From     object.ID  `json:"from"`
	To       object.ID  `json:"to"`
	Rule     graph.Rule `json:"rule"`
	Explicit bool       `json:"explicit"`
	// Gating edges cost a wave; loose edges do not bind the order inside a wave.
	Gating bool   `json:"gating"`
	Loose  bool   `json:"loose,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Path is the field of the object of From that makes the edge.
	Path string     `json:"path,omitempty"`
	Pos  object.Pos `json:"pos,omitzero"`
}

// JoinDocument is one join of a [Document].
type JoinDocument struct {
	From   string     `json:"from"`
	To     string     `json:"to"`
	Rule   graph.Rule `json:"rule"`
	Gating bool       `json:"gating"`
	Reason string     `json:"reason"`
	Pos    object.Pos `json:"pos,omitzero"`
	// FromNodes and ToNodes are the two ends.
	FromNodes []object.ID `json:"fromNodes"`
	ToNodes   []object.ID `json:"toNodes"`
}

// Document returns the plan as data.
func (p *Plan) Document() Document {
	d := Document{
		Engine: p.Dialect.Name, Waves: len(p.Waves),
		Nodes: []NodeDocument{}, Edges: []EdgeDocument{}, Joins: []JoinDocument{}, Dropped: []EdgeDocument{}, Warnings: object.Errors{},
	}
	for _, wave := range p.Waves {
		for _, n := range wave.Nodes {
			placement := p.Placements[n.ID]
			timeout := ""
			if longest := n.Timeout(); longest > 0 {
				timeout = longest.String()
			}
			d.Nodes = append(d.Nodes, NodeDocument{
				ID: n.ID, Object: n.Object.Ref(), Wave: placement.Wave, Reason: placement.Reason, After: placement.After, Adopt: n.Apply.Adopt,
				Needs: needsOf(n), Timeout: timeout, Spec: n.SpecPos, Module: n.Pos,
			})
		}
	}

	// Dropped edges are listed apart, with the reason.
	for i, e := range p.Graph.Edges {
		d.Edges = append(d.Edges, document(e, p.Gates[i]))
	}
	for i, j := range p.Graph.Joins {
		gate := p.JoinGates[i]
		d.Joins = append(d.Joins, JoinDocument{
			From: j.FromName, To: j.ToName, Rule: j.Rule, Gating: gate.Gating, Reason: gate.Reason, Pos: j.Pos,
			FromNodes: j.From, ToNodes: j.To,
		})
	}
	for _, e := range p.Graph.Dropped {
		d.Dropped = append(d.Dropped, document(e, Gate{Reason: "it would close a cycle"}))
	}
	d.Warnings = append(d.Warnings, p.Warnings...)
	return d
}

// needsOf returns what a node needs, with what its author left out.
func needsOf(n *object.Node) []object.Need {
	var out []object.Need
	for _, need := range n.Needs {
		out = append(out, need.In(n.Object.Namespace()))
	}
	return out
}

// Below returns the document with the positions of files below dir relative to dir. It thus does
// not depend on where the project is.
func (d Document) Below(dir string) Document {
	cut := func(p object.Pos) object.Pos {
		p.File = strings.TrimPrefix(p.File, dir+"/")
		return p
	}
	d.Nodes, d.Edges, d.Joins = slices.Clone(d.Nodes), slices.Clone(d.Edges), slices.Clone(d.Joins)
	d.Dropped = slices.Clone(d.Dropped)
	// A reason names positions in its sentence.
	relative := func(reason string) string { return strings.ReplaceAll(reason, " "+dir+"/", " ") }
	for i := range d.Nodes {
		d.Nodes[i].Reason = relative(d.Nodes[i].Reason)
		d.Nodes[i].Spec, d.Nodes[i].Module = cut(d.Nodes[i].Spec), cut(d.Nodes[i].Module)
	}
	for _, edges := range [][]EdgeDocument{d.Edges, d.Dropped} {
		for i := range edges {
			edges[i].Pos, edges[i].Reason = cut(edges[i].Pos), relative(edges[i].Reason)
		}
	}
	for i := range d.Joins {
		d.Joins[i].Pos, d.Joins[i].Reason = cut(d.Joins[i].Pos), relative(d.Joins[i].Reason)
	}
	return d
}

// JSON returns the document as text, indented by two spaces. The same plan gives the same bytes.
func (d Document) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.Bytes(), err
}

// document returns an edge with its gate as data.
func document(e graph.Edge, g Gate) EdgeDocument {
	return EdgeDocument{
		From: e.From, To: e.To, Rule: e.Rule, Explicit: e.Explicit,
		Gating: g.Gating, Loose: g.Loose, Reason: g.Reason, Path: e.Path.String(), Pos: e.Pos,
	}
}
