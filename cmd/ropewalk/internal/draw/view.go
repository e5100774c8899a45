// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// line is an edge, or a join as one edge between representatives.
type line struct {
	from, to object.ID
	rule     graph.Rule
	// also are the rules of further edges that are drawn as this line.
	also []graph.Rule
	// join is whether the line stands for two whole sides, which are called
	// fromName and toName.
	join             bool
	fromName, toName string
	explicit         bool
	gate             order.Gate
	pos              object.Pos
}

// label returns the text beside the line.
func (l line) label() string {
	text := string(l.rule)
	if l.rule == graph.RuleSpec {
		text = string(graph.RuleDependsOn)
	}
	for _, r := range l.also {
		text += ", " + string(r)
	}
	return text
}

// absorb adds the rule of an edge to a line between the same objects that affects the order in the
// same way. It returns false for any other line. An author's edge keeps its place.
func (l *line) absorb(e line) bool {
	isNote := func(r graph.Rule) bool { return r == graph.RuleNamespace || r == graph.RuleQuota } // See split.
	sameWay := l.from == e.from && l.to == e.to && l.gate == e.gate
	if !sameWay || isNote(l.rule) || isNote(e.rule) {
		return false
	}
	if e.explicit && !l.explicit {
		e.also = append([]graph.Rule{l.rule}, l.also...)
		*l = e
		return true
	}
	l.also = append(l.also, e.rule)
	return true
}

// SideName returns the meaning of a name of a join. A name with a slash is the id of a node
// already.
func SideName(rule graph.Rule, name string) string {
	switch {
	case strings.Contains(name, "/"):
		return name
	case rule == graph.RuleSet:
		return "apply set " + name
	}
	return "spec " + name
}

// lines returns the edges of a plan in their order, and then its joins. An edge that repeats
// another one is drawn with it.
func lines(p *order.Plan) []line {
	// The edges come first.
	out := make([]line, 0, len(p.Graph.Edges)+len(p.Graph.Joins))
	for i, e := range p.Graph.Edges {
		l := line{from: e.From, to: e.To, rule: e.Rule, explicit: e.Explicit, gate: p.Gates[i], pos: e.Pos}
		if n := len(out); n == 0 || !out[n-1].absorb(l) {
			out = append(out, l)
		}
	}

	// A join is drawn between two of its nodes.
	kinds := make(map[object.ID]string, len(p.Graph.Nodes))
	for _, n := range p.Graph.Nodes {
		kinds[n.ID] = n.Object.Kind()
	}
	for i, j := range p.Graph.Joins {
		l := line{
			rule: j.Rule, join: true, fromName: j.FromName, toName: j.ToName,
			explicit: true, gate: p.JoinGates[i], pos: j.Pos,
		}
		l.from = representative(p, kinds, j.From, earliest)
		last := p.Placements[l.from].Wave
		if l.gate.Gating {
			last--
		}
		l.to = representative(p, kinds, until(p, j.To, last), latest)
		// What put the start into its wave says most, where it is the end.
		if after := p.Placements[l.from].After; slices.Contains(j.To, after) {
			l.to = after
		}
		out = append(out, l)
	}
	return out
}

// until returns the ids that are in a wave or before it. Other nodes do not wait for a later wave,
// which may hold an Ingress. It returns all ids if all are in later waves.
func until(p *order.Plan, ids []object.ID, wave int) []object.ID {
	out := slices.DeleteFunc(slices.Clone(ids), func(id object.ID) bool { return p.Placements[id].Wave > wave })
	if len(out) == 0 {
		return ids
	}
	return out
}

// Which end of a side stands for it: the first of what waits, the last of what
// is waited for.
const (
	earliest = -1
	latest   = 1
)

// split divides the edges into those to Namespaces and quotas and the others. Nearly every object
// has one of the former, so they are shown as a number beside their end.
func split(edges []line) (drawn []line, notes map[object.ID]string) {
	counts := map[object.ID]int{}
	notes = map[object.ID]string{}
	for _, l := range edges {
		text := ""
		switch l.rule {
		case graph.RuleNamespace:
			text = "namespace of "
		case graph.RuleQuota:
			text = "limits "
		default:
		}
		if text == "" || l.gate.Gating {
			drawn = append(drawn, l)
			continue
		}
		counts[l.to]++
		notes[l.to] = text + printable.Count(counts[l.to], "object")
	}
	return drawn, notes
}

// representative returns the node that stands for ids: of the earliest or latest wave, a workload
// before others.
func representative(p *order.Plan, kinds map[object.ID]string, ids []object.ID, which int) object.ID {
	best := object.ID("")
	score := 0
	for i, id := range ids {
		s := which * p.Placements[id].Wave * 10
		if isWorkload(kinds[id]) {
			s++
		}
		if i == 0 || s > score {
			best, score = id, s
		}
	}
	return best
}

func isWorkload(kind string) bool {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod", "ReplicaSet":
		return true
	}
	return false
}

// isWork reports whether an object has pods.
func isWork(r object.Ref) bool {
	return isWorkload(r.Kind) || r.GroupKind() == "Service.serving.knative.dev" || r.GroupKind() == "Rollout.argoproj.io"
}

// objectName returns the name of an object beside its kind.
func objectName(r object.Ref) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}
