// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"github.com/ropewalk/ropewalk/internal/scc"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
)

// placeClaims puts claims that bind only when a pod uses them into the wave of their
// earliest user: in an earlier wave the engine would wait for the binding, and the
// binding for a pod that only the next wave brings.
func (p *planner) placeClaims() {
	found := false
	for i, e := range p.g.Edges {
		claim, user := p.to[i], p.index[e.From]
		if e.Rule != graph.RuleClaim || p.traits[claim].neverReady != dialect.ClaimUnbound {
			continue
		}
		if old := p.user[claim]; old < 0 || p.levels[user] < p.levels[old] {
			p.user[claim] = user
			found = true
		}
	}
	if found {
		p.releaseClaims()
		p.level()
	}
}

// releaseClaims gives up on claims whose user must follow something that waits for
// the claim: no wave suits both.
func (p *planner) releaseClaims() {
	next := p.successors()
	component := make([]int, len(next))
	for c, vertices := range scc.Components(next) {
		for _, v := range vertices {
			component[v] = c
		}
	}
	bad := map[int]bool{}
	for i, d := range p.verdicts {
		if from := p.index[p.g.Edges[i].From]; d.gate && component[from] == component[p.to[i]] {
			bad[component[from]] = true
		}
	}
	for j := range p.joins {
		if c := component[len(p.traits)+j]; p.gatesWithin(j, func(v int) bool { return component[v] == c }) {
			bad[c] = true
		}
	}
	for v := range p.traits {
		if bad[component[v]] {
			p.user[v] = -1
		}
	}
}

// gatesWithin reports whether a join gates between two nodes of a component.
func (p *planner) gatesWithin(j int, within func(int) bool) bool {
	for _, from := range p.joins[j].from {
		if !within(from) {
			continue
		}
		for _, to := range p.joins[j].to {
			if within(to) && p.pair(p.traits[from], p.traits[to]).gate {
				return true
			}
		}
	}
	return false
}
