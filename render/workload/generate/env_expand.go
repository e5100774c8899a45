// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/scc"
)

// expands reports whether a text holds $(NAME) of a variable of its container, so that Kubernetes
// has to expand it. Such a text is expanded entirely, which makes $ of $$ in it: $$(NAME) is how
// an author writes a literal $(NAME). Any other text comes to the container unchanged.
func (e *environment) expands(pieces []Piece) bool {
	for _, p := range pieces {
		if p.Secret == nil && !p.Verbatim && len(e.known) > 0 && mentions(p.Literal, func(name string) bool { return e.known[name] }) {
			return true
		}
	}
	return false
}

// mentions reports whether s holds $(NAME) for a name that is wanted. It reads each byte a fixed
// number of times, whatever is nested or left open.
func mentions(s string, wanted func(name string) bool) bool {
	for {
		i := strings.Index(s, "$(")
		if i < 0 {
			return false
		}
		end := strings.IndexByte(s[i:], ')')
		if end < 0 {
			return false
		}
		end += i
		if wanted(s[strings.LastIndex(s[:end], "$(")+2 : end]) {
			return true
		}
		s = s[end+1:]
	}
}

// scan reads text as Kubernetes does when it expands the value of an item of env
// (third_party/forked/golang/expansion), and calls one of the functions for each piece: $(NAME)
// is a reference, $$ is a literal $, and any other $ is itself.
func scan(s string, literal, reference func(string)) {
	closes := true
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i+1 == len(s) {
			literal(s)
			return
		}
		literal(s[:i])

		// A dollar begins an escape, a reference or plain text.
		next := s[i+1]
		s = s[i+2:]
		switch next {
		case '$':
			literal("$")
		case '(':
			end := -1
			if closes {
				end = strings.IndexByte(s, ')')
			}
			if end < 0 {
				closes = false
				literal("$(")
				continue
			}
			reference(s[:end])
			s = s[end+1:]
		default:
			literal("$" + string([]byte{next}))
		}
	}
}

// compose returns a text with secrets as the value of an item of env: secrets are $(HELPER), and
// no literal $ can join with what follows it. If the text expands, its references stay
// references, and refs are their names.
func (e *environment) compose(pieces []Piece, expands bool) (value string, refs []string) {
	var b strings.Builder
	literal := func(s string) { b.WriteString(strings.ReplaceAll(s, "$", "$$")) }
	reference := func(name string) {
		b.WriteString("$(" + name + ")")
		refs = append(refs, name)
	}
	for _, p := range pieces {
		switch {
		case p.Secret != nil:
			b.WriteString("$(" + e.addHelper(p) + ")")
		case expands && !p.Verbatim:
			scan(p.Literal, literal, reference)
		default:
			literal(p.Literal)
		}
	}
	return b.String(), refs
}

// ordered returns the variables of env in an order in which a variable comes after those that it
// refers to, as Kubernetes knows only names of earlier variables. Variables that refer to each
// other in a cycle are sorted by name, with a warning.
func (e *environment) ordered() []item {
	if !slices.ContainsFunc(e.entries, func(n item) bool { return len(n.refs) > 0 }) {
		return e.entries
	}
	index := make(map[string]int, len(e.entries))
	for i, n := range e.entries {
		index[n.name] = i
	}
	next := make([][]int, len(e.entries))
	for i, n := range e.entries {
		for _, name := range n.refs {
			if j, ok := index[name]; ok {
				next[i] = append(next[i], j)
			}
		}
	}
	out := make([]item, 0, len(e.entries))
	for _, ring := range scc.Components(next) {
		slices.Sort(ring)
		e.warnRing(ring)
		for _, i := range ring {
			out = append(out, e.entries[i])
		}
	}
	return out
}

// warnRing warns of variables that refer to themselves or to each other in a cycle.
func (e *environment) warnRing(ring []int) {
	first := e.entries[ring[0]]
	if len(ring) == 1 {
		if slices.Contains(first.refs, first.name) {
			e.l.warn(first.v.Value.Pos, e.path(first.name), "a variable that the image sets cannot be extended here",
				"%q refers to itself: Kubernetes leaves $(%s) in it as it is", first.name, first.name)
		}
		return
	}
	names := make([]string, len(ring))
	for i, n := range ring {
		names[i] = e.entries[n].name
	}
	e.l.warn(first.v.Value.Pos, e.path(first.name), "", "variables refer to each other in a cycle: %s; Kubernetes leaves $(NAME) as it is "+
		"where NAME comes later", strings.Join(names, ", "))
}
