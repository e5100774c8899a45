// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// station is what a curve starts or ends at: a box, or the header of a group.
// Every curve has a place of its own on its side, so that neither arrows nor
// labels lie on each other.
type station struct {
	group       *group
	left, right []*end
	x, y, w, h  int
}

// end is one end of a curve at a station.
type end struct {
	at *station
	// other is the station at the other end, and by the nearest pass on the way
	// there, where there is one: where the curve goes decides its place.
	other *station
	by    *item
	y     int
}

// goal is how high the curve goes to from here.
func (e *end) goal() int {
	if e.by != nil {
		return e.by.middle()
	}
	return e.other.y
}

// box is one object.
type box struct {
	station
	node   *object.Node
	reason string
	// note stands right of the box, at a place of its own.
	note   string
	noteAt *end
}

// group is the boxes of one spec in one wave.
type group struct {
	item
	header station
	spec   string
	boxes  []*box
	x, w   int
	// lanes is how many upright lines stand right of the boxes.
	lanes int
	inner []*curve
}

// item is a group in a column, or a pass: the place at which a curve crosses the column.
type item struct {
	column int
	y, h   int
	// near are the items that curves join to this one.
	near []*item
	// place is where the item is in its column, from 0 to 1, and weight the mean place of
	// its neighbours, for sorting.
	place, weight float64
}

func (it *item) middle() int { return it.y + it.h/2 }

// column is one wave.
type column struct {
	items []*item
	boxes int
	// x is the left side; boxW, labelW and laneW are the widths of the parts of
	// its groups, and outer is how many upright lines stand right of them.
	x, boxW, labelW, laneW int
	width, outer           int
}

// Ways of a curve.
const (
	inside = iota // between boxes of one group
	beside        // between groups of one column
	across        // from a column to one left of it
	ahead         // from a column to one right of it
)

// curve is one line of the picture: an edge, or several that have the same end,
// rule and style and start in one group.
type curve struct {
	way     int
	sources []*end
	target  *end
	label   string
	title   string
	style   string
	lane    int
	passes  []*item
	from    *group
	to      *group
}

// picture is everything on it, with places.
type picture struct {
	columns []*column
	groups  []*group
	curves  []*curve
	boxes   map[object.ID]*box
	width   int
	height  int
}

// Styles of curves; they are names of classes.
const (
	styleGate     = "gate"
	styleExplicit = "explicit"
	styleInferred = "inferred"
	styleLoose    = "loose"
)

func styleOf(l line) string {
	switch {
	case l.gate.Gating:
		return styleGate
	case l.gate.Loose:
		return styleLoose
	case l.explicit:
		return styleExplicit
	}
	return styleInferred
}

// compose finds what is on the picture of a plan.
func compose(plan *order.Plan) *picture {
	p := &picture{boxes: map[object.ID]*box{}}
	for i, wave := range plan.Waves {
		col := &column{boxes: len(wave.Nodes)}
		bySpec := map[string]*group{}
		for _, n := range wave.Nodes {
			g := bySpec[n.ID.Spec()]
			if g == nil {
				g = &group{spec: n.ID.Spec(), item: item{column: i}}
				g.header.group = g
				bySpec[g.spec] = g
			}
			b := &box{node: n, reason: plan.Placements[n.ID].Reason}
			b.group = g
			g.boxes = append(g.boxes, b)
			p.boxes[n.ID] = b
		}
		for _, name := range object.SortedKeys(bySpec) {
			p.groups = append(p.groups, bySpec[name])
			col.items = append(col.items, &bySpec[name].item)
		}
		p.columns = append(p.columns, col)
	}
	drawn, notes := split(lines(plan))
	for id, note := range notes {
		b := p.boxes[id]
		b.note = note
		b.noteAt = &end{at: &b.station, other: &b.group.header}
		b.right = append(b.right, b.noteAt)
	}
	p.bundle(drawn)
	return p
}

// bundleKey is what edges have in common that are drawn as one curve.
type bundleKey struct {
	from  *group
	to    object.ID
	label string
	style string
}

// bundle makes curves of lines.
func (p *picture) bundle(all []line) {
	var keys []bundleKey
	bundles := map[bundleKey][]line{}
	for _, l := range all {
		key := bundleKey{p.boxes[l.from].group, l.to, l.label(), styleOf(l)}
		if l.join {
			key.label += "\x00" + l.fromName
		}
		if bundles[key] == nil {
			keys = append(keys, key)
		}
		bundles[key] = append(bundles[key], l)
	}
	for _, key := range keys {
		p.curve(key, bundles[key])
	}
}

// curve draws the lines of a bundle. Several that leave their group leave it
// from its header.
func (p *picture) curve(key bundleKey, all []line) {
	target := p.boxes[key.to]
	c := &curve{
		way: across, label: all[0].label(), style: key.style, from: key.from, to: target.group,
		title: title(all),
	}
	switch {
	case c.from == c.to:
		c.way = inside
	case c.from.column == c.to.column:
		c.way = beside
	case c.from.column < c.to.column:
		c.way = ahead
	}
	var starts []*station
	whole := all[0].join && len(all[0].fromName) > 0 && all[0].fromName == key.from.spec
	if c.way != inside && (len(all) > 1 || whole) {
		starts = []*station{&key.from.header}
		if len(all) > 1 {
			c.label += fmt.Sprintf(" ×%d", len(all))
		}
	} else {
		for _, l := range all {
			starts = append(starts, &p.boxes[l.from].station)
		}
	}
	for _, s := range starts {
		e := &end{at: s, other: &target.station}
		if c.way == across {
			s.left = append(s.left, e)
		} else {
			s.right = append(s.right, e)
		}
		c.sources = append(c.sources, e)
	}
	c.target = &end{at: &target.station, other: starts[0]}
	if c.way == ahead {
		target.left = append(target.left, c.target)
	} else {
		target.right = append(target.right, c.target)
	}
	p.curves = append(p.curves, c)
	if c.way == inside {
		c.from.inner = append(c.from.inner, c)
	}
	p.cross(c)
}

// cross gives a curve a pass through every column between its ends.
func (p *picture) cross(c *curve) {
	low, high := min(c.from.column, c.to.column), max(c.from.column, c.to.column)
	for i := high - 1; i > low; i-- {
		pass := &item{column: i, h: passH}
		c.passes = append(c.passes, pass)
		p.columns[i].items = append(p.columns[i].items, pass)
	}
	if c.way == ahead {
		slices.Reverse(c.passes)
	}
	if n := len(c.passes); n > 0 {
		c.target.by = c.passes[n-1]
		for _, s := range c.sources {
			s.by = c.passes[0]
		}
	}
	if c.way == inside || c.way == beside {
		return
	}
	last := &c.from.item
	for _, next := range append(slices.Clone(c.passes), &c.to.item) {
		last.near, next.near = append(last.near, next), append(next.near, last)
		last = next
	}
}

// title is what a curve says when it is pointed at.
func title(all []line) string {
	text := ""
	for i, l := range all {
		if i > 0 {
			text += "\n"
		}
		from, to := string(l.from), string(l.to)
		if l.join {
			from, to = l.fromName, l.toName
		}
		text += from + " → " + to + ": " + remark(l)
		if !l.gate.Gating {
			text += ": " + l.gate.Reason
		}
	}
	return text
}
