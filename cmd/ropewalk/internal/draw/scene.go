// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// MaxBoxes limits the boxes of a picture: a plan of more objects is drawn by its specs.
const MaxBoxes = 60

// Picture is a plan as it is drawn for people.
type Picture struct {
	Plan *order.Plan
	// Title says what is drawn: a project, its environment, the dialect. It may be empty.
	Title string
	// Calls are drawn between the specs that the plan has.
	Calls []render.Call
	// Unfolded pictures have a box for each object, however many there are.
	Unfolded bool
	// Focus is the object that the picture is about, or "".
	Focus object.ID
	// most limits the cards; MaxBoxes where it is 0.
	most int
}

// mark is one box: an object, or a card, which stands for the objects of specs.
type mark struct {
	wave       int
	kind, name string
	// fullName is the name with the namespace.
	fullName string
	// spec is the spec of an object, "" for a card.
	spec string
	// specs are the specs of a card, and about is its third line.
	specs []string
	about string
	// title is the text of the box when it is pointed at, and note the text beside it.
	title, note string
	work        bool
	focus       bool
	id          object.ID
	// index is the number of the box on its picture.
	index int
}

func (m *mark) isCard() bool { return len(m.specs) > 0 }

// stroke is one line between two boxes, for all edges between them.
type stroke struct {
	from, to *mark
	style    string
	lines    []line
}

// label returns the rules of all edges of a stroke. The one that decides its style is first.
func (s stroke) label() string {
	var out []string
	for _, l := range s.lines {
		for _, rule := range strings.Split(l.label(), ", ") {
			if !slices.Contains(out, rule) {
				out = append(out, rule)
			}
		}
	}
	return strings.Join(out, ", ")
}

// scene is the content of a picture, before anything has a place.
type scene struct {
	title   string
	objects int
	specs   int
	waves   int
	// filled counts the waves with objects: all of them, except in a part of a plan.
	filled  int
	folded  bool
	marks   []*mark
	strokes []stroke
}

// scene finds what is drawn. With notes, an edge that nearly every object has is a note of its end.
func (p Picture) scene(notes bool) *scene {
	// Take specs or objects as boxes.
	s := &scene{title: p.Title, objects: len(p.Plan.Graph.Nodes), waves: len(p.Plan.Waves)}
	isLarge := !p.Unfolded && s.objects > MaxBoxes
	s.folded = p.most > 0 || isLarge
	var of map[object.ID]*mark
	if s.folded {
		s.marks, of = cards(p.Plan, cmp.Or(p.most, MaxBoxes))
	} else {
		s.marks, of = boxes(p.Plan)
	}

	// Take the edges between them as lines.
	drawn := lines(p.Plan)
	if notes || s.folded {
		var beside map[object.ID]string
		drawn, beside = split(drawn)
		for id, note := range beside {
			if !s.folded {
				of[id].note = note
			}
		}
	}

	// Number the boxes, and count what the summary names.
	for i, m := range s.marks {
		m.index = i
		m.focus = m.id != "" && m.id == p.Focus
	}
	for _, w := range p.Plan.Waves {
		if len(w.Nodes) > 0 {
			s.filled++
		}
	}

	// Take the calls between workloads as lines too.
	ends := specEnds(p.Plan)
	s.specs = len(ends)
	for _, c := range p.Calls {
		from, to := ends[c.From], ends[c.To]
		if from != "" && to != "" {
			drawn = append(drawn, line{from: from, to: to, rule: ruleCall, fromName: c.From, toName: c.To})
		}
	}
	s.merge(drawn, of)
	return s
}

// ruleCall is the rule of lines that are calls; the graph has no such edges.
const ruleCall = "calls"

// boxes returns the objects of a plan as boxes.
func boxes(plan *order.Plan) (marks []*mark, of map[object.ID]*mark) {
	of = map[object.ID]*mark{}
	for i, wave := range plan.Waves {
		for _, n := range wave.Nodes {
			ref := n.Object.Ref()
			m := &mark{
				wave: i, spec: n.ID.Spec(), kind: ref.Kind, name: ref.Name, fullName: objectName(ref), work: isWork(ref), id: n.ID,
				title: string(n.ID) + "\n" + ref.String() + "\n" + plan.Placements[n.ID].Reason,
			}
			of[n.ID] = m
			marks = append(marks, m)
		}
	}
	return marks, of
}

// specEnds returns the object at which calls of and to each spec end: its first workload.
func specEnds(plan *order.Plan) map[string]object.ID {
	out, works := map[string]object.ID{}, map[string]bool{}
	for _, wave := range plan.Waves {
		for _, n := range wave.Nodes {
			spec, work := n.ID.Spec(), isWork(n.Object.Ref())
			isFirstWork := work && !works[spec]
			if out[spec] == "" || isFirstWork {
				out[spec] = n.ID
				works[spec] = work
			}
		}
	}
	return out
}

// merge makes one stroke of all lines between the same two boxes; calls stay apart.
func (s *scene) merge(drawn []line, of map[object.ID]*mark) {
	type ends struct {
		from, to *mark
		call     bool
	}
	positions := map[ends]int{}
	for _, l := range drawn {
		key := ends{of[l.from], of[l.to], l.rule == ruleCall}
		if key.from == key.to {
			continue
		}
		i, ok := positions[key]
		if !ok {
			i = len(s.strokes)
			positions[key] = i
			s.strokes = append(s.strokes, stroke{from: key.from, to: key.to})
		}
		s.strokes[i].lines = append(s.strokes[i].lines, l)
	}
	for i := range s.strokes {
		st := &s.strokes[i]
		slices.SortStableFunc(st.lines, func(a, b line) int { return strength(styleOf(b)) - strength(styleOf(a)) })
		st.style = styleOf(st.lines[0])
	}
}

// Styles of lines; they are names of classes.
const (
	styleGate     = "gate"
	styleExplicit = "explicit"
	styleInferred = "inferred"
	styleLoose    = "loose"
	styleCall     = "call"
)

func styleOf(l line) string {
	switch {
	case l.rule == ruleCall:
		return styleCall
	case l.gate.Gating:
		return styleGate
	case l.gate.Loose:
		return styleLoose
	case l.explicit:
		return styleExplicit
	}
	return styleInferred
}

// strength returns a rank of styles: of several edges, the one with the highest decides the style
// of a stroke.
func strength(style string) int {
	return slices.Index([]string{styleCall, styleLoose, styleInferred, styleExplicit, styleGate}, style)
}
