// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"
)

// celExpr is one parsed expression. Macros are left as the calls that the
// author wrote: both translations need to see them.
type celExpr struct {
	text string
	ast  *ast.AST
}

// parseCEL reads an expression, with the optional syntax that Flux knows too.
func parseCEL(text string) (celExpr, error) {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.MaxRecursionDepth(60), parser.ExpressionSizeCodePointLimit(maxExpr))
	if err != nil {
		return celExpr{}, err
	}
	tree, errs := p.Parse(common.NewTextSource(text))
	if found := errs.GetErrors(); len(found) > 0 {
		first := found[0]
		return celExpr{}, newCELError(text, first.Location.Line(), first.Location.Column(), first.Message)
	}
	return celExpr{text: text, ast: tree}, nil
}

// maxExpr is the longest expression that is parsed, in characters.
const maxExpr = 10_000

// celError is a mistake in an expression.
type celError struct {
	// near is the expression, or what of it is around the mistake.
	near string
	// line and column count from 1, the column in characters.
	line, column int
	message      string
}

func (e *celError) Error() string {
	at := fmt.Sprintf("column %d", e.column)
	if e.line > 1 {
		at = fmt.Sprintf("line %d, column %d", e.line, e.column)
	}
	return fmt.Sprintf("%q is not valid CEL: %s: %s", e.near, at, e.message)
}

// newCELError returns what the parser reports at a line, counted from 1, and a column, counted
// from 0.
func newCELError(text string, line, column int, message string) *celError {
	const around = 40
	near, _, _ := strings.Cut(text, "\n")
	if lines := strings.Split(text, "\n"); line >= 1 && line <= len(lines) {
		near = lines[line-1]
	}
	runes := []rune(near)
	begin, end := min(max(column-around, 0), len(runes)), min(column+around, len(runes))
	near = string(runes[begin:end])
	if begin > 0 {
		near = "…" + near
	}
	if end < len(runes) {
		near += "…"
	}

	// The message of the parser is cut to its first sentence.
	message, _, _ = strings.Cut(message, "\n")
	message = strings.TrimPrefix(message, "Syntax error: ")
	// What else may stand there is most of the language.
	message, _, _ = strings.Cut(message, " expecting {")
	if strings.Contains(message, "'<EOF>'") {
		message = "the expression is not complete"
	}
	if r := []rune(message); len(r) > 3*around {
		message = string(r[:3*around]) + "…"
	}
	return &celError{near: near, line: line, column: column + 1, message: message}
}

// column returns the position of e in its text, counted from 1.
func (c celExpr) column(e ast.Expr) int {
	return c.ast.SourceInfo().GetStartLocation(e.ID()).Column() + 1
}

// scope is the names that macros bind around an expression, innermost last.
type scope []string

func (s scope) binds(name string) bool { return slices.Contains(s, name) }

func (s scope) with(name string) scope {
	return append(s[:len(s):len(s)], name)
}

// root is the name by which an author may call the complete object; its
// fields are known without it too: object.status.phase is status.phase.
const root = "object"

// isRoot reports whether e is the complete object.
func isRoot(e ast.Expr, vars scope) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == root && !vars.binds(root)
}

// topField returns the name of the top-level field that e is, however it is spelled.
func topField(e ast.Expr, vars scope) (name string, ok bool) {
	if e.Kind() == ast.IdentKind {
		name = e.AsIdent()
		return name, name != root && !vars.binds(name)
	}
	if e.Kind() == ast.SelectKind && isRoot(e.AsSelect().Operand(), vars) {
		return e.AsSelect().FieldName(), true
	}
	return "", false
}

// macro is a call such as list.exists(item, predicate).
type macro struct {
	name     string
	receiver ast.Expr
	variable string
	body     ast.Expr
}

// asMacro reads a member call that binds a variable.
func asMacro(e ast.Expr) (macro, bool) {
	if e.Kind() != ast.CallKind {
		return macro{}, false
	}
	call := e.AsCall()
	args := call.Args()
	if !call.IsMemberFunction() || len(args) < 2 || args[0].Kind() != ast.IdentKind {
		return macro{}, false
	}
	switch call.FunctionName() {
	case operators.Exists, operators.All, operators.ExistsOne, "existsOne", operators.Map, operators.Filter:
		return macro{call.FunctionName(), call.Target(), args[0].AsIdent(), args[len(args)-1]}, true
	}
	return macro{}, false
}

// asHas reads has(x.field).
func asHas(e ast.Expr) (of ast.SelectExpr, ok bool) {
	if e.Kind() != ast.CallKind {
		return nil, false
	}
	call := e.AsCall()
	isHas := call.FunctionName() == operators.Has && !call.IsMemberFunction()
	if !isHas || len(call.Args()) != 1 || call.Args()[0].Kind() != ast.SelectKind {
		return nil, false
	}
	return call.Args()[0].AsSelect(), true
}

// asOperator reads a call of an operator or of a global function.
func asOperator(e ast.Expr) (name string, args []ast.Expr) {
	if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() {
		return "", nil
	}
	return e.AsCall().FunctionName(), e.AsCall().Args()
}

// literal reads a constant; ok is false for any other expression.
func literal(e ast.Expr) (v ref.Val, ok bool) {
	if e.Kind() != ast.LiteralKind {
		return nil, false
	}
	return e.AsLiteral(), true
}

func isBool(e ast.Expr, b bool) bool {
	v, ok := literal(e)
	return ok && v == types.Bool(b)
}
