// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Dot returns the picture in the DOT language of Graphviz: waves are clusters from left to right,
// and arrows lead from a box to what it needs.
func (p Picture) Dot() []byte {
	s := p.scene(false)
	b := &bytes.Buffer{}
	names := map[*mark]string{}
	fmt.Fprint(b, "digraph ropewalk {\n  rankdir=RL;\n")
	if s.title != "" {
		fmt.Fprintf(b, "  label=%s; labelloc=t; fontname=\"sans-serif\";\n", dotQuote(s.title+"\n"+s.summary()))
	}

	// Write the boxes of each wave.
	fmt.Fprint(b, "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for i, wave := range s.byWave() {
		if len(wave) == 0 {
			continue // It has none of what is drawn.
		}
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=\"wave %d\";\n", i, i)
		for _, m := range wave {
			names[m] = string(m.id)
			if m.isCard() {
				names[m] = fmt.Sprintf("specs %d", len(names))
			}
			label, tooltip := strings.Join(m.text(), "\n"), cmp.Or(string(m.id), m.title)
			fmt.Fprintf(b, "    %s [label=%s, tooltip=%s];\n", dotQuote(names[m]), dotQuote(label), dotQuote(tooltip))
		}
		fmt.Fprint(b, "  }\n")
	}

	// Write the lines between them.
	for _, l := range s.strokes {
		fmt.Fprintf(b, "  %s -> %s [label=%s%s];\n", dotQuote(names[l.from]), dotQuote(names[l.to]), dotQuote(l.title()), dotStyle(l.style))
	}
	fmt.Fprint(b, "}\n")
	return b.Bytes()
}

// byWave returns the boxes of each wave.
func (s *scene) byWave() [][]*mark {
	out := make([][]*mark, s.waves)
	for _, m := range s.marks {
		out[m.wave] = append(out[m.wave], m)
	}
	return out
}

// text returns the lines of a box.
func (m *mark) text() []string {
	if m.isCard() {
		return []string{m.name, m.kind, m.about}
	}
	return []string{m.kind, m.fullName}
}

// title returns the label of a stroke for formats in which nothing else shows what it stands for.
func (s stroke) title() string {
	l := s.lines[0]
	if n := len(s.lines); s.to.isCard() && n > 1 {
		return fmt.Sprintf("%s ×%d", s.label(), n)
	}
	if l.join && !s.to.isCard() {
		return s.label() + ": " + l.fromName + " on " + l.toName
	}
	return s.label()
}

func dotStyle(style string) string {
	switch style {
	case styleGate:
		return `, color="#c2410c", penwidth=2`
	case styleLoose:
		return `, color="#64748b", style=dashed`
	case styleCall:
		return `, color="#0d9488", style=dashed, constraint=false`
	}
	return `, color="#64748b"`
}

// dotQuote writes a quoted string of DOT, in which only quotes, backslashes
// and ends of lines are special.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(printable.Text(s)) + `"`
}
