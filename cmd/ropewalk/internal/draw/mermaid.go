// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Mermaid is a plan as a Mermaid flowchart, which code hosts show inside
// Markdown. Edges that open a new wave are thick.
func Mermaid(plan *order.Plan) []byte {
	b := &bytes.Buffer{}
	fmt.Fprintln(b, "flowchart RL")
	names := map[object.ID]string{}
	for i, wave := range plan.Waves {
		fmt.Fprintf(b, "  subgraph wave%d[\"wave %d\"]\n", i, i)
		for _, n := range wave.Nodes {
			names[n.ID] = fmt.Sprintf("n%d", len(names))
			fmt.Fprintf(b, "    %s[\"%s<br/>%s\"]\n", names[n.ID],
				mermaidText(n.Object.Kind()), mermaidText(objectName(n.Object.Ref())))
		}
		fmt.Fprintln(b, "  end")
	}
	for _, l := range lines(plan) {
		arrow := "-->"
		switch {
		case l.gate.Gating:
			arrow = "==>"
		case l.gate.Loose:
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
