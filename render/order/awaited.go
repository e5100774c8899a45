// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import "github.com/ropewalk/ropewalk/render/object"

// Awaited is the nodes that something in a later wave waits for: the ends of
// gating edges, and of the ends of gating joins those that have a readiness to
// wait for. An engine that does not wait for whole waves must be told of them.
func (p *Plan) Awaited() map[object.ID]bool {
	out := map[object.ID]bool{}
	for i, gate := range p.Gates {
		if gate.Gating {
			out[p.Graph.Edges[i].To] = true
		}
	}
	var ready map[object.ID]bool
	for i, gate := range p.JoinGates {
		if !gate.Gating {
			continue
		}
		if ready == nil {
			ready = p.ready()
		}
		for _, to := range p.Graph.Joins[i].To {
			if ready[to] {
				out[to] = true
			}
		}
	}
	return out
}

// ready is the nodes that a dependency on their whole spec waits for.
func (p *Plan) ready() map[object.ID]bool {
	e := newEngine(p.Rules)
	classes := storageClasses(p.Graph.Nodes)
	out := map[object.ID]bool{}
	for _, n := range p.Graph.Nodes {
		if v := e.nature(n, classes); v.ready && !skips(v) {
			out[n.ID] = true
		}
	}
	return out
}
