// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Findings returns the inputs of a module, and what is wrong with how it declares them: inputs
// without a description, structs that take any name, and secrets as defaults.
func Findings(s *module.Session) (inputs []evaluate.Input, faults []evaluate.Finding, err error) {
	takes, err := s.Schema()
	if err != nil || !takes.Value.Exists() {
		return nil, nil, err
	}
	f := findings{coverage: coverage{in: takes}}
	d := description{plain: takes.Plain, own: takes.Own, set: takes.Set, members: new(int)}
	inputs = d.read(takes.Value)
	for _, input := range inputs {
		v := diagnose.SchemaAt(takes.Value, input.Path)
		if !v.Exists() {
			continue
		}
		if input.Doc == "" {
			f.add(evaluate.RuleDocs, object.SeverityWarning, v, input.Path, "write a comment above it", "the input has no description")
		}
		if text, err := strconv.Unquote(input.Default); err == nil && text != "" && object.SensitiveName(input.Path[len(input.Path)-1].Name) {
			const hint, message = "take a reference to a Secret in its place", "the module has a default for what is a secret by its name"
			f.add(evaluate.RuleSecret, object.SeverityError, v, input.Path, hint, message)
		}
	}
	if !takes.Plain { // A package is open by itself; names that it does not have are refused.
		f.checkClosed(takes.Value, nil)
	}
	return inputs, f.all, nil
}

type findings struct {
	coverage
	all []evaluate.Finding
}

// add adds a finding about the input at a path.
func (f *findings) add(rule string, severity object.Severity, v cue.Value, path object.Path, hint, message string) {
	f.all = append(f.all, evaluate.Finding{
		Rule: rule, Severity: severity, Pos: position(f.in, v, f.in.Value.Pos()), Path: pathText(path), Message: message, Hint: hint,
	})
}

// checkClosed reports structs that take any name, so that a slip in one is accepted silently.
func (f *findings) checkClosed(v cue.Value, path object.Path) {
	key := v.Pos().String()
	tooMuch := len(path) > maxPointDepth || len(f.all) >= maxInputs
	recursive := isCollection(v) && slices.Contains(f.above, key)
	if tooMuch || recursive {
		return
	}
	f.above = append(f.above, key)
	defer func() { f.above = f.above[:len(f.above)-1] }()
	choices := alternatives(v)
	for _, a := range choices {
		f.checkValue(a, path)
	}
}

// checkValue checks one value that is no disjunction.
func (f *findings) checkValue(v cue.Value, path object.Path) {
	if oneLine(v) == "_" {
		f.add(evaluate.RuleClosed, object.SeverityWarning, v, path, "write its type", "the input takes anything")
		return
	}
	switch mayBe(v) &^ (cue.NullKind | cue.BytesKind) {
	case cue.ListKind:
		if item := itemOf(v); item.Exists() {
			f.checkClosed(item, path.Append(object.Field("[]")))
		}
	case cue.StructKind:
		f.checkMembers(v, path)
	}
}

// checkMembers reports a struct that is open, and checks its fields.
func (f *findings) checkMembers(v cue.Value, path object.Path) {
	patterns := patternsOf(v)
	for _, name := range object.SortedKeys(patterns) {
		f.checkClosed(patterns[name], path.Append(object.Field("[]")))
	}
	switch {
	case len(patterns) > 0:
	case len(path) == 0 && v.Allows(cue.AnyString):
		f.add(evaluate.RuleClosed, object.SeverityError, v, path, "make it a definition: #Input: {…} and input: #Input",
			"the input takes fields of any name, so that a slip in one is taken in silence")
	case len(path) > 0 && hasEllipsis(v):
		f.add(evaluate.RuleClosed, object.SeverityWarning, v, path, "leave out the ..., or write a pattern: [string]: string",
			"the struct takes fields of any name, so that a slip in one is taken in silence")
	}
	fields, err := v.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		if sel := fields.Selector(); sel.LabelType() == cue.StringLabel {
			f.checkClosed(fields.Value(), path.Append(object.Field(sel.Unquoted())))
		}
	}
}

// hasEllipsis reports whether a struct is written with a "...". CUE's own answer does not
// tell: it calls every alternative of a disjunction open, even in a definition, and every
// struct below an input that is no definition.
func hasEllipsis(v cue.Value) bool {
	v = cue.Dereference(v)
	n := v.Source()
	if field, ok := n.(*ast.Field); ok {
		n = field.Value
	}
	if s, ok := n.(*ast.StructLit); ok {
		return slices.ContainsFunc(s.Elts, func(d ast.Decl) bool {
			_, open := d.(*ast.Ellipsis)
			return open
		})
	}
	op, args := v.Expr()
	return op == cue.AndOp && slices.ContainsFunc(args, hasEllipsis)
}
