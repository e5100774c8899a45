// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// placements say why every node is where it is.
func (p *planner) placements() map[object.ID]Placement {
	out := make(map[object.ID]Placement, len(p.natures))
	for v, n := range p.g.Nodes {
		c := p.causes[v]
		place := Placement{Wave: p.levels[v], Edge: -1, Reason: fmt.Sprintf("wave %d %s", p.levels[v], p.because(v))}
		if c.gate {
			place.Edge = c.edge
		}
		if c.after >= 0 && !c.last {
			place.After = p.g.Nodes[c.after].ID
		}
		out[n.ID] = place
	}
	return out
}

// because is the second half of a reason.
func (p *planner) because(v int) string {
	c := p.causes[v]
	switch {
	case c.last:
		return fmt.Sprintf("because it is the last one: %s, and nothing waits for it", p.natures[v].trap)
	case c.shares:
		return fmt.Sprintf("because it shares the wave of its first user %s: %s", p.g.Nodes[c.after].ID, p.natures[v].trap)
	case c.after < 0 && len(p.from[v])+len(p.joined[v]) == 0:
		return "because it depends on nothing"
	case c.after < 0:
		return "because nothing that it depends on costs a wave"
	}
	who, to := p.g.Nodes[c.after].ID, p.natures[c.after]
	said := ""
	var d verdict
	if c.edge >= 0 {
		d = p.verdicts[c.edge]
		said = fmt.Sprintf("it depends on %s (%s)", who, source(p.g.Edges[c.edge]))
	} else {
		j := p.g.Joins[c.join]
		d = p.broad(p.natures[v], to)
		said = fmt.Sprintf("%s depends on %s (%s), which has %s", subject(j, p.g.Nodes[v].ID), target(j), at(j.Rule, j.Pos), who)
	}
	if !c.gate {
		return fmt.Sprintf("because %s, which is in wave %d", said, p.levels[c.after])
	}
	switch d.why {
	case whyReady, whyWorkload:
		return fmt.Sprintf("because %s, %s that must be ready first", said, a(to.ref.Kind))
	case whyAuthored:
		return fmt.Sprintf("because %s, %s that must meet its readyWhen first", said, a(to.ref.Kind))
	default:
		return fmt.Sprintf("because %s: %s", said, p.sentence(d, p.natures[v], to, who))
	}
}

// subject is who a join says depends, and target on what.
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

func target(j graph.Join) string {
	if j.Rule == graph.RuleSet {
		return "apply set " + j.ToName
	}
	return "spec " + j.ToName
}

// source says where an edge comes from: dependsOn, shop.yaml:12:9, or the
// field of the object that it was inferred from.
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

// gates say for every edge whether it costs a wave, and why.
func (p *planner) gates() []Gate {
	out := make([]Gate, len(p.verdicts))
	for i, d := range p.verdicts {
		id := p.g.Edges[i].To
		from, to := p.natures[p.place[p.g.Edges[i].From]], p.natures[p.to[i]]
		out[i] = Gate{Gating: d.gate, Loose: d.loose, Reason: p.sentence(d, from, to, id)}
	}
	return out
}

// joinGates say the same for every join.
func (p *planner) joinGates() []Gate {
	out := make([]Gate, len(p.sides))
	for j := range p.sides {
		out[j] = p.joinGate(j)
	}
	return out
}

func (p *planner) joinGate(j int) Gate {
	t, s := p.tables[j], p.sides[j]
	if t.ready >= 0 {
		n := p.natures[t.ready]
		text := p.sentence(p.broad(n, n), n, n, p.g.Nodes[t.ready].ID)
		others := -1
		for _, to := range s.to {
			if p.natures[to].ready && !skips(p.natures[to]) {
				others++
			}
		}
		if others > 0 {
			text += fmt.Sprintf(", and so must %d more", others)
		}
		return Gate{Gating: true, Reason: text}
	}
	for _, from := range s.from {
		if cut := t.cut(p, from); cut < len(t.rest) {
			to := t.after[cut]
			d := verdict{gate: true, why: whyOrder}
			return Gate{Gating: true, Reason: p.sentence(d, p.natures[from], p.natures[to], p.g.Nodes[to].ID)}
		}
	}
	if len(t.rest) == 0 {
		return Gate{Reason: "nothing in it is waited for unless a dependency names it"}
	}
	return Gate{Reason: fmt.Sprintf("inside a wave %s applies all of it first", p.Name)}
}

// warnings are about waves that may hang and waits that are none.
func (p *planner) warnings() object.Errors {
	var out object.Errors
	highest := 0
	for _, l := range p.levels {
		highest = max(highest, l)
	}
	for v, n := range p.natures {
		if n.trap != TrapNone && p.user[v] < 0 && p.levels[v] < highest {
			out = append(out, p.hang(v, highest))
		}
	}
	return append(append(out, p.blind()...), p.blindJoins()...)
}

// hang warns that the engine may stay in the wave of v.
func (p *planner) hang(v, highest int) *object.Error {
	id := p.g.Nodes[v].ID
	pos, who := p.firstGate(v)
	e := &object.Error{
		Stage: object.StageOrder, Severity: object.SeverityWarning, Node: id, Pos: pos,
		Err: fmt.Errorf("%s is in wave %d of 0 to %d because %s waits for it, and %s: the sync may hang there",
			p.natures[v].ref, p.levels[v], highest, who, p.natures[v].trap),
		Hint: "drop that dependency, or give it a readyWhen that comes true, such as Exists",
	}
	if !pos.IsValid() {
		e.Pos = p.g.Nodes[v].SpecPos
	}
	return e
}

// firstGate is the line that makes others wait for v, and who waits.
func (p *planner) firstGate(v int) (object.Pos, string) {
	for i, d := range p.verdicts {
		if d.gate && p.to[i] == v {
			return p.g.Edges[i].Pos, string(p.g.Edges[i].From)
		}
	}
	for j, s := range p.sides {
		for _, to := range s.to {
			if to == v {
				return p.g.Joins[j].Pos, subject(p.g.Joins[j], p.g.Joins[j].From[0])
			}
		}
	}
	return object.Pos{}, "another node"
}

// blind warns of dependencies on what the engine cannot see the readiness of.
func (p *planner) blind() object.Errors {
	var out object.Errors
	seen := map[int]bool{}
	for i, e := range p.g.Edges {
		to := p.to[i]
		if !e.Explicit || !p.natures[to].unknown || seen[to] {
			continue
		}
		seen[to] = true
		out = append(out, &object.Error{
			Stage: object.StageOrder, Severity: object.SeverityWarning, Node: e.From, Pos: e.Pos,
			Err: fmt.Errorf("depends on %s (%s), but %s does not know when a %s is ready and goes on at once",
				e.To, p.natures[to].ref, p.Name, p.natures[to].ref.GroupKind()),
			Hint: fmt.Sprintf("give %s a readyWhen", e.To),
		})
	}
	return out
}

// blindJoins warns of dependencies on specs of which nothing is waited for
// although something would be worth it.
func (p *planner) blindJoins() object.Errors {
	var out object.Errors
	for j, s := range p.sides {
		if p.tables[j].ready >= 0 {
			continue
		}
		for _, to := range s.to {
			if !p.natures[to].unknown {
				continue
			}
			join, id := p.g.Joins[j], p.g.Nodes[to].ID
			out = append(out, &object.Error{
				Stage: object.StageOrder, Severity: object.SeverityWarning, Pos: join.Pos, Node: id,
				Err: fmt.Errorf("%s depends on %s, but %s does not know when a %s is ready and goes on at once",
					subject(join, join.From[0]), target(join), p.Name, p.natures[to].ref.GroupKind()),
				Hint: fmt.Sprintf("give %s a readyWhen", id),
			})
			break
		}
	}
	return out
}
