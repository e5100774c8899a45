// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Text returns a plan as a tree for a terminal: waves, their nodes, and below each node what it
// needs. Edges that open a new wave have a double arrow and the reason.
func Text(plan *order.Plan) []byte {
	b := &bytes.Buffer{}

	// Put edges to their nodes, and joins to their waves.
	needs := map[object.ID][]line{}
	joins := make([][]line, len(plan.Waves))
	drawn, notes := split(lines(plan))
	for _, l := range drawn {
		if l.join {
			wave := plan.Placements[l.from].Wave
			joins[wave] = append(joins[wave], l)
			continue
		}
		needs[l.from] = append(needs[l.from], l)
	}

	// Write the waves.
	for i, wave := range plan.Waves {
		if len(wave.Nodes) == 0 {
			continue // It has none of the nodes that are drawn.
		}
		if b.Len() > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "wave %d, %s\n", i, printable.Count(len(wave.Nodes), "object"))
		for _, l := range joins[i] {
			from, to := printable.Line(SideName(l.rule, l.fromName)), printable.Line(SideName(l.rule, l.toName))
			fmt.Fprintf(b, "  %s %s %s  %s\n", from, arrow(l), to, remark(l))
		}
		width := 0
		for _, n := range wave.Nodes {
			width = max(width, utf8.RuneCountInString(printable.Line(string(n.ID))))
		}
		for _, n := range wave.Nodes {
			fmt.Fprintf(b, "  %s  %s", pad(printable.Line(string(n.ID)), width), printable.Line(n.Object.Ref().String()))
			if notes[n.ID] != "" {
				fmt.Fprintf(b, "  (%s)", notes[n.ID])
			}
			fmt.Fprintln(b)
			writeNeeds(b, needs[n.ID])
		}
	}

	// Explain the arrows.
	if len(plan.Waves) > 0 {
		fmt.Fprint(b, "\n══▶ opens a new wave   ──▶ comes first in the same wave or before   ┄┄▶ in either order\n")
	}
	return b.Bytes()
}

// writeNeeds writes a line for each thing that a node needs.
func writeNeeds(b *bytes.Buffer, needs []line) {
	width := 0
	for _, l := range needs {
		width = max(width, utf8.RuneCountInString(printable.Line(string(l.to))))
	}
	for i, l := range needs {
		branch := "├"
		if i == len(needs)-1 {
			branch = "└"
		}
		fmt.Fprintf(b, "    %s%s %s  %s\n", branch, arrow(l), pad(printable.Line(string(l.to)), width), remark(l))
	}
}

func arrow(l line) string {
	switch {
	case l.gate.Gating:
		return "══▶"
	case l.gate.Loose:
		return "┄┄▶"
	}
	return "──▶"
}

// remark returns the rule of an edge, its line, and why it opens a new wave.
func remark(l line) string {
	text := l.label()
	if l.pos.IsValid() {
		text += " (" + printable.Line(l.pos.String()) + ")"
	}
	if l.gate.Gating {
		text += ": " + printable.Line(l.gate.Reason)
	}
	return text
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
