// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// warnings returns the warnings about waves that may hang and dependencies that gate nothing.
func (p *planner) warnings() object.Errors {
	var out object.Errors
	last := slices.Max(append([]int{0}, p.levels...))
	for v, t := range p.traits {
		if t.neverReady != "" && p.user[v] < 0 && p.levels[v] < last {
			out = append(out, p.hangWarning(v, last))
		}
	}
	return append(append(out, p.unknownEdges()...), p.unknownJoins()...)
}

// hangWarning returns the warning that the sync may hang in the wave of v.
func (p *planner) hangWarning(v, last int) *object.Error {
	id := p.g.Nodes[v].ID
	pos, dependent := p.firstGate(v)
	if !pos.IsValid() {
		pos = p.g.Nodes[v].SpecPos
	}
	return warning(pos, id, fmt.Sprintf("remove that dependency, or give %s a readyWhen that comes true, such as type: Exists", id),
		"%s is in wave %d of 0 to %d because %s depends on it, but %s: the sync may hang in that wave",
		p.traits[v].ref, p.levels[v], last, dependent, p.traits[v].neverReady)
}

// firstGate returns the position of the line that makes others wait for v, and what waits.
func (p *planner) firstGate(v int) (object.Pos, string) {
	for i, d := range p.verdicts {
		if d.gate && p.to[i] == v {
			return p.g.Edges[i].Pos, string(p.g.Edges[i].From)
		}
	}
	for j, ends := range p.joins {
		if slices.Contains(ends.to, v) {
			return p.g.Joins[j].Pos, subject(p.g.Joins[j], p.g.Joins[j].From[0])
		}
	}
	return object.Pos{}, "another object"
}

// unknownEdges warns of dependencies on objects whose readiness the engine does not
// see.
func (p *planner) unknownEdges() object.Errors {
	var out object.Errors
	seen := map[int]bool{}
	for i, e := range p.g.Edges {
		to := p.to[i]
		if e.Explicit && p.traits[to].unknown && !seen[to] {
			seen[to] = true
			out = append(out, p.unknownWarning(e.Pos, e.From, "", fmt.Sprintf("%s (%s)", e.To, p.traits[to].ref), to))
		}
	}
	return out
}

// unknownJoins warns of dependencies on specs none of whose objects is waited for,
// although one of them may have a readiness.
func (p *planner) unknownJoins() object.Errors {
	var out object.Errors
	for j, ends := range p.joins {
		i := slices.IndexFunc(ends.to, func(end int) bool { return p.traits[end].unknown })
		if p.tables[j].ready < 0 && i >= 0 {
			join, end := p.g.Joins[j], ends.to[i]
			out = append(out, p.unknownWarning(join.Pos, p.g.Nodes[end].ID, subject(join, join.From[0])+" ", target(join), end))
		}
	}
	return out
}

func (p *planner) unknownWarning(pos object.Pos, node object.ID, subject, target string, end int) *object.Error {
	return warning(pos, node, fmt.Sprintf("give %s a readyWhen", p.g.Nodes[end].ID),
		"%sdepends on %s, but %s has no health check for %s and does not wait until it is ready",
		subject, target, p.Title, p.traits[end].ref.GroupKind())
}

func warning(pos object.Pos, node object.ID, hint, format string, args ...any) *object.Error {
	return &object.Error{
		Stage: object.StageOrder, Severity: object.SeverityWarning, Pos: pos, Node: node, Hint: hint, Err: fmt.Errorf(format, args...),
	}
}
