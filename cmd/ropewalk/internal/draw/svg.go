// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// SVG returns the picture. Waves are columns from left to right. Objects are boxes in them, grouped
// by spec, or specs are cards. Curves lead from what waits to what comes first, where the arrow is,
// with their rule beside it. Edges of one group that have the same end and rule are one curve, as
// are all edges between two boxes.
func (p Picture) SVG() []byte { return p.scene(true).svg(true) }

// svg draws the scene. Without styles it is a part of a page that has them.
func (s *scene) svg(styles bool) []byte {
	// Arrange the picture, and write its title.
	p := compose(s)
	p.arrange()
	var b bytes.Buffer
	c := &canvas{b: &b, numbered: !styles}
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`,
		p.width, p.height, p.width, p.height)
	if s.title != "" {
		c.printf("<title>%s: %s</title>", escape(printable.Line(s.title)), s.summary())
	} else {
		c.printf("<title>%s</title>", s.summary())
	}

	// Write what the picture lies on.
	if styles {
		c.printf("<style>\n%s</style>", styleSheet)
	}
	c.printf(`<rect class="paper" width="%d" height="%d"/>`, p.width, p.height)
	if s.title != "" {
		c.writeText(margin, margin+13, "title", fit(printable.Line(s.title), boldWidth, titleSize, p.width-2*margin))
		c.writeText(margin, margin+30, "waveNote", s.summary())
	}

	// Draw the columns, and the curves over them.
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

// summary returns what the picture shows in numbers.
func (s *scene) summary() string {
	text := printable.Count(s.objects, "object") + " in " + printable.Count(s.filled, "wave")
	if s.folded {
		text = printable.Count(s.objects, "object") + " of " + printable.Count(s.specs, "spec") + " in " + printable.Count(s.filled, "wave")
	}
	return text
}

// styleSheet is everything that does not depend on the plan, for readers of light and of dark
// pages.
const styleSheet = `text { font-family: Helvetica, Arial, "DejaVu Sans", sans-serif; fill: #0f172a; }
.paper { fill: #ffffff; }
.title { font-size: 16px; font-weight: bold; }
.wave { fill: #f1f5f9; }
.waveName { font-size: 17px; font-weight: bold; }
.waveNote { font-size: 11px; fill: #64748b; }
.group { fill: #ffffff; stroke: #cbd5e1; }
.spec { font-size: 12px; font-weight: bold; fill: #334155; }
.box { fill: #eff6ff; stroke: #93c5fd; }
.box.work { fill: #dbeafe; stroke: #3b82f6; }
.box.focus { stroke: #7c3aed; stroke-width: 3; }
.kind { font-size: 10px; fill: #475569; }
.name { font-size: 12px; font-weight: bold; }
.rule { font-size: 10px; fill: #475569; }
.rule.gate { fill: #9a3412; font-weight: bold; }
.line { fill: none; stroke-width: 1.2; }
.line.gate { stroke: #c2410c; stroke-width: 2.2; }
.line.explicit { stroke: #334155; stroke-width: 1.6; }
.line.inferred { stroke: #94a3b8; }
.line.loose { stroke: #94a3b8; stroke-dasharray: 4 3; }
.line.call { stroke: #0d9488; stroke-width: 1.6; stroke-dasharray: 7 4; }
.head.gate { fill: #c2410c; }
.head.explicit { fill: #334155; }
.head.inferred, .head.loose { fill: #94a3b8; }
.head.call { fill: #0d9488; }
@media (prefers-color-scheme: dark) {
text { fill: #e2e8f0; }
.paper { fill: #0d1117; }
.wave { fill: #161b22; }
.waveNote, .kind, .rule { fill: #94a3b8; }
.group { fill: #0d1117; stroke: #334155; }
.spec { fill: #cbd5e1; }
.box { fill: #172033; stroke: #334155; }
.box.work { fill: #1e3a5f; stroke: #60a5fa; }
.box.focus { stroke: #c4b5fd; }
.rule.gate { fill: #fdba74; }
.line.gate { stroke: #fb923c; }
.line.explicit { stroke: #cbd5e1; }
.line.inferred, .line.loose { stroke: #64748b; }
.head.gate { fill: #fb923c; }
.head.explicit { fill: #cbd5e1; }
.head.inferred, .head.loose { fill: #64748b; }
.line.call { stroke: #2dd4bf; }
.head.call { fill: #2dd4bf; }
}
`

// canvas writes elements, one to a line.
type canvas struct {
	b *bytes.Buffer
	// numbered boxes and curves say by attributes what joins what, for the script of a page.
	numbered bool
}

func (c *canvas) printf(format string, args ...any) {
	fmt.Fprintf(c.b, format+"\n", args...)
}

// writeText writes text at a point, in the style of a class.
func (c *canvas) writeText(x, y int, class, text string) {
	c.printf(`<text x="%d" y="%d" class="%s">%s</text>`, x, y, class, escape(text))
}

// escape returns text for XML. What XML cannot hold becomes U+FFFD.
func escape(s string) string {
	var b strings.Builder
	// A strings.Builder takes everything.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

func (p *picture) drawColumns(c *canvas) {
	for _, b := range p.bands {
		first, last := p.columns[b.first], p.columns[b.last]
		top := margin + p.top
		c.printf(`<rect class="wave" x="%d" y="%d" width="%d" height="%d" rx="10"/>`,
			first.x-groupPad, top, last.edge(1)-first.x+groupPad, p.height-p.bottom-top)
		c.writeText(first.x, top+28, "waveName", fmt.Sprintf("wave %d", b.wave))
		note := printable.Count(b.boxes, "object")
		if p.folded {
			note = fmt.Sprintf("%s begin here", printable.Count(b.specs, "spec"))
			if b.specs == 1 {
				note = "1 spec begins here"
			}
		}
		c.writeText(first.x, top+46, "waveNote", note)
	}
}

func (p *picture) drawGroups(c *canvas) {
	for _, g := range p.groups {
		if !g.card {
			c.printf(`<rect class="group" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, g.x, g.y, g.w, g.h)
			c.writeText(g.x+groupPad, g.y+g.header.h/2+4, "spec", fit(printable.Line(g.spec), boldWidth, headSize, g.w-2*groupPad))
		}
		for _, b := range g.boxes {
			b.draw(c)
		}
	}
}

func (b *box) draw(c *canvas) {
	// The classes say what the box is.
	class, attributes := "box", ""
	if b.work {
		class = "box work"
	}
	if b.focus {
		class += " focus"
	}
	if b.isCard() {
		class += " card"
		attributes = fmt.Sprintf(` class="unfolds" data-specs="%s"`, escape(strings.Join(b.specs, "\n")))
	}
	if c.numbered {
		attributes += fmt.Sprintf(` data-box="%d"`, b.index)
	}

	// Write the box with its texts.
	c.printf("<g%s><title>%s</title>", attributes, escape(printable.Text(b.title)))
	c.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>`, class, b.x, b.y, b.w, b.h)
	small := func(y int, text string) {
		c.writeText(b.x+10, y, "kind", fit(printable.Line(text), textWidth, kindSize, b.w-20))
	}
	middle := b.y + b.h/2
	first, name := middle-4, middle+11
	if b.isCard() {
		first, name = middle+4, middle-10
		small(middle+19, b.about)
	}
	small(first, b.kind)
	c.writeText(b.x+10, name, "name", fit(printable.Line(b.name), boldWidth, nameSize, b.w-20))
	if b.note != "" {
		c.writeText(b.x+b.w+labelInset, b.noteAt.y+4, "rule", b.note)
	}
	c.printf("</g>")
}

// drawCurve draws one curve with its arrow and its label.
func (p *picture) drawCurve(c *canvas, k *curve) {
	// A page highlights what is joined to a box.
	joined := ""
	if c.numbered {
		for _, m := range k.joined {
			joined += fmt.Sprintf(" %d", m.index)
		}
		joined = fmt.Sprintf(` data-joins="%s"`, joined[1:])
	}

	// Draw a line from each source.
	c.printf("<g%s><title>%s</title>", joined, escape(printable.Text(k.title)))
	for _, s := range k.sources {
		c.printf(`<path class="line %s" d="%s"/>`, k.style, p.route(k, s))
	}

	// Draw one arrow at the target, with the label beside it.
	x, y := k.target.at.x+k.target.at.w, k.target.y
	step := 1
	class := "rule"
	if k.way == ahead {
		x, step = k.target.at.x, -1
	}
	if k.style == styleGate {
		class = "rule gate"
	}
	c.printf(`<path class="head %s" d="M%d %d l%d -4 v8 z"/>`, k.style, x+step, y, step*8)
	if k.label != "" && k.way != ahead {
		c.writeText(x+labelInset, y-3, class, k.label)
	}
	if s := k.sources[0]; k.count != "" && k.way == across {
		c.writeText(s.at.x-textWidth(k.count, labelSize)-4, s.y-3, class, k.count)
	} else if k.count != "" {
		c.writeText(s.at.x+s.at.w+4, s.y-3, class, k.count)
	}
	c.printf("</g>")
}

// route returns the path of a curve from one of its sources to its target.
func (p *picture) route(k *curve, s *end) string {
	// A curve within its column turns in a lane.
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
	// A curve leaves its column on the side of the target, and enters the columns on its way and
	// the column of the target on the other side.
	x := s.at.x
	step := -1
	if k.way == ahead {
		x, step, tx = s.at.x+s.at.w, 1, k.target.at.x-arrowW+2
	}

	// Bend the line between the columns.
	var b strings.Builder
	y, column := s.y, k.from.column
	fmt.Fprintf(&b, "M%d %d", x, y)
	turn := func(next int) {
		out, in := p.columns[column].edge(step), p.columns[column+step].edge(-step)
		fmt.Fprintf(&b, " H%d %s", out, bend(out, y, in, next))
		y, column = next, column+step
	}
	for _, pass := range k.passes {
		turn(pass.middle())
	}
	turn(ty)
	fmt.Fprintf(&b, " H%d", tx)
	return b.String()
}

// edge returns the left (-1) or the right side (1) of a column with its frame.
func (c *column) edge(side int) int {
	if side < 0 {
		return c.x - groupPad
	}
	return c.x + c.width + c.outer*laneGap + groupPad
}

// bend returns a curve between two points that leaves and arrives level.
func bend(x1, y1, x2, y2 int) string {
	half := (x2 - x1) / 2
	return fmt.Sprintf("C%d %d %d %d %d %d", x1+half, y1, x2-half, y2, x2, y2)
}

// bracket returns a path out to a lane, along it, and back, with round corners.
func bracket(x1, y1, lane, x2, y2 int) string {
	r := min(5, max(y1-y2, y2-y1)/2)
	up := r
	if y2 < y1 {
		up = -r
	}
	return fmt.Sprintf("M%d %d H%d Q%d %d %d %d V%d Q%d %d %d %d H%d",
		x1, y1, lane-r, lane, y1, lane, y1+up, y2-up, lane, y2, lane-r, y2, x2)
}

// entry is one mark of the legend: a line of a style, a box, or a number beside a line.
type entry struct {
	class, text string
	x, y        int
}

// inset returns the width of the mark before the text.
func (e entry) inset() int {
	if e.class == "note" {
		return 0
	}
	return 48
}

// entries returns the entries of the legend: of all that is on the picture, and of nothing else.
// Find what is on the picture.
func (p *picture) entries() []entry {
	styles := map[string]bool{}
	marks := map[string]bool{}
	for _, c := range p.curves {
		styles[c.style] = true
		marks["count"] = marks["count"] || c.count != ""
	}
	for _, b := range p.marks {
		marks["box focus"] = marks["box focus"] || b.focus
		marks["box work"], marks["box"] = marks["box work"] || b.work, marks["box"] || !b.work
	}

	// Explain each of it.
	var out []entry
	add := func(is bool, class, text string) {
		if is {
			out = append(out, entry{class: class, text: text})
		}
	}
	add(len(styles) > 0, "note", "an arrow leads to what comes first, or is called")
	add(styles[styleGate], styleGate, "opens a new wave: waits until it is ready")
	add(styles[styleExplicit], styleExplicit, "explicit, no new wave")
	add(styles[styleInferred], styleInferred, "inferred, no new wave")
	add(styles[styleLoose], styleLoose, "in either order")
	add(styles[styleCall], styleCall, "calls, which bind no order")
	add(marks["count"], "count", "edges drawn as one line")
	add(marks["box focus"], "box focus", "what the picture is about")
	switch {
	case p.folded:
		add(marks["box work"], "box work", "objects with a workload among them")
		add(marks["box"], "box", "objects without a workload")
	default:
		add(marks["box work"], "box work", "workload")
		add(marks["box"], "box", "other object")
	}
	return out
}

// placeLegend sets the entries in rows below the picture.
func (p *picture) placeLegend() {
	x, y := margin, 0
	for i := range p.legend {
		e := &p.legend[i]
		width := e.inset() + textWidth(e.text, 11)
		if x > margin && x+width > p.width-margin {
			x, y = margin, y+legendRow
		}
		e.x, e.y = x, y
		x += width + 28
	}
	p.bottom = legendRow + 30
	if len(p.legend) > 0 {
		p.bottom += y
	}
}

// drawLegend draws the meaning of colours, lines and marks.
func (p *picture) drawLegend(c *canvas) {
	for _, e := range p.legend {
		x, y := e.x, p.height-p.bottom+30+e.y
		switch e.class {
		case "box", "box work", "box focus":
			c.printf(`<rect class="%s" x="%d" y="%d" width="26" height="14" rx="3"/>`, e.class, x+10, y-11)
		case "count":
			c.writeText(x+22, y, "rule", "×2")
		case "note":
		default:
			c.printf(`<path class="head %s" d="M%d %d l8 -4 v8 z"/>`, e.class, x, y-4)
			c.printf(`<path class="line %s" d="M%d %d H%d"/>`, e.class, x+8, y-4, x+40)
		}
		c.writeText(x+e.inset(), y, "waveNote", e.text)
	}
}
