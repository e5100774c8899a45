// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// placements returns the reason for the wave of every node.
func (p *planner) placements() map[object.ID]Placement {
	out := make(map[object.ID]Placement, len(p.traits))
	for v, n := range p.g.Nodes {
		r := p.reasons[v]
		placement := Placement{Wave: p.levels[v], Edge: -1, Reason: fmt.Sprintf("wave %d because %s", p.levels[v], p.because(v))}
		if r.gate {
			placement.Edge = r.edge
		}
		if r.after >= 0 && !r.last {
			placement.After = p.g.Nodes[r.after].ID
		}
		out[n.ID] = placement
	}
	return out
}

// because returns the second half of the reason of a placement.
func (p *planner) because(v int) string {
	// Some nodes are in their wave without a dependency that demands it.
	r := p.reasons[v]
	switch {
	case r.last:
		return fmt.Sprintf("it is the last wave: %s, and no object waits for it", p.traits[v].neverReady)
	case r.shared:
		return fmt.Sprintf("its first user %s is there: %s", p.g.Nodes[r.after].ID, p.traits[v].neverReady)
	case r.after < 0 && len(p.from[v])+len(p.joined[v]) == 0:
		return "it has no dependencies"
	case r.after < 0:
		return "none of its dependencies needs an earlier wave"
	}

	// Otherwise one edge or join decided about the wave.
	id, end := p.g.Nodes[r.after].ID, p.traits[r.after]
	var d verdict
	var dependency string
	if r.edge >= 0 {
		d = p.verdicts[r.edge]
		dependency = fmt.Sprintf("it depends on %s (%s)", id, source(p.g.Edges[r.edge]))
	} else {
		j := p.g.Joins[r.join]
		d = p.pair(p.traits[v], end)
		dependency = fmt.Sprintf("%s depends on %s (%s), which contains %s", subject(j, p.g.Nodes[v].ID), target(j), at(j.Rule, j.Pos), id)
	}

	// The verdict on that dependency says why it gates.
	if !r.gate {
		return fmt.Sprintf("%s, which is in wave %d", dependency, p.levels[r.after])
	}
	switch d.why {
	case whyReady, whyWorkload:
		return fmt.Sprintf("%s, %s that must be ready first", dependency, withArticle(end.ref.Kind))
	case whyAuthored:
		return fmt.Sprintf("%s, %s that must meet its readyWhen first", dependency, withArticle(end.ref.Kind))
	default:
		return fmt.Sprintf("%s: %s", dependency, p.sentence(d, p.traits[v], end, id))
	}
}

// subject returns the dependent side of a join for messages.
func subject(j graph.Join, id object.ID) string {
	switch j.Rule {
	case graph.RuleSpec:
		return "spec " + j.FromName
	case graph.RuleSet:
		return "apply set " + j.FromName
	default:
		return string(id)
	}
}

// target returns the other side of a join for messages.
func target(j graph.Join) string {
	if j.Rule == graph.RuleSet {
		return "apply set " + j.ToName
	}
	return "spec " + j.ToName
}

// source returns where an edge comes from: dependsOn, shop.yaml:12:9, or the field of the object.
func source(e graph.Edge) string {
	if !e.Explicit && len(e.Path) > 0 {
		return fmt.Sprintf("%s, %s", e.Rule, e.Path)
	}
	return at(e.Rule, e.Pos)
}

func at(rule graph.Rule, pos object.Pos) string {
	name := string(rule)
	if rule == graph.RuleSpec {
		name = string(graph.RuleDependsOn)
	}
	if pos.IsValid() {
		return name + ", " + pos.String()
	}
	return name
}

// gates returns for every edge whether it costs a wave, and why.
func (p *planner) gates() []Gate {
	out := make([]Gate, len(p.verdicts))
	for i, d := range p.verdicts {
		edge := p.g.Edges[i]
		out[i] = Gate{Gating: d.gate, Loose: d.loose, Reason: p.sentence(d, p.traits[p.index[edge.From]], p.traits[p.to[i]], edge.To)}
	}
	return out
}

// joinGates returns for every join whether it costs a wave, and why.
func (p *planner) joinGates() []Gate {
	out := make([]Gate, len(p.joins))
	for j := range p.joins {
		out[j] = p.joinGate(j)
	}
	return out
}

func (p *planner) joinGate(j int) Gate {
	t := p.tables[j]
	if t.ready >= 0 {
		n := p.traits[t.ready]
		text := p.sentence(p.pair(n, n), n, n, p.g.Nodes[t.ready].ID)
		if others := len(p.readyEnds(j)) - 1; others > 0 {
			text += fmt.Sprintf(", and so must %d more", others)
		}
		return Gate{Gating: true, Reason: text}
	}
	for _, from := range p.joins[j].from {
		if cut := t.cut(p, from); cut < len(t.rest) {
			to := t.after[cut]
			d := verdict{gate: true, why: whyOrder}
			return Gate{Gating: true, Reason: p.sentence(d, p.traits[from], p.traits[to], p.g.Nodes[to].ID)}
		}
	}
	if len(t.rest) == 0 {
		return Gate{Reason: "none of its objects is waited for unless a dependency names it"}
	}
	return Gate{Reason: fmt.Sprintf("in the same wave %s applies all of it first", p.Title)}
}

// readyEnds returns the nodes that join j waits for until they are ready.
func (p *planner) readyEnds(j int) (out []int) {
	for _, to := range p.joins[j].to {
		if p.traits[to].ready && !leftOut(p.traits[to]) {
			out = append(out, to)
		}
	}
	return out
}

// blocking returns what [Plan.Blocking] holds.
func (p *planner) blocking() map[object.ID]bool {
	out := map[object.ID]bool{}
	for i, d := range p.verdicts {
		if d.gate {
			out[p.g.Edges[i].To] = true
		}
	}
	for j := range p.joins {
		for _, v := range p.readyEnds(j) {
			out[p.g.Nodes[v].ID] = true
		}
	}
	return out
}
