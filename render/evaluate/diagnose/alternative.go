// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxNesting bounds how many disjunctions within disjunctions are looked into.
const maxNesting = 4

// nearest folds the errors of all alternatives at and below g into the errors of the alternative that
// the user most probably meant. It returns nil if there is no such alternative.
func (sc Scope) nearest(groups []*Group, g *Group, input object.Value) []Mistake {
	value, n := input.Lookup(g.Path)
	schema := SchemaAt(sc.schema, g.Path)
	alts := alternatives(schema)
	if n < len(g.Path) || sc.depth >= maxNesting || time.Now().After(sc.deadline) {
		return nil
	}
	if len(alts) == 0 {
		alts = []cue.Value{WithoutDefault(schema)}
	}
	if m, ok := tagged(groups, g, input, alts); ok {
		return []Mistake{m}
	}
	var best []Mistake
	least := -1
	for _, alt := range alts {
		if alt.IncompleteKind()&kindOf(value) == 0 {
			continue
		}
		inner := Scope{schema: alt, skip: len(alt.Path().Selectors()), deadline: sc.deadline, depth: sc.depth + 1, try: trial(alt)}
		found := inner.findMistakes(value)
		if cost := costOf(found); len(found) > 0 && (least < 0 || cost < least) {
			best, least = found, cost
		}
	}
	for i := range best {
		best[i].Path = g.Path.Append(best[i].Path...)
	}
	return best
}

// WithoutDefault returns the disjunction v without its default if the only other alternative allows
// the default too. CUE takes such a disjunction apart into that alternative.
func WithoutDefault(v cue.Value) cue.Value {
	switch op, args := cue.Dereference(v).Expr(); {
	case op == cue.NoOp && len(args) == 1:
		return args[0]
	case op == cue.AndOp:
		all := WithoutDefault(args[0])
		for _, a := range args[1:] {
			all = all.Unify(WithoutDefault(a))
		}
		return all
	}
	return v
}

// trial validates a value against one alternative.
func trial(alt cue.Value) func(object.Value) (Filled, error) {
	return func(v object.Value) (Filled, error) {
		with := Fill(Part{Field: FieldInput, Value: v})
		f := Filled{Root: alt.Unify(with.Value), With: with}
		return f, f.Root.Validate(cue.Concrete(true), cue.Final())
	}
}

// costOf weighs how far a value is from an alternative. A field that must be
// one certain value tells alternatives apart, so it weighs more than all else.
func costOf(mistakes []Mistake) int {
	cost := 0
	for _, m := range mistakes {
		cost++
		if !m.Missing && !m.unknown && isLiteral(m.Message) {
			cost += 100
		}
	}
	return cost
}

// isLiteral reports whether a message asks for one certain text.
func isLiteral(message string) bool { return strings.HasPrefix(message, `expected "`) }

// tagged returns the mistake of a value with an unknown tag. The tag is the field that tells the
// alternatives apart.
func tagged(groups []*Group, g *Group, input object.Value, alts []cue.Value) (Mistake, bool) {
	for _, c := range groups {
		if len(c.Path) != len(g.Path)+1 || !IsPrefix(g.Path, c.Path) {
			continue
		}
		value, n := input.Lookup(c.Path)
		if n < len(c.Path) || value.Kind != object.KindString {
			continue
		}
		var tags []string
		for _, alt := range alts {
			tag, ok := literalText(SchemaStep(alt, c.Path[len(g.Path)]))
			if !ok || tag == value.Text {
				tags = nil
				break
			}
			tags = append(tags, tag)
		}
		if len(tags) < 2 {
			continue
		}
		slices.Sort(tags)
		tags = slices.Compact(tags)
		message := "expected one of " + Quoted(tags) + ", got " + Quote(value) + Nearest(value.Text, tags)
		return Mistake{Path: c.Path, Message: message}, true
	}
	return Mistake{}, false
}

// literalText returns the text of v if v is one certain text.
func literalText(v cue.Value) (string, bool) {
	if !v.Exists() {
		return "", false
	}
	text, err := v.String()
	return text, err == nil
}

// kindOf returns the kind that CUE gives v.
func kindOf(v object.Value) cue.Kind {
	switch v.Kind {
	case object.KindNull:
		return cue.NullKind
	case object.KindBool:
		return cue.BoolKind
	case object.KindNumber:
		return cue.NumberKind
	case object.KindString:
		return cue.StringKind
	case object.KindMap:
		return cue.StructKind
	case object.KindList:
		return cue.ListKind
	default:
		return cue.TopKind
	}
}
