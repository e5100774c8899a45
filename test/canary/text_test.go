// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"slices"
	"strings"
)

// piece is a piece of a text: what an author writes, and what it means to Score;
// or an output of a resource.
type piece struct {
	raw, means       string
	resource, output string
}

// text is what an author writes where Score expands placeholders.
type text []piece

func (t text) raw() string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.raw)
	}
	return b.String()
}

func reference(resource, output string) piece {
	return piece{raw: "${resources." + strings.ReplaceAll(resource, ".", `\.`) + "." + output + "}", resource: resource, output: output}
}

// literals are pieces of text with a meaning to Score, Go templates, Kubernetes,
// YAML or shells.
func literals() []piece {
	var out []piece
	for _, p := range [][2]string{
		{"$$", "$"}, {"$${resources.r0.password}", "${resources.r0.password}"}, {"$$$$(A_URL)", "$$(A_URL)"}, {"$$$$", "$$"},
		{`${metadata.annotations.example\.com/note}`, note},
	} {
		out = append(out, piece{raw: p[0], means: p[1]})
	}
	for _, s := range []string{
		"$(NONE)", "$(ROPEWALK_SECRET_R0__PASSWORD)", "$(ROPEWALK_SECRET_R1__TOKEN_URL)", "$(A_URL)", "$(", ")", "$5 ", "$x", "{{ .r0__password }}", "{{- /*", "{{", "{",
		"}}", "}", "\n", "`", `"`, "'", "é", `\`, "%", " ", ": # ", "- ", "text", "A_URL)", "<", "&", "|", "\u2028",
	} {
		out = append(out, piece{raw: s, means: s})
	}
	return out
}

// text is a text with what is asked for in it.
func (g *generator) text(wanted []piece, variables []string) text {
	var t text
	add := func(p piece) {
		// A dollar before a brace would begin a placeholder.
		if n := len(t); n > 0 && strings.HasSuffix(t[n-1].raw, "$") && strings.HasPrefix(p.raw, "{") {
			return
		}
		t = append(t, p)
	}
	noise := func() {
		for range g.IntN(4) {
			if len(variables) > 0 && g.IntN(4) == 0 {
				s := "$(" + g.one(variables...) + ")"
				add(piece{raw: s, means: s})
				continue
			}
			all := literals()
			if p := all[g.IntN(len(all))]; p.raw != "$(A_URL)" || slices.Contains(variables, "A_URL") {
				add(p)
			}
		}
	}
	plain := g.IntN(3) == 0
	for _, w := range wanted {
		if !plain {
			noise()
		}
		add(w)
	}
	if !plain || len(wanted) == 0 {
		noise()
	}
	return t
}

// fragments are what a text means, with literals that touch made one.
func (w *workload) fragments(t text, made map[string]provisioned) ([]fragment, error) {
	var out []fragment
	for _, p := range t {
		more := []fragment{{literal: p.means}}
		if p.resource != "" {
			r := w.resource(p.resource)
			one, ok := made[r.uid(w.name)]
			if !ok {
				return nil, fmt.Errorf("nobody made %s", r.uid(w.name))
			}
			var err error
			if more, err = one.fragments(p.output, w.project.backend); err != nil {
				return nil, fmt.Errorf("%s: %w", p.raw, err)
			}
		}
		for _, f := range more {
			if n := len(out); !f.secret && n > 0 && !out[n-1].secret {
				out[n-1].literal += f.literal
				continue
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// plainText is what fragments are in a file: every byte as it is.
func plainText(all []fragment) string {
	var b strings.Builder
	for _, f := range all {
		b.WriteString(f.value())
	}
	return b.String()
}

// values are the variables of a container as their author means them: a text with
// $(NAME) of another variable in it is expanded by Kubernetes, any other is what
// it says.
func (w *workload) values(c *container, made map[string]provisioned) (map[string]string, error) {
	m := meanings{}
	for _, v := range c.variables {
		f, err := w.fragments(v.text, made)
		if err != nil {
			return nil, err
		}
		m[v.name] = f
	}
	out := map[string]string{}
	for _, v := range c.variables {
		out[v.name] = m.value(v.name)
	}
	return out, nil
}

// meanings are the variables of a container, by name.
type meanings map[string][]fragment

// expands says whether Kubernetes shall expand a variable.
func (m meanings) expands(name string) bool {
	for _, f := range m[name] {
		for other := range m {
			if !f.secret && !strings.Contains(other, ")") && strings.Contains(f.literal, "$("+other+")") {
				return true
			}
		}
	}
	return false
}

// reaches says whether a variable refers to another one, or to one that does.
func (m meanings) reaches(from, to string, seen map[string]bool) bool {
	if seen[from] || !m.expands(from) {
		return false
	}
	seen[from] = true
	found := false
	for _, f := range m[from] {
		if f.secret {
			continue
		}
		expand(f.literal, func(name string) (string, bool) {
			_, known := m[name]
			found = found || known && (name == to || m.reaches(name, to, seen))
			return "", false
		})
	}
	return found
}

// value is what the process sees. In a ring, variables stand by name, and
// Kubernetes knows only those that stand before.
func (m meanings) value(name string) string {
	var b strings.Builder
	expands := m.expands(name)
	for _, f := range m[name] {
		if f.secret || !expands {
			b.WriteString(f.value())
			continue
		}
		b.WriteString(expand(f.literal, func(other string) (string, bool) {
			if _, known := m[other]; !known || other >= name && m.reaches(other, name, map[string]bool{}) {
				return "", false
			}
			return m.value(other), true
		}))
	}
	return b.String()
}
