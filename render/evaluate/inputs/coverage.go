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

// Bounds of a coverage: the number of points, and the names that lead to a point.
const (
	maxPoints     = 5_000
	maxPointDepth = 12
)

// Cover returns what the inputs of a module may set, and whether one of the cases sets it.
func Cover(s *module.Session, cases []object.Value) ([]evaluate.Point, error) {
	in, err := s.Schema()
	if err != nil || !in.Value.Exists() {
		return nil, err
	}
	return cover(in, nil, cases), nil
}

// CoverPart returns what the struct v of the module may set, as Cover does. The paths begin with
// path.
func CoverPart(s *module.Session, v cue.Value, path object.Path, cases []object.Value) []evaluate.Point {
	return cover(module.Inputs{Value: v, Session: s}, path, cases)
}

// cover returns the points of a schema, in the order of their paths.
func cover(inputs module.Inputs, path object.Path, cases []object.Value) []evaluate.Point {
	c := coverage{description: description{plain: inputs.Plain, set: inputs.Set}, in: inputs}
	c.coverStruct(inputs.Value, path, cases)
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
func (c *coverage) addPoint(v cue.Value, path object.Path, what string, covered bool) {
	if len(c.points) < maxPoints {
		c.points = append(c.points, evaluate.Point{Path: pathText(path), What: what, Pos: position(c.in, v, c.in.Value.Pos()), Covered: covered})
	}
}

// coverStruct covers the fields of a struct. The argument cases holds the values that the
// inputs have in its place. A value is of KindNone if an input has nothing there, and the struct
// exists all the same.
func (c *coverage) coverStruct(v cue.Value, path object.Path, cases []object.Value) {
	fields, err := v.Fields(cue.Optional(true))
	var named []string
	for err == nil && fields.Next() {
		if sel := fields.Selector(); sel.LabelType() == cue.StringLabel {
			named = append(named, sel.Unquoted())
			c.coverField(fields.Value(), path.Append(object.Field(sel.Unquoted())), sel, cases)
		}
	}
	if kind := patternKind(v); kind == cue.BottomKind {
		return
	}
	members := patternsOf(v)
	for _, pattern := range object.SortedKeys(members) {
		var values []object.Value
		for _, g := range cases {
			for _, m := range g.Members {
				if !slices.Contains(named, m.Name) {
					values = append(values, m.Value)
				}
			}
		}
		in := path.Append(object.Field("[]"))
		if !c.coverValue(members[pattern], in, values) {
			c.addPoint(members[pattern], in, "set", len(values) > 0)
		}
	}
}

// coverField covers a field.
func (c *coverage) coverField(v cue.Value, path object.Path, sel cue.Selector, cases []object.Value) {
	kind := mayBe(v) &^ (cue.NullKind | cue.BytesKind)
	optional := sel.ConstraintType() == cue.OptionalConstraint
	isStruct := kind == cue.StructKind && (hasFields(v) || patternKind(v) != cue.BottomKind) && len(choicesOf(v)) == 0
	fixed := !isStruct && !optional && isConstant(v, kind)
	if fixed || c.skips(v, path, kind) {
		return
	}
	var values []object.Value
	set, absent := false, false
	for _, g := range cases {
		child, ok := g.Get(sel.Unquoted())
		set, absent = set || ok, absent || !ok
		if ok || !optional {
			values = append(values, child)
		}
	}
	hasDefault := !isStruct && hasValue(v) && sel.ConstraintType() != cue.RequiredConstraint
	fallback := optional || hasDefault
	if fallback {
		c.addPoint(v, path, "not set", absent)
	}
	if !c.coverValue(v, path, values) && (fallback || !isStruct) {
		c.addPoint(v, path, "set", set)
	}
}

// coverValue covers a value that may be given. It reports whether the value has points for its
// alternatives, so that it needs no point for being set.
func (c *coverage) coverValue(v cue.Value, path object.Path, cases []object.Value) (alternatives bool) {
	// A recursive schema is covered once.
	key := v.Pos().String()
	tooMuch := len(path) > maxPointDepth || len(c.points) >= maxPoints
	recursive := isCollection(v) && slices.Contains(c.above, key)
	if tooMuch || recursive {
		return false
	}
	c.above = append(c.above, key)
	defer func() { c.above = c.above[:len(c.above)-1] }()

	// A boolean has two alternatives.
	undecided := !v.IsConcrete() || len(choicesOf(v)) > 0
	if kind := mayBe(v) &^ cue.NullKind; kind == cue.BoolKind && undecided {
		for _, what := range []string{"true", "false"} {
			c.addPoint(v, path, what, slices.ContainsFunc(cases, func(g object.Value) bool {
				byDefault := g.Kind == object.KindNone && diagnose.DefaultOf(v) == what
				return byDefault || g.Text == what
			}))
		}
		return true
	}

	// Any other value has the alternatives of its disjunction.
	choices := distinct(v)
	if len(choices) == 1 {
		c.coverParts(choices[0], path, cases)
		return false
	}
	for _, a := range choices {
		var here []object.Value
		for _, g := range cases {
			if chooses(v, a, g) {
				here = append(here, g)
			}
		}
		c.addPoint(a, path, alternative(a), len(here) > 0)
		c.coverParts(a, path, here)
	}
	return true
}

// coverParts covers the parts of a collection.
func (c *coverage) coverParts(v cue.Value, path object.Path, cases []object.Value) {
	switch mayBe(v) &^ cue.NullKind {
	case cue.StructKind:
		c.coverStruct(v, path, cases)
	case cue.ListKind:
		if item := itemOf(v); item.Exists() {
			var items []object.Value
			for _, g := range cases {
				items = append(items, g.Items...)
			}
			c.coverValue(item, path.Append(object.Field("[]")), items)
		}
	}
}

// distinct returns the alternatives of a value that are not part of another alternative, as the
// default of *1 | int is.
func distinct(v cue.Value) []cue.Value {
	all := alternatives(v)
	var choices []cue.Value
	for i, a := range all {
		part := slices.ContainsFunc(all, func(b cue.Value) bool { return b != a && within(a, b) && !within(b, a) })
		repeated := slices.ContainsFunc(all[:i], func(b cue.Value) bool { return within(a, b) && within(b, a) })
		// A reference to another input is only a default.
		if !part && !repeated && a.IncompleteKind() != cue.NullKind && !isDerived(a) {
			choices = append(choices, a)
		}
	}
	if len(choices) == 0 {
		return []cue.Value{v}
	}
	return choices
}

// within reports whether b takes every scalar that a takes.
func within(a, b cue.Value) bool { return !isCollection(a) && b.Subsume(a, cue.Raw()) == nil }

// chooses reports whether a given value, or the default without a value, is of the alternative a of
// v.
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

// maxInputName limits the text that names a struct, in bytes.
const maxInputName = 60
