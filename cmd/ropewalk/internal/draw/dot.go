// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/order"
)

// Dot is a plan in the DOT language of Graphviz: waves are clusters from
// left to right, and arrows lead from a node to what it needs.
func Dot(plan *order.Plan) []byte {
	b := &bytes.Buffer{}
	fmt.Fprint(b, "digraph ropewalk {\n  rankdir=RL;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"+
		"  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for i, wave := range plan.Waves {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=\"wave %d\";\n", i, i)
		for _, n := range wave.Nodes {
			label := n.Object.Kind() + "\n" + objectName(n.Object.Ref())
			fmt.Fprintf(b, "    %s [label=%s, tooltip=%s];\n", dotQuote(string(n.ID)), dotQuote(label), dotQuote(string(n.ID)))
		}
		fmt.Fprint(b, "  }\n")
	}
	for _, l := range lines(plan) {
		fmt.Fprintf(b, "  %s -> %s [label=%s%s];\n", dotQuote(string(l.from)), dotQuote(string(l.to)), dotQuote(l.title()), dotStyle(l))
	}
	fmt.Fprint(b, "}\n")
	return b.Bytes()
}

// title is the label of a line where nothing else shows what it stands for.
func (l line) title() string {
	if l.join {
		return l.label() + ": " + l.fromName + " on " + l.toName
	}
	return l.label()
}

func dotStyle(l line) string {
	switch {
	case l.gate.Gating:
		return `, color="#c2410c", penwidth=2`
	case l.gate.Loose:
		return `, color="#64748b", style=dashed`
	}
	return `, color="#64748b"`
}

// dotQuote writes a quoted string of DOT, in which only quotes, backslashes
// and ends of lines are special.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(printable.Text(s)) + `"`
}
