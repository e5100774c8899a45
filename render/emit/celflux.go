// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"math"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// guarded rewrites CEL for Flux, which evaluates an expression over the fields
// of the object as variables and reads an error as "not ready yet, look again".
//
// An expression that reads a field which is not there is an error in CEL; the
// result here is false instead, as it is for Argo CD. A conjunction of has() at
// the front would not do: in status.a == 1 || status.b == 2 the second half
// may hold without the first. So the rewriting is three-valued: holds(e) is true
// where e is true for certain, fails(e) where it is false for certain, and where
// a field is missing neither is.
type guarded struct {
	ast.ExprFactory
	// lost names what Flux cannot express.
	lost []string
	id   int64
}

// fluxText is an expression for Flux, with what Flux has no name for.
type fluxText struct {
	text string
	lost []string
}

// fluxExpr returns the expression that is true where c is true, and false where c is false or
// fails for want of a field.
func fluxExpr(c celExpr) (fluxText, error) {
	g := &guarded{ExprFactory: ast.NewExprFactory()}
	e := g.holds(c.ast.Expr(), nil)
	// One line: where to break one is the library's taste, and may change.
	text, err := parser.Unparse(e, ast.NewSourceInfo(nil), parser.WrapOnColumn(math.MaxInt32))
	return fluxText{text, g.lost}, err
}

func (g *guarded) call(function string, args ...ast.Expr) ast.Expr {
	g.id++
	return g.NewCall(g.id, function, args...)
}

func (g *guarded) truth(b bool) ast.Expr {
	g.id++
	return g.NewLiteral(g.id, types.Bool(b))
}

func (g *guarded) and(a, b ast.Expr) ast.Expr {
	switch {
	case isBool(a, true), isBool(b, false):
		return b
	case isBool(b, true), isBool(a, false):
		return a
	}
	return g.call(operators.LogicalAnd, a, b)
}

func (g *guarded) or(a, b ast.Expr) ast.Expr {
	switch {
	case isBool(a, false), isBool(b, true):
		return b
	case isBool(b, false), isBool(a, true):
		return a
	}
	return g.call(operators.LogicalOr, a, b)
}

func (g *guarded) holds(e ast.Expr, vars scope) ast.Expr { return g.decide(e, vars, true) }
func (g *guarded) fails(e ast.Expr, vars scope) ast.Expr { return g.decide(e, vars, false) }

// decide does the work of holds if want is true, and of fails if it is false.
func (g *guarded) decide(e ast.Expr, vars scope, want bool) ast.Expr {
	both, either := g.and, g.or
	if !want {
		both, either = g.or, g.and
	}
	switch name, args := asOperator(e); name {
	case operators.LogicalAnd:
		return both(g.decide(args[0], vars, want), g.decide(args[1], vars, want))
	case operators.LogicalOr:
		return either(g.decide(args[0], vars, want), g.decide(args[1], vars, want))
	case operators.LogicalNot:
		return g.decide(args[0], vars, !want)
	case operators.Conditional:
		return g.or(
			g.and(g.holds(args[0], vars), g.decide(args[1], vars, want)),
			g.and(g.fails(args[0], vars), g.decide(args[2], vars, want)),
		)
	}
	if v, ok := literal(e); ok && v.Type() == types.BoolType {
		return g.truth((v == types.True) == want)
	}
	if s, ok := asHas(e); ok && isRoot(s.Operand(), vars) {
		return g.top(s.FieldName(), want)
	}
	if m, ok := asMacro(e); ok && (m.name == operators.Exists || m.name == operators.All) {
		return g.fold(m, vars, want)
	}
	return g.atom(e, vars, want)
}

// fold rewrites exists and all so that they decide about want. Instead of "nothing exists" it
// writes that all fail.
func (g *guarded) fold(m macro, vars scope, want bool) ast.Expr {
	function := m.name
	if !want {
		function = map[string]string{operators.Exists: operators.All, operators.All: operators.Exists}[m.name]
	}
	body := g.decide(m.body, vars.with(m.variable), want)
	g.id++
	call := g.NewMemberCall(g.id, function, g.copy(m.receiver, vars), g.NewIdent(g.id, m.variable), body)
	return g.and(g.guards(m.receiver, vars), call)
}

// top decides has(object.field). Flux has no variable for a field that is absent, so a use of the
// field is an error then, which Flux reads as "not ready". That is right if the rule requires the
// field, and loses the rule if it requires its absence.
func (g *guarded) top(field string, want bool) ast.Expr {
	switch field {
	case "apiVersion", "kind", "metadata":
		return g.truth(want)
	}
	if !want {
		g.lose(fmt.Sprintf("the absence of the top-level field %q", field))
		return g.truth(false)
	}
	g.id++
	return g.call(operators.GreaterEquals, g.call("size", g.NewIdent(g.id, field)), g.NewLiteral(g.id, types.Int(0)))
}

func (g *guarded) atom(e ast.Expr, vars scope, want bool) ast.Expr {
	value := g.copy(e, vars)
	if !want {
		value = g.call(operators.LogicalNot, value)
	}
	return g.and(g.guards(e, vars), value)
}

// guards returns the conjunction of what must be there for e to have a value.
func (g *guarded) guards(e ast.Expr, vars scope) ast.Expr {
	conjunction := g.truth(true)
	seen := map[string]bool{}
	add := func(guard ast.Expr) {
		text, err := parser.Unparse(guard, ast.NewSourceInfo(nil))
		if err == nil && !seen[text] {
			seen[text] = true
			conjunction = g.and(conjunction, guard)
		}
	}
	g.collect(e, vars, vars, add)
	return conjunction
}

// collect calls add for each field that e reads, outermost first. Fields of a
// variable that is bound inside e are skipped: it is not known out here.
func (g *guarded) collect(e ast.Expr, vars, inner scope, add func(ast.Expr)) {
	// A macro binds a variable, and has() reads only what leads to its field.
	if m, ok := asMacro(e); ok {
		g.collect(m.receiver, vars, inner, add)
		g.collect(m.body, vars, inner.with(m.variable), add)
		return
	}
	if s, ok := asHas(e); ok {
		g.collect(s.Operand(), vars, inner, add)
		return
	}

	// Every other expression reads what its parts read.
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		g.collect(s.Operand(), vars, inner, add)
		if _, top := topField(e, inner); !top && known(e, vars, inner) {
			add(g.call(operators.Has, g.copy(e, vars)))
		}
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.OptIndex:
			g.collect(call.Args()[0], vars, inner, func(ast.Expr) {})
			return
		case operators.Index:
			g.collectIndex(call.Args(), vars, inner, add)
			return
		}
		if call.IsMemberFunction() {
			g.collect(call.Target(), vars, inner, add)
		}
		for _, a := range call.Args() {
			g.collect(a, vars, inner, add)
		}
	case ast.ListKind:
		for _, a := range e.AsList().Elements() {
			g.collect(a, vars, inner, add)
		}
	default:
		// Names, literals and maps read no field that may be missing.
	}
}

func (g *guarded) collectIndex(args []ast.Expr, vars, inner scope, add func(ast.Expr)) {
	g.collect(args[0], vars, inner, add)
	g.collect(args[1], vars, inner, add)
	if !known(args[0], vars, inner) {
		return
	}
	v, ok := literal(args[1])
	switch {
	case ok && v.Type() == types.StringType:
		add(g.call(operators.In, g.copy(args[1], vars), g.copy(args[0], vars)))
	case ok && v.Type() == types.IntType:
		add(g.call(operators.Greater, g.call("size", g.copy(args[0], vars)), g.copy(args[1], vars)))
	}
}

// known reports whether e hangs on no variable that is bound only further in.
func known(e ast.Expr, vars, inner scope) bool {
	for {
		switch e.Kind() {
		case ast.SelectKind:
			e = e.AsSelect().Operand()
		case ast.IdentKind:
			return !slices.Contains(inner[len(vars):], e.AsIdent())
		case ast.CallKind:
			if name, args := asOperator(e); name == operators.Index {
				e = args[0]
				continue
			}
			return false
		default:
			return false
		}
	}
}

// copy returns e with the object's fields called as Flux calls them.
func (g *guarded) copy(e ast.Expr, vars scope) ast.Expr {
	// What Flux calls otherwise is renamed.
	g.id++
	id := g.id
	if isRoot(e, vars) {
		g.lose("object as a whole")
	}
	if name, ok := topField(e, vars); ok {
		return g.NewIdent(id, name)
	}
	if m, ok := asMacro(e); ok {
		args := e.AsCall().Args()
		copies := []ast.Expr{g.NewIdent(id, m.variable)}
		for _, a := range args[1:] {
			copies = append(copies, g.copy(a, vars.with(m.variable)))
		}
		return g.NewMemberCall(id, m.name, g.copy(m.receiver, vars), copies...)
	}

	// The rest is copied part by part.
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		return g.NewSelect(id, g.copy(s.Operand(), vars), s.FieldName())
	case ast.CallKind:
		return g.copyCall(e.AsCall(), vars)
	case ast.ListKind:
		l := e.AsList()
		return g.NewList(id, g.copies(l.Elements(), vars), l.OptionalIndices())
	case ast.MapKind:
		var entries []ast.EntryExpr
		for _, entry := range e.AsMap().Entries() {
			m := entry.AsMapEntry()
			entries = append(entries, g.NewMapEntry(id, g.copy(m.Key(), vars), g.copy(m.Value(), vars), m.IsOptional()))
		}
		return g.NewMap(id, entries)
	default:
		return g.CopyExpr(e)
	}
}

func (g *guarded) copyCall(call ast.CallExpr, vars scope) ast.Expr {
	id := g.id
	args := g.copies(call.Args(), vars)
	if call.IsMemberFunction() {
		return g.NewMemberCall(id, call.FunctionName(), g.copy(call.Target(), vars), args...)
	}
	return g.NewCall(id, call.FunctionName(), args...)
}

func (g *guarded) copies(list []ast.Expr, vars scope) []ast.Expr {
	out := make([]ast.Expr, len(list))
	for i, e := range list {
		out[i] = g.copy(e, vars)
	}
	return out
}

// lose notes, once, what Flux cannot express.
func (g *guarded) lose(variable string) {
	if !slices.Contains(g.lost, variable) {
		g.lost = append(g.lost, variable)
	}
}
