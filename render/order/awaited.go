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
	out := map[object.ID]bool{}
	for i, v := range newEngine(p.Rules).natures(p.Graph) {
		if v.ready && !skips(v) {
			out[p.Graph.Nodes[i].ID] = true
		}
	}
	return out
}
