// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"slices"
)

// Sizes in pixels.
const (
	margin    = 24
	titleH    = 64 // above the groups: the header of a wave
	topH      = 44 // above the waves: the title of the picture
	legendRow = 24
	minWidth  = 560
	minColumn = 1100 // a column of this height is not split; of cards minCards
	minCards  = 640
	maxGroup  = 20 // boxes in one frame
	cardH     = 58
	cardGap   = 12
	// About how much of the width a column takes, with its share of the channel.
	aboutColumnW = 330
	aboutCardW   = 280
	headH        = 26 // the header of a group
	boxH         = 38
	boxGap       = 8
	groupPad     = 12
	groupGap     = 18
	passH        = 14
	slotH        = 15
	laneGap      = 7
	channelW     = 96 // between columns, for curves
	arrowW       = 10
	maxBoxW      = 230
	minBoxW      = 120
	kindSize     = 10
	nameSize     = 12
	labelSize    = 10
	headSize     = 12
	waveSize     = 17
	titleSize    = 16
	sweeps       = 12
	labelInset   = arrowW + 3
)

// arrange gives everything its place: the order in the columns first, which decides about
// crossings, then heights, then widths.
func (p *picture) arrange() {
	for range sweeps {
		p.sweep(-1)
		p.sweep(1)
	}
	p.setHeights()
	p.setWidths()
	p.placeLegend()
	p.stack()
	p.align()
	p.placeBoxes()
	p.spreadEnds()
	p.setLanes()
	p.setWidths()
}

// sweep orders the items of each column by the mean place of their neighbours
// in the next one on one side (Sugiyama's barycentre method). Items without
// neighbours keep their place.
func (p *picture) sweep(side int) {
	for _, col := range p.columns {
		col.setPlaces()
	}
	for i, col := range p.columns {
		if i+side < 0 || i+side >= len(p.columns) {
			continue
		}
		for _, it := range col.items {
			sum, n := 0.0, 0
			for _, other := range it.near {
				if other.column == i+side {
					sum += other.place
					n++
				}
			}
			it.weight = it.place
			if n > 0 {
				it.weight = sum / float64(n)
			}
		}
		slices.SortStableFunc(col.items, func(a, b *item) int { return cmp.Compare(a.weight, b.weight) })
		col.setPlaces()
	}
}

// setPlaces sets the place of each item in its column, from 0 to 1.
func (c *column) setPlaces() {
	for i, it := range c.items {
		it.place = (float64(i) + 0.5) / float64(len(c.items))
	}
}

// setHeights sets the heights of groups and boxes by the ends at them.
func (p *picture) setHeights() {
	for _, g := range p.groups {
		if g.card {
			g.boxes[0].h = max(cardH, g.boxes[0].need())
			g.h = g.boxes[0].h
			continue
		}
		g.header.h = max(headH, g.header.need())
		g.h = g.header.h + groupPad
		for i, b := range g.boxes {
			b.h = max(boxH, b.need())
			g.h += b.h
			if i > 0 {
				g.h += boxGap
			}
		}
	}
}

// need returns the height that the ends at a station need.
func (s *station) need() int { return slotH*max(len(s.left), len(s.right)) + 6 }

// stack puts the items of each column below each other.
func (p *picture) stack() {
	for _, col := range p.columns {
		y := margin + p.top + titleH
		for _, it := range col.items {
			it.y = y
			y += it.h + p.gap
		}
	}
	p.measureHeight()
}

// align moves items down towards their neighbours where there is room below,
// so that curves become straight. The highest column sets the limit.
func (p *picture) align() {
	limit := p.height - margin - p.bottom
	for _, col := range p.columns {
		floor := limit
		for _, it := range slices.Backward(col.items) {
			sum := 0
			for _, other := range it.near {
				sum += other.middle()
			}
			if n := len(it.near); n > 0 {
				it.y = max(it.y, min(sum/n-it.h/2, floor-it.h))
			}
			floor = it.y - p.gap
		}
	}
	p.measureHeight()
}

func (p *picture) measureHeight() {
	bottom := margin + p.top + titleH
	for _, col := range p.columns {
		for _, it := range col.items {
			bottom = max(bottom, it.y+it.h)
		}
	}
	p.height = bottom + margin + p.bottom
}

// placeBoxes puts the headers and boxes of groups into the groups.
func (p *picture) placeBoxes() {
	for _, g := range p.groups {
		g.header.y = g.y
		y := g.y + g.header.h
		for _, b := range g.boxes {
			b.y = y
			y += b.h + boxGap
		}
	}
}

// spreadEnds spreads the ends at each station over its side. Ends that turn up inside the picture
// come first and the farthest of them last. Ends that turn down come after them in the same order:
// so upright lines nest.
func (p *picture) spreadEnds() {
	for _, g := range p.groups {
		g.header.spread()
		for _, b := range g.boxes {
			b.spread()
		}
	}
}

func (s *station) spread() {
	for _, side := range [][]*end{s.left, s.right} {
		slices.SortStableFunc(side, func(a, b *end) int {
			return cmp.Or(
				cmp.Compare(s.turn(a), s.turn(b)),
				s.turnOrder(a, b),
			)
		})
		top := s.y + s.h/2 - slotH*(len(side)-1)/2
		for i, e := range side {
			e.y = top + i*slotH
		}
	}
}

// turn returns 0 for an end whose curve goes up beside the station, 1 for one that leads to another
// column, and 2 for one that goes down.
func (s *station) turn(e *end) int {
	switch {
	case e.other.group.column != s.group.column:
		return 1
	case e.other.y < s.y:
		return 0
	}
	return 2
}

func (s *station) turnOrder(a, b *end) int {
	if s.turn(a) == 1 {
		return cmp.Compare(a.goal(), b.goal())
	}
	return cmp.Compare(b.other.y, a.other.y)
}

// setLanes gives every curve that turns inside its column an upright lane of its own, short ones
// nearer to the boxes.
func (p *picture) setLanes() {
	for _, g := range p.groups {
		g.lanes = assignLanes(g.inner)
	}
	byColumn := make([][]*curve, len(p.columns))
	for _, c := range p.curves {
		if c.way == beside {
			byColumn[c.from.column] = append(byColumn[c.from.column], c)
		}
	}
	for i, col := range p.columns {
		col.outer = assignLanes(byColumn[i])
	}
}

func (c *curve) span() (low, high int) {
	low, high = c.target.y, c.target.y
	for _, s := range c.sources {
		low, high = min(low, s.y), max(high, s.y)
	}
	return low, high
}

func assignLanes(curves []*curve) int {
	curves = slices.Clone(curves)
	slices.SortStableFunc(curves, func(a, b *curve) int {
		al, ah := a.span()
		bl, bh := b.span()
		return cmp.Or(cmp.Compare(ah-al, bh-bl), cmp.Compare(al, bl))
	})
	var lanes [][]*curve
	for _, c := range curves {
		low, high := c.span()
		c.lane = slices.IndexFunc(lanes, func(lane []*curve) bool {
			return !slices.ContainsFunc(lane, func(other *curve) bool {
				l, h := other.span()
				return low <= h+2 && l <= high+2
			})
		})
		if c.lane < 0 {
			c.lane = len(lanes)
			lanes = append(lanes, nil)
		}
		lanes[c.lane] = append(lanes[c.lane], c)
	}
	return len(lanes)
}

// labelWidth returns the width of the label.
func (c *curve) labelWidth() int {
	if c.style == styleGate {
		return boldWidth(c.label, labelSize)
	}
	return textWidth(c.label, labelSize)
}

// setWidths puts the columns beside each other.
func (p *picture) setWidths() {
	// A column is as wide as its widest box, its labels and its lanes.
	for _, col := range p.columns {
		col.boxW = minBoxW
	}
	for _, g := range p.groups {
		col := p.columns[g.column]
		for _, b := range g.boxes {
			name := min(boldWidth(b.name, nameSize), maxBoxW-20)
			kind := min(max(textWidth(b.kind, kindSize), textWidth(b.about, kindSize)), maxBoxW-20)
			if b.note != "" {
				col.labelW = max(col.labelW, textWidth(b.note, labelSize)+labelInset+4)
			}
			col.boxW = max(col.boxW, name+20, kind+20)
		}
		col.laneW = max(col.laneW, (g.lanes+1)*laneGap)
	}

	// A label beside a box needs room in the column of the box.
	for _, c := range p.curves {
		if c.way != ahead && !c.to.card {
			col := p.columns[c.to.column]
			col.labelW = max(col.labelW, c.labelWidth()+labelInset+4)
		}
	}

	// Put the columns beside each other.
	x := margin
	for i, col := range p.columns {
		col.x = x
		col.width = groupPad + col.boxW + col.labelW + col.laneW + groupPad/2
		if p.folded {
			col.width = col.boxW + arrowW
		}
		x += col.width + col.outer*laneGap
		if i < len(p.columns)-1 {
			x += channelW
		}
	}

	// The name of a wave must fit over its first column.
	for _, col := range p.columns {
		col.width = max(col.width, textWidth("wave 00", waveSize)+60)
	}
	p.width = max(x+margin, minWidth)

	// Put the groups into their columns.
	for _, g := range p.groups {
		col := p.columns[g.column]
		g.x, g.w = col.x, col.width
		g.header.x, g.header.w = g.x, g.w
		for _, b := range g.boxes {
			b.x = g.x + groupPad
			b.w = col.boxW
			if g.card {
				b.x = g.x
			}
		}
	}
}
