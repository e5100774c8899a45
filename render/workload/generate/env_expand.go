// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/scc"
	"github.com/ropewalk/ropewalk/render/object"
)

// expands reports whether a text holds $(NAME) of a variable of its container, so that Kubernetes
// has to expand it. Such a text is expanded entirely, which turns $$ into $: an author writes
// $$(NAME) for a literal $(NAME). Any other text comes to the container unchanged.
func expands(pieces []Piece, names map[string]bool) bool {
	isName := func(name string) bool { return names[name] }
	for _, p := range pieces {
		readable := p.Secret == nil && !p.Verbatim
		if readable && len(names) > 0 && mentions(p.Literal, isName) {
			return true
		}
	}
	return false
}

// mentions reports whether s holds $(NAME) for a name that isName accepts. It reads each byte a
// fixed number of times, also in nested and open parentheses.
func mentions(s string, isName func(name string) bool) bool {
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
		if isName(s[strings.LastIndex(s[:end], "$(")+2 : end]) {
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
func compose(pieces []Piece, expands bool, helper func(Piece) string) (value string, refs []string) {
	var b strings.Builder
	literal := func(s string) { b.WriteString(strings.ReplaceAll(s, "$", "$$")) }
	reference := func(name string) {
		b.WriteString("$(" + name + ")")
		refs = append(refs, name)
	}
	for _, p := range pieces {
		switch {
		case p.Secret != nil:
			b.WriteString("$(" + helper(p) + ")")
		case expands && !p.Verbatim:
			scan(p.Literal, literal, reference)
		default:
			literal(p.Literal)
		}
	}
	return b.String(), refs
}

// item is a variable in env with the names that its text refers to.
type item struct {
	name  string
	refs  []string
	value object.Value
	v     *Variable
}

// ordered returns the variables of env in an order in which a variable comes after the variables
// that it refers to, because Kubernetes expands only names of earlier variables. Variables that
// refer to each other in a cycle are sorted by name, after warn got their indexes.
func ordered(entries []item, warn func(cycle []int)) []item {
	if !slices.ContainsFunc(entries, func(n item) bool { return len(n.refs) > 0 }) {
		return entries
	}
	index := make(map[string]int, len(entries))
	for i, n := range entries {
		index[n.name] = i
	}
	references := make([][]int, len(entries))
	for i, n := range entries {
		for _, name := range n.refs {
			if j, ok := index[name]; ok {
				references[i] = append(references[i], j)
			}
		}
	}
	out := make([]item, 0, len(entries))
	for _, cycle := range scc.Components(references) {
		slices.Sort(cycle)
		warn(cycle)
		for _, i := range cycle {
			out = append(out, entries[i])
		}
	}
	return out
}
