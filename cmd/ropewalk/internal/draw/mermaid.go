// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Mermaid returns the picture as a Mermaid flowchart, which code hosts show inside Markdown. Lines
// that open a new wave are thick, and calls are dotted.
func (p Picture) Mermaid() []byte {
	s := p.scene(false)
	b := &bytes.Buffer{}
	names := map[*mark]string{}
	if s.title != "" {
		fmt.Fprintf(b, "---\ntitle: %s\n---\n", strconv.QuoteToASCII(s.title+": "+s.summary()))
	}

	// Write the boxes of each wave.
	fmt.Fprintln(b, "flowchart RL")
	for i, wave := range s.byWave() {
		if len(wave) == 0 {
			continue
		}
		fmt.Fprintf(b, "  subgraph wave%d[\"wave %d\"]\n", i, i)
		for _, m := range wave {
			names[m] = fmt.Sprintf("n%d", len(names))
			lines := m.text()
			for i := range lines {
				lines[i] = mermaidText(lines[i])
			}
			fmt.Fprintf(b, "    %s[\"%s\"]\n", names[m], strings.Join(lines, "<br/>"))
		}
		fmt.Fprintln(b, "  end")
	}

	// Write the lines between them.
	for _, l := range s.strokes {
		arrow := "-->"
		switch l.style {
		case styleGate:
			arrow = "==>"
		case styleLoose, styleCall:
			arrow = "-.->"
		}
		fmt.Fprintf(b, "  %s %s|\"%s\"| %s\n", names[l.from], arrow, mermaidText(l.title()), names[l.to])
	}
	return b.Bytes()
}

// mermaidText writes text inside quotes of a flowchart: characters that it
// reads itself are written as the entities that it knows.
func mermaidText(s string) string {
	return strings.NewReplacer(
		"#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;",
	).Replace(printable.Line(s))
}
