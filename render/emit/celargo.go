// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// An expression travels to Argo CD as a tree of JSON lists, each an operator
// and its operands, in the annotation that lua/ready.lua reads:
//
//	["object","status","phase"]      a field of the object
//	["var","c","type"]               a field of a bound variable
//	[".",e,"name"] ["index",e,k]     a field, an item of what e is
//	["has",e,"name"]                 whether e has the field
//	["and",a,b] ["or",a,b] ["not",a] ["if",c,a,b]
//	["==",a,b] and != < <= > >=
//	["in",a,b] ["list",a,…] ["size",a]
//	["exists",list,"c",p] ["all",list,"c",p]
//
// Text, numbers and bools stand for themselves; ["null"] is null.

// unsupported is a part of an expression that has no Lua.
type unsupported struct {
	what   string
	column int
}

func (u *unsupported) Error() string {
	return fmt.Sprintf("column %d: %s", u.column, u.what)
}

// luaTree translates an expression for Argo CD, or reports the part of it that
// has no translation.
func luaTree(c celExpr) (any, error) {
	return toLua{c}.expr(c.ast.Expr(), nil)
}

type toLua struct{ celExpr }

func (t toLua) refuse(e ast.Expr, format string, args ...any) error {
	return &unsupported{what: fmt.Sprintf(format, args...), column: t.column(e)}
}

func (t toLua) expr(e ast.Expr, vars scope) (any, error) {
	if isRoot(e, vars) {
		return []any{root}, nil
	}
	if name, ok := topField(e, vars); ok {
		return []any{root, name}, nil
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return t.literal(e)
	case ast.IdentKind:
		return []any{"var", e.AsIdent()}, nil
	case ast.SelectKind:
		return t.selection(e.AsSelect(), vars)
	case ast.ListKind:
		if len(e.AsList().OptionalIndices()) > 0 {
			return nil, t.refuse(e, "an optional item of a list")
		}
		return t.operation("list", e.AsList().Elements(), vars)
	case ast.CallKind:
		return t.call(e, vars)
	case ast.MapKind:
		return nil, t.refuse(e, "a map literal")
	default:
		return nil, t.refuse(e, "a message literal")
	}
}

func (t toLua) literal(e ast.Expr) (any, error) {
	v, _ := literal(e)
	switch v := v.(type) {
	case types.Bool:
		return bool(v), nil
	case types.String:
		if strings.ContainsRune(string(v), 0) {
			return nil, t.refuse(e, "a zero byte in text")
		}
		return string(v), nil
	case types.Int:
		return t.integer(e, int64(v))
	case types.Uint:
		if v > 1<<53 {
			return nil, t.refuse(e, "the number %d: Lua counts exactly up to 2^53", uint64(v))
		}
		return int64(v), nil //nolint:gosec // It is at most 2^53.
	case types.Double:
		return float64(v), nil
	case types.Null:
		return []any{"null"}, nil
	}
	return nil, t.refuse(e, "a literal of type %s", refType(v))
}

func refType(v ref.Val) string { return v.Type().TypeName() }

func (t toLua) integer(e ast.Expr, i int64) (any, error) {
	if i > 1<<53 || i < -1<<53 {
		return nil, t.refuse(e, "the number %d: Lua counts exactly up to 2^53", i)
	}
	return i, nil
}

// selection joins a chain of fields into one list.
func (t toLua) selection(s ast.SelectExpr, vars scope) (any, error) {
	operand, err := t.expr(s.Operand(), vars)
	if err != nil {
		return nil, err
	}
	if l, ok := operand.([]any); ok && slices.Contains([]any{root, "var", "."}, l[0]) {
		return append(l[:len(l):len(l)], s.FieldName()), nil
	}
	return []any{".", operand, s.FieldName()}, nil
}

// operation returns an operator over translated operands.
func (t toLua) operation(name string, operands []ast.Expr, vars scope) (any, error) {
	out := []any{name}
	for _, o := range operands {
		v, err := t.expr(o, vars)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// luaOperator names the operators that Lua can carry out.
func luaOperator(function string) string {
	switch function {
	case operators.LogicalAnd:
		return "and"
	case operators.LogicalOr:
		return "or"
	case operators.LogicalNot:
		return "not"
	case operators.Conditional:
		return "if"
	case operators.Equals:
		return "=="
	case operators.NotEquals:
		return "!="
	case operators.Less:
		return "<"
	case operators.LessEquals:
		return "<="
	case operators.Greater:
		return ">"
	case operators.GreaterEquals:
		return ">="
	case operators.In:
		return "in"
	case operators.Index:
		return "index"
	case "size":
		return "size"
	}
	return ""
}

func (t toLua) call(e ast.Expr, vars scope) (any, error) {
	if s, ok := asHas(e); ok {
		of, err := t.expr(s.Operand(), vars)
		return []any{"has", of, s.FieldName()}, err
	}
	if m, ok := asMacro(e); ok {
		return t.macro(e, m, vars)
	}
	call := e.AsCall()
	name := luaOperator(call.FunctionName())
	if call.IsMemberFunction() {
		if name != "size" || len(call.Args()) > 0 {
			return nil, t.refuse(e, "a call of %s()", call.FunctionName())
		}
		return t.operation(name, []ast.Expr{call.Target()}, vars)
	}
	isBadSize := name == "size" && len(call.Args()) != 1
	if name == "" || isBadSize {
		return nil, t.refuse(e, "%s", spelled(call.FunctionName()))
	}
	return t.operation(name, call.Args(), vars)
}

// spelled names an operator as it is written, and a function as a call.
func spelled(function string) string {
	switch function {
	case operators.OptSelect:
		return "the operator .?"
	case operators.OptIndex:
		return "the operator [?]"
	case operators.Negate:
		return "the operator -"
	}
	if sign, ok := operators.FindReverse(function); ok && sign != "" {
		return "the operator " + sign
	}
	return "a call of " + function + "()"
}

func (t toLua) macro(e ast.Expr, m macro, vars scope) (any, error) {
	isKnown := m.name == operators.Exists || m.name == operators.All
	if !isKnown || len(e.AsCall().Args()) != 2 {
		return nil, t.refuse(e, "a call of %s()", m.name)
	}
	list, err := t.expr(m.receiver, vars)
	if err != nil {
		return nil, err
	}
	body, err := t.expr(m.body, vars.with(m.variable))
	return []any{m.name, list, m.variable, body}, err
}
