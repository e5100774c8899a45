// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of a coverage: how many points there are, and how many names lead to one.
const (
	maxPoints     = 5_000
	maxPointDepth = 12
)

// Cover returns what the inputs of a module may set, and whether any of the given ones does.
func Cover(s *module.Session, given []object.Value) ([]evaluate.Point, error) {
	in, err := s.Schema()
	if err != nil || !in.Value.Exists() {
		return nil, err
	}
	return cover(in, nil, given), nil
}

// CoverPart returns what the struct v of the module may set, as Cover does, with paths that begin
// with at.
func CoverPart(s *module.Session, v cue.Value, at object.Path, given []object.Value) []evaluate.Point {
	return cover(module.Inputs{Value: v, Session: s}, at, given)
}

// cover returns the points of a schema, in the order of their paths.
func cover(in module.Inputs, at object.Path, given []object.Value) []evaluate.Point {
	c := coverage{description: description{plain: in.Plain, set: in.Set}, in: in}
	c.coverStruct(in.Value, at, given)
	slices.SortStableFunc(c.points, func(a, b evaluate.Point) int { return strings.Compare(a.Path, b.Path) })
	return c.points
}

// coverage is one reading of a schema beside inputs.
type coverage struct {
	description
	in     module.Inputs
	points []evaluate.Point
	// above are the values that are being read: a schema may have itself.
	above []string
}

// addPoint adds a point, up to a bound.
func (c *coverage) addPoint(v cue.Value, at object.Path, what string, covered bool) {
	if len(c.points) < maxPoints {
		c.points = append(c.points, evaluate.Point{Path: pathText(at), What: what, Pos: position(c.in, v, c.in.Value.Pos()), Covered: covered})
	}
}

// coverStruct covers the fields of a struct. The argument given holds what the inputs have in its
// place, with KindNone if they have nothing and the struct is there all the same.
func (c *coverage) coverStruct(v cue.Value, at object.Path, given []object.Value) {
	fields, err := v.Fields(cue.Optional(true))
	var named []string
	for err == nil && fields.Next() {
		if sel := fields.Selector(); sel.LabelType() == cue.StringLabel {
			named = append(named, sel.Unquoted())
			c.coverField(fields.Value(), at.Append(object.Field(sel.Unquoted())), sel, given)
		}
	}
	if kind := patternKind(v); kind == cue.BottomKind {
		return
	}
	members := patternsOf(v)
	for _, pattern := range object.SortedKeys(members) {
		var values []object.Value
		for _, g := range given {
			for _, m := range g.Members {
				if !slices.Contains(named, m.Name) {
					values = append(values, m.Value)
				}
			}
		}
		in := at.Append(object.Field("[]"))
		if !c.coverValue(members[pattern], in, values) {
			c.addPoint(members[pattern], in, "set", len(values) > 0)
		}
	}
}

// coverField covers a field.
func (c *coverage) coverField(v cue.Value, at object.Path, sel cue.Selector, given []object.Value) {
	kind := mayBe(v) &^ (cue.NullKind | cue.BytesKind)
	optional := sel.ConstraintType() == cue.OptionalConstraint
	isStruct := kind == cue.StructKind && (hasFields(v) || patternKind(v) != cue.BottomKind) && len(choicesOf(v)) == 0
	if c.skips(v, at, kind) || !isStruct && !optional && isConstant(v, kind) {
		return
	}
	var values []object.Value
	set, absent := false, false
	for _, g := range given {
		child, ok := g.Get(sel.Unquoted())
		set, absent = set || ok, absent || !ok
		if ok || !optional {
			values = append(values, child)
		}
	}
	fallback := optional || !isStruct && hasValue(v) && sel.ConstraintType() != cue.RequiredConstraint
	if fallback {
		c.addPoint(v, at, "not set", absent)
	}
	if !c.coverValue(v, at, values) && (fallback || !isStruct) {
		c.addPoint(v, at, "set", set)
	}
}

// coverValue covers a value that may be given. It reports whether the value has points for its
// alternatives, and so needs none for being set.
func (c *coverage) coverValue(v cue.Value, at object.Path, given []object.Value) (alternatives bool) {
	// A recursive schema is covered once.
	key := v.Pos().String()
	if len(at) > maxPointDepth || len(c.points) >= maxPoints || slices.Contains(c.above, key) && isCollection(v) {
		return false
	}
	c.above = append(c.above, key)
	defer func() { c.above = c.above[:len(c.above)-1] }()

	// A boolean has two alternatives.
	if kind := mayBe(v) &^ cue.NullKind; kind == cue.BoolKind && !v.IsConcrete() || kind == cue.BoolKind && len(choicesOf(v)) > 0 {
		for _, what := range []string{"true", "false"} {
			c.addPoint(v, at, what, slices.ContainsFunc(given, func(g object.Value) bool {
				return g.Text == what || g.Kind == object.KindNone && diagnose.DefaultOf(v) == what
			}))
		}
		return true
	}

	// Any other value has the alternatives of its disjunction.
	choices := distinct(v)
	if len(choices) == 1 {
		c.coverParts(choices[0], at, given)
		return false
	}
	for _, a := range choices {
		var here []object.Value
		for _, g := range given {
			if chooses(v, a, g) {
				here = append(here, g)
			}
		}
		c.addPoint(a, at, alternative(a), len(here) > 0)
		c.coverParts(a, at, here)
	}
	return true
}

// coverParts covers the parts of a collection.
func (c *coverage) coverParts(v cue.Value, at object.Path, given []object.Value) {
	switch mayBe(v) &^ cue.NullKind {
	case cue.StructKind:
		c.coverStruct(v, at, given)
	case cue.ListKind:
		if item := itemOf(v); item.Exists() {
			var items []object.Value
			for _, g := range given {
				items = append(items, g.Items...)
			}
			c.coverValue(item, at.Append(object.Field("[]")), items)
		}
	}
}

// distinct returns the alternatives of a value that are not part of another one, which the default
// of *1 | int is.
func distinct(v cue.Value) []cue.Value {
	all := alternatives(v)
	var out []cue.Value
	for i, a := range all {
		part := slices.ContainsFunc(all, func(b cue.Value) bool { return b != a && within(a, b) && !within(b, a) })
		again := slices.ContainsFunc(all[:i], func(b cue.Value) bool { return within(a, b) && within(b, a) })
		// A reference to another input is only a default.
		if !part && !again && a.IncompleteKind() != cue.NullKind && !isDerived(a) {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return []cue.Value{v}
	}
	return out
}

// within reports whether b takes every scalar that a takes.
func within(a, b cue.Value) bool { return !isCollection(a) && b.Subsume(a, cue.Raw()) == nil }

// chooses reports whether a given value, or the default if there is none, is of the alternative a
// of v.
func chooses(v, a cue.Value, given object.Value) bool {
	if given.Kind == object.KindNone {
		fallback, ok := v.Default()
		return ok && a.Subsume(fallback) == nil
	}
	return a.FillPath(cue.MakePath(), diagnose.Fill(diagnose.Part{Value: given}).Value).Validate() == nil
}

// alternative returns the name of an alternative.
func alternative(a cue.Value) string {
	if a.IsConcrete() && !isCollection(a) {
		return diagnose.Given(a)
	}
	if mayBe(a) == cue.StructKind && hasFields(a) {
		return printable.Cut(oneLine(a), maxInputName, "…")
	}
	return words(a)
}

// maxInputName is how much of a struct names it, in bytes.
const maxInputName = 60
