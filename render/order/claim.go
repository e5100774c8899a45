// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/graph"
)

// shareClaims puts claims that bind only when a pod uses them beside their
// earliest user: in an earlier wave the engine would wait for the binding, and
// the binding for a pod that only the next wave brings.
func (p *planner) shareClaims() {
	found := false
	for i, e := range p.g.Edges {
		claim, user := p.to[i], p.place[e.From]
		if e.Rule != graph.RuleClaim || p.natures[claim].trap != TrapClaim {
			continue
		}
		if old := p.user[claim]; old < 0 || p.levels[user] < p.levels[old] {
			p.user[claim] = user
			found = true
		}
	}
	if !found {
		return
	}
	p.tear()
	p.level()
}

// tear gives up on claims whose user must follow something that waits for the
// claim: no wave suits both.
func (p *planner) tear() {
	next := p.successors()
	component := make([]int, len(next))
	for c, vertices := range graph.Components(next) {
		for _, v := range vertices {
			component[v] = c
		}
	}
	bad := map[int]bool{}
	for i, d := range p.verdicts {
		if from := p.place[p.g.Edges[i].From]; d.gate && component[from] == component[p.to[i]] {
			bad[component[from]] = true
		}
	}
	for j := range p.sides {
		if c := component[len(p.natures)+j]; p.gatesWithin(j, func(v int) bool { return component[v] == c }) {
			bad[c] = true
		}
	}
	for v := range p.natures {
		if p.user[v] >= 0 && bad[component[v]] {
			p.torn = append(p.torn, v)
			p.user[v] = -1
		}
	}
	slices.Sort(p.torn)
}

// gatesWithin reports whether a join gates between two nodes of a component.
func (p *planner) gatesWithin(j int, within func(int) bool) bool {
	for _, from := range p.sides[j].from {
		if !within(from) {
			continue
		}
		for _, to := range p.sides[j].to {
			if within(to) && p.broad(p.natures[from], p.natures[to]).gate {
				return true
			}
		}
	}
	return false
}
