// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// files are the parts of the page.
//
//go:embed page
var files embed.FS //nolint:gochecknoglobals // the compiler writes it

// maxViews limits the pictures that a page unfolds, in bytes.
const maxViews = 4_800_000

// HTML returns the picture as a page in one file, which loads nothing. Its boxes unfold: a spec to
// its objects, and several specs to a box for each.
func (p Picture) HTML() []byte {
	s := p.scene(true)
	title := s.title
	s.title = "" // The page has the title.
	first := s.svg(false)
	views, omitted := p.views(s, maxViews-len(first))
	return Page(files, styleSheet,
		"{{title}}", html.EscapeString(printable.Line(title)),
		"{{summary}}", s.summary(),
		"{{left}}", fmt.Sprint(omitted),
		"{{picture}}", string(first),
		"{{views}}", string(views))
}

// Page returns the file page.html of the folder page in parts, with its style after another style,
// its script, and a policy that lets nothing else run or load. Values are names in the page and the
// HTML in place of them, in turn.
func Page(parts embed.FS, style string, values ...string) []byte {
	read := func(name string) string {
		text, _ := parts.ReadFile("page/" + name) // It is embedded.
		return string(text)
	}
	style, script := style+read("page.css"), read("page.js")
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	pairs := append([]string{"{{policy}}", policy, "{{style}}", style, "{{script}}", script}, values...)
	return []byte(strings.NewReplacer(pairs...).Replace(read("page.html")))
}

// edgesOfSpecs returns the sentences of the edges between each spec and others.
func (p Picture) edgesOfSpecs() map[string][]string {
	out := map[string][]string{}
	drawn, _ := split(lines(p.Plan))
	for _, c := range p.Calls {
		drawn = append(drawn, line{from: object.MakeID(c.From, ""), to: object.MakeID(c.To, ""), rule: ruleCall, fromName: c.From, toName: c.To})
	}
	for _, l := range drawn {
		if from, to := l.from.Spec(), l.to.Spec(); from != to {
			text := printable.Line(l.sentence())
			out[from], out[to] = append(out[from], text), append(out[to], text)
		}
	}
	return out
}

// views returns the pictures that the boxes of a scene unfold to, and how many there is no room
// for.
func (p Picture) views(s *scene, room int) (out []byte, omitted int) {
	var b bytes.Buffer

	// Draw each view once, while there is room for it.
	bySpec := map[string][]*object.Node{}
	for _, n := range p.Plan.Graph.Nodes {
		bySpec[n.ID.Spec()] = append(bySpec[n.ID.Spec()], n)
	}
	edges := p.edgesOfSpecs()
	seen := map[string]bool{}
	add := func(specs []string) {
		key := strings.Join(specs, "\n")
		if seen[key] {
			return
		}
		seen[key] = true
		plan, _ := p.Plan.Only(func(id object.ID) bool { return slices.Contains(specs, id.Spec()) })
		part := Picture{Plan: plan, Calls: p.Calls, Unfolded: true}
		if len(specs) > 1 {
			part.most = len(specs)
		}
		svg := part.scene(true).svg(false)
		if b.Len()+len(svg) > room {
			omitted++
			return
		}
		fmt.Fprintf(&b, "<template data-specs=\"%s\" data-edges=\"%s\">%s</template>\n",
			escape(key), escape(listed(edges[key], "\n")), bytes.TrimSpace(svg))
	}
	// Boxes of several specs come first: without them nothing leads to their specs.
	for _, m := range s.marks {
		if len(m.specs) > 1 {
			add(m.specs)
		}
	}
	if s.folded {
		for _, spec := range object.SortedKeys(bySpec) {
			add([]string{spec})
		}
	}
	return b.Bytes(), omitted
}
