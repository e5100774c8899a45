// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// station is an end of a curve: a box, or the header of a group. Every curve has a place of its own
// on its side, so that neither arrows nor labels lie on each other.
type station struct {
	group       *group
	left, right []*end
	x, y, w, h  int
}

// end is one end of a curve at a station.
type end struct {
	at *station
	// other is the station at the other end, and by the nearest pass on the way there, if the way
	// has passes: the direction of the curve decides its place.
	other *station
	by    *item
	y     int
}

// goal returns the height to which the curve leads from here.
func (e *end) goal() int {
	if e.by != nil {
		return e.by.middle()
	}
	return e.other.y
}

// box is one object, or one card.
type box struct {
	station
	*mark
	// noteAt is the place of the note, right of the box.
	noteAt *end
}

// group is the boxes of one spec in one wave, or one card without a frame.
type group struct {
	item
	header station
	spec   string
	card   bool
	boxes  []*box
	x, w   int
	// lanes counts the upright lines right of the boxes.
	lanes int
	inner []*curve
}

// item is a group in a column, or a pass: the place at which a curve crosses the column.
type item struct {
	column int
	y, h   int
	// near are the items that curves join to this item.
	near []*item
	// place is the position of the item in its column, from 0 to 1, and weight the mean place of
	// its neighbours, for sorting.
	place, weight float64
}

func (it *item) middle() int { return it.y + it.h/2 }

// band is the columns of one wave.
type band struct{ wave, boxes, specs, first, last int }

// column is one wave, or a part of it.
type column struct {
	items []*item
	// x is the left side; boxW, labelW and laneW are the widths of the parts of its groups, and
	// outer counts the upright lines right of them.
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
	// joined are the boxes at its ends.
	joined []*mark
	// count is the number of edges of a line between cards, if they are several.
	count  string
	style  string
	lane   int
	passes []*item
	from   *group
	to     *group
}

// picture is everything on it, with places.
type picture struct {
	*scene
	bands   []band
	columns []*column
	groups  []*group
	curves  []*curve
	boxes   map[*mark]*box
	// ends and passes are shared by curves between cards.
	ends   map[sharedKey]*end
	passes map[sharedKey]*item
	legend []entry
	// top is the height of the title, gap what is between items, and bottom the height of
	// the legend.
	top, gap, bottom int
	width, height    int
}

// sharedKey identifies curves that arrive together.
type sharedKey struct {
	to          *mark
	style       string
	way, column int
}

// compose finds what is on the picture of a scene.
func compose(s *scene) *picture {
	// Leave room for the title.
	p := &picture{scene: s, boxes: map[*mark]*box{}, ends: map[sharedKey]*end{}, passes: map[sharedKey]*item{}, gap: groupGap}
	if s.folded {
		p.gap = cardGap
	}
	if s.title != "" {
		p.top = topH
	}

	// Put the boxes of a spec into a group for each wave, or into several if they are many.
	waves := make([][]*group, s.waves)
	last := map[string]*group{}
	sizes := map[string]int{}
	keyOf := func(m *mark) string { return fmt.Sprint(m.wave, " ", m.spec) }
	for _, m := range s.marks {
		sizes[keyOf(m)]++
	}
	for _, m := range s.marks {
		key := keyOf(m)
		g := last[key]
		frames := (sizes[key] + maxGroup - 1) / maxGroup
		if g == nil || m.isCard() || len(g.boxes)*frames >= sizes[key] {
			g = &group{spec: m.spec, card: m.isCard()}
			g.header.group = g
			last[key] = g
			waves[m.wave] = append(waves[m.wave], g)
		}
		b := &box{mark: m}
		b.group = g
		g.boxes = append(g.boxes, b)
		p.boxes[m] = b
		if m.note != "" {
			b.noteAt = &end{at: &b.station, other: &g.header}
			b.right = append(b.right, b.noteAt)
		}
	}

	// Give each wave its columns, with the groups near to what they are joined to.
	limit := columnLimit(waves)
	for wave, groups := range waves {
		if len(groups) == 0 {
			continue // It has none of what is drawn.
		}
		slices.SortStableFunc(groups, func(a, b *group) int {
			return cmp.Or(cmp.Compare(p.side(a, wave), p.side(b, wave)), strings.Compare(a.spec, b.spec))
		})
		p.groups = append(p.groups, groups...)
		p.addBand(wave, groups, limit)
	}

	// Draw the strokes between them.
	p.bundle(s.strokes)
	p.legend = p.entries()
	return p
}

// side returns 0 for a group that waits for earlier waves alone, 2 for a group that later waves
// wait for, and 1 for others: so each group is near to what it is joined to.
func (p *picture) side(g *group, wave int) int {
	side := 1
	for _, s := range p.strokes {
		from, to := p.boxes[s.from], p.boxes[s.to]
		switch {
		case to != nil && to.group == g && s.from.wave > wave:
			return 2
		case from != nil && from.group == g && s.to.wave < wave:
			side = 0
		}
	}
	return side
}

// about returns about how high a group will be.
func (g *group) about() int {
	if g.card {
		return cardH + cardGap
	}
	return headH + groupPad + len(g.boxes)*(boxH+boxGap) + groupGap
}

// columnLimit returns how high a column may be for the picture to have about the shape of a screen.
func columnLimit(waves [][]*group) int {
	area, high := 0, minCards
	for _, groups := range waves {
		for _, g := range groups {
			width := aboutCardW
			if !g.card {
				width, high = aboutColumnW, minColumn
			}
			area += g.about() * width
		}
	}
	return max(high, int(math.Sqrt(float64(area)/1.6)))
}

// addBand gives a wave as many columns as it needs, of about the same height.
func (p *picture) addBand(wave int, groups []*group, limit int) {
	total := 0
	high := 0
	b := band{wave: wave, first: len(p.columns)}
	for _, g := range groups {
		total += g.about()
	}
	n := (total + limit - 1) / limit
	col := &column{}
	for _, g := range groups {
		if high > 0 && (high+g.about()/2)*n > total && len(p.columns)-b.first < n-1 {
			p.columns = append(p.columns, col)
			col, high = &column{}, 0
		}
		high += g.about()
		g.column = len(p.columns)
		col.items = append(col.items, &g.item)
		b.boxes += len(g.boxes)
		for _, box := range g.boxes {
			b.specs += len(box.specs)
		}
	}
	b.last = len(p.columns)
	p.columns = append(p.columns, col)
	p.bands = append(p.bands, b)
}

// bundleKey identifies strokes that are drawn as one curve.
type bundleKey struct {
	from  *group
	to    *mark
	label string
	style string
}

// bundle makes curves of strokes.
func (p *picture) bundle(strokes []stroke) {
	var keys []bundleKey
	bundles := map[bundleKey][]stroke{}
	for _, s := range strokes {
		key := bundleKey{p.boxes[s.from].group, s.to, s.label(), s.style}
		if s.lines[0].join {
			key.label += "\x00" + s.lines[0].fromName
		}
		if bundles[key] == nil {
			keys = append(keys, key)
		}
		bundles[key] = append(bundles[key], s)
	}
	for _, key := range keys {
		p.addCurve(key, bundles[key])
	}
}

// addCurve draws the strokes of a bundle. If several leave their group, they leave it from its
// header.
func (p *picture) addCurve(key bundleKey, strokes []stroke) {
	target := p.boxes[key.to]

	// A curve goes inside of its group, beside its column, ahead or across the picture.
	c := &curve{
		way: across, label: strokes[0].label(), style: key.style, from: key.from, to: target.group,
		title: title(strokes), joined: []*mark{key.to},
	}
	for _, s := range strokes {
		c.joined = append(c.joined, s.from)
	}
	switch {
	case c.from == c.to:
		c.way = inside
	case c.from.column == c.to.column:
		c.way = beside
	case c.from.column < c.to.column:
		c.way = ahead
	}

	// It starts at the boxes that wait, or at the header of the group.
	var starts []*station
	first := strokes[0].lines[0]
	whole := first.join && len(first.fromName) > 0 && first.fromName == key.from.spec
	switch {
	case key.from.card:
		starts, c.label = []*station{&key.from.boxes[0].station}, ""
		if n := len(strokes[0].lines); n > 1 {
			c.count = fmt.Sprintf("×%d", n)
		}
	case c.way != inside && (len(strokes) > 1 || whole):
		starts = []*station{&key.from.header}
		if len(strokes) > 1 {
			c.label += fmt.Sprintf(" ×%d", len(strokes))
		}
	default:
		for _, l := range strokes {
			starts = append(starts, &p.boxes[l.from].station)
		}
	}

	// Its ends leave the boxes on the side that it goes to.
	for _, s := range starts {
		e := &end{at: s, other: &target.station}
		if c.way == across {
			s.left = append(s.left, e)
		} else {
			s.right = append(s.right, e)
		}
		c.sources = append(c.sources, e)
	}

	// Curves to one card end in one arrow.
	shared := sharedKey{to: key.to, style: c.style, way: c.way}
	c.target = p.ends[shared]
	if c.target == nil || !key.from.card {
		c.target = &end{at: &target.station, other: starts[0]}
		if c.way == ahead {
			target.left = append(target.left, c.target)
		} else {
			target.right = append(target.right, c.target)
		}
		p.ends[shared] = c.target
	}

	// Find its way through the columns.
	p.curves = append(p.curves, c)
	if c.way == inside {
		c.from.inner = append(c.from.inner, c)
	}
	p.cross(c, key.to)
}

// cross gives a curve to a box a pass through every column between its ends.
func (p *picture) cross(c *curve, target *mark) {
	low, high := min(c.from.column, c.to.column), max(c.from.column, c.to.column)
	for i := high - 1; i > low; i-- {
		shared := sharedKey{target, c.style, c.way, i}
		pass := p.passes[shared]
		if pass == nil || !c.from.card {
			pass = &item{column: i, h: passH}
			p.columns[i].items = append(p.columns[i].items, pass)
			p.passes[shared] = pass
		}
		c.passes = append(c.passes, pass)
	}

	// The passes follow the direction of the curve.
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
		last.near = append(last.near, next)
		next.near = append(next.near, last)
		last = next
	}
}

// title returns the text of a curve under the pointer.
func title(strokes []stroke) string {
	var texts []string
	for _, s := range strokes {
		for _, l := range s.lines {
			texts = append(texts, l.sentence())
		}
	}
	return listed(texts, "\n")
}

// sentence returns a line in words.
func (l line) sentence() string {
	start, target := string(l.from), string(l.to)
	if l.rule == ruleCall {
		return l.fromName + " → " + l.toName + ": calls"
	}
	if l.join {
		start, target = l.fromName, l.toName
	}
	text := start + " → " + target + ": " + remark(l)
	if !l.gate.Gating {
		text += ": " + l.gate.Reason
	}
	return text
}
