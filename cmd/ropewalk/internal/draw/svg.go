// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/order"
)

// SVG is a picture of a plan. Waves are columns from left to right; in them, objects are
// boxes grouped by spec. Curves lead from what waits to what comes first, where
// the arrow is, with their rule beside it. Edges of one group that have the same
// end and rule are one curve.
func SVG(plan *order.Plan) []byte {
	p := compose(plan)
	p.layout()
	var b bytes.Buffer
	c := &canvas{b: &b}
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`,
		p.width, p.height, p.width, p.height)
	c.printf("<title>%s in %s</title>", count(len(plan.Graph.Nodes), "object"), count(len(plan.Waves), "wave"))
	c.printf("%s", styleSheet)
	c.printf(`<rect class="paper" width="%d" height="%d"/>`, p.width, p.height)
	p.drawColumns(c)
	p.drawGroups(c)
	// Gating curves come last, so that they lie on top.
	for _, gate := range []bool{false, true} {
		for _, curve := range p.curves {
			if (curve.style == styleGate) == gate {
				p.drawCurve(c, curve)
			}
		}
	}
	p.drawLegend(c)
	c.printf("</svg>")
	return b.Bytes()
}

// styleSheet is everything that does not depend on the plan, for readers of light and of dark
// pages.
const styleSheet = `<style>
text { font-family: Helvetica, Arial, "DejaVu Sans", sans-serif; fill: #0f172a; }
.paper { fill: #ffffff; }
.wave { fill: #f1f5f9; }
.waveName { font-size: 17px; font-weight: bold; }
.waveNote { font-size: 11px; fill: #64748b; }
.group { fill: #ffffff; stroke: #cbd5e1; }
.spec { font-size: 12px; font-weight: bold; fill: #334155; }
.box { fill: #eff6ff; stroke: #93c5fd; }
.box.work { fill: #dbeafe; stroke: #3b82f6; }
.kind { font-size: 10px; fill: #475569; }
.name { font-size: 12px; font-weight: bold; }
.rule { font-size: 10px; fill: #475569; }
.rule.gate { fill: #9a3412; font-weight: bold; }
.line { fill: none; stroke-width: 1.2; }
.line.gate { stroke: #c2410c; stroke-width: 2.2; }
.line.explicit { stroke: #334155; stroke-width: 1.6; }
.line.inferred { stroke: #94a3b8; }
.line.loose { stroke: #94a3b8; stroke-dasharray: 4 3; }
.head.gate { fill: #c2410c; }
.head.explicit { fill: #334155; }
.head.inferred, .head.loose { fill: #94a3b8; }
@media (prefers-color-scheme: dark) {
text { fill: #e2e8f0; }
.paper { fill: #0d1117; }
.wave { fill: #161b22; }
.waveNote, .kind, .rule { fill: #94a3b8; }
.group { fill: #0d1117; stroke: #334155; }
.spec { fill: #cbd5e1; }
.box { fill: #172033; stroke: #334155; }
.box.work { fill: #1e3a5f; stroke: #60a5fa; }
.rule.gate { fill: #fdba74; }
.line.gate { stroke: #fb923c; }
.line.explicit { stroke: #cbd5e1; }
.line.inferred, .line.loose { stroke: #64748b; }
.head.gate { fill: #fb923c; }
.head.explicit { fill: #cbd5e1; }
.head.inferred, .head.loose { fill: #64748b; }
}
</style>`

// canvas writes elements, one to a line.
type canvas struct{ b *bytes.Buffer }

func (c *canvas) printf(format string, args ...any) {
	fmt.Fprintf(c.b, format+"\n", args...)
}

func (c *canvas) text(x, y int, class, text string) {
	c.printf(`<text x="%d" y="%d" class="%s">%s</text>`, x, y, class, escape(text))
}

// escape writes text for XML; what XML cannot hold becomes U+FFFD.
func escape(s string) string {
	var b strings.Builder
	// A strings.Builder takes everything.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

func (p *picture) drawColumns(c *canvas) {
	for i, col := range p.columns {
		width := col.width + col.outer*laneGap + 2*groupPad
		c.printf(`<rect class="wave" x="%d" y="%d" width="%d" height="%d" rx="10"/>`,
			col.x-groupPad, margin, width, p.height-legendH-margin)
		c.text(col.x, margin+28, "waveName", fmt.Sprintf("wave %d", i))
		c.text(col.x, margin+46, "waveNote", count(col.boxes, "object"))
	}
}

func (p *picture) drawGroups(c *canvas) {
	for _, g := range p.groups {
		c.printf(`<rect class="group" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, g.x, g.y, g.w, g.h)
		c.text(g.x+groupPad, g.y+g.header.h/2+4, "spec", fit(g.spec, boldWidth, headSize, g.w-2*groupPad))
		for _, b := range g.boxes {
			class := "box"
			if isWorkload(b.node.Object.Kind()) {
				class = "box work"
			}
			c.printf("<g><title>%s</title>", escape(string(b.node.ID)+"\n"+b.node.Object.Ref().String()+"\n"+b.reason))
			c.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>`, class, b.x, b.y, b.w, b.h)
			middle := b.y + b.h/2
			c.text(b.x+10, middle-4, "kind", fit(b.node.Object.Kind(), textWidth, kindSize, b.w-20))
			c.text(b.x+10, middle+11, "name", fit(b.node.Object.Name(), boldWidth, nameSize, b.w-20))
			if b.note != "" {
				c.text(b.x+b.w+labelInset, b.noteAt.y+4, "rule", b.note)
			}
			c.printf("</g>")
		}
	}
}

// drawCurve draws one curve with its arrow and its label.
func (p *picture) drawCurve(c *canvas, k *curve) {
	c.printf("<g><title>%s</title>", escape(k.title))
	for _, s := range k.sources {
		c.printf(`<path class="line %s" d="%s"/>`, k.style, p.route(k, s))
	}
	x, y := k.target.at.x+k.target.at.w, k.target.y
	step, class := 1, "rule"
	if k.way == ahead {
		x, step = k.target.at.x, -1
	}
	if k.style == styleGate {
		class = "rule gate"
	}
	c.printf(`<path class="head %s" d="M%d %d l%d -4 v8 z"/>`, k.style, x+step, y, step*8)
	if k.way != ahead {
		c.text(x+labelInset, y-3, class, k.label)
	}
	c.printf("</g>")
}

// route is the path of a curve from one of its sources to its target.
func (p *picture) route(k *curve, s *end) string {
	tx, ty := k.target.at.x+k.target.at.w+arrowW-2, k.target.y
	switch k.way {
	case inside:
		col := p.columns[k.from.column]
		lane := k.from.x + groupPad + col.boxW + col.labelW + (k.lane+1)*laneGap
		return bracket(s.at.x+s.at.w, s.y, lane, tx, ty)
	case beside:
		col := p.columns[k.from.column]
		lane := col.x + col.width + (k.lane+1)*laneGap
		return bracket(s.at.x+s.at.w, s.y, lane, tx, ty)
	}
	// A curve leaves its column on the side of the target, and enters those on its way
	// and that of the target on the other side.
	x, step := s.at.x, -1
	if k.way == ahead {
		x, step, tx = s.at.x+s.at.w, 1, k.target.at.x-arrowW+2
	}
	var b strings.Builder
	y, column := s.y, k.from.column
	fmt.Fprintf(&b, "M%d %d", x, y)
	to := func(next int) {
		out, in := p.columns[column].edge(step), p.columns[column+step].edge(-step)
		fmt.Fprintf(&b, " H%d %s", out, bend(out, y, in, next))
		y, column = next, column+step
	}
	for _, pass := range k.passes {
		to(pass.middle())
	}
	to(ty)
	fmt.Fprintf(&b, " H%d", tx)
	return b.String()
}

// edge is the left (-1) or the right side (1) of a column with its frame.
func (c *column) edge(side int) int {
	if side < 0 {
		return c.x - groupPad
	}
	return c.x + c.width + c.outer*laneGap + groupPad
}

// bend is a curve between two points that leaves and arrives level.
func bend(x1, y1, x2, y2 int) string {
	half := (x2 - x1) / 2
	return fmt.Sprintf("C%d %d %d %d %d %d", x1+half, y1, x2-half, y2, x2, y2)
}

// bracket is a path out to a lane, along it, and back, with round corners.
func bracket(x1, y1, lane, x2, y2 int) string {
	r := min(5, max(y1-y2, y2-y1)/2)
	up := r
	if y2 < y1 {
		up = -r
	}
	return fmt.Sprintf("M%d %d H%d Q%d %d %d %d V%d Q%d %d %d %d H%d",
		x1, y1, lane-r, lane, y1, lane, y1+up, y2-up, lane, y2, lane-r, y2, x2)
}

// drawLegend says what the styles mean.
func (p *picture) drawLegend(c *canvas) {
	entries := [...][2]string{
		{styleGate, "opens a new wave"},
		{styleExplicit, "explicit, no new wave"},
		{styleInferred, "inferred, no new wave"},
		{styleLoose, "in either order"},
	}
	x, y := margin, p.height-legendH/2
	for _, e := range entries {
		c.printf(`<path class="head %s" d="M%d %d l8 -4 v8 z"/>`, e[0], x, y-4)
		c.printf(`<path class="line %s" d="M%d %d H%d"/>`, e[0], x+8, y-4, x+40)
		c.text(x+48, y, "waveNote", e[1])
		x += 48 + textWidth(e[1], 11) + 28
	}
}
