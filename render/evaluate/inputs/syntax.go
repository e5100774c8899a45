// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// memberNames returns the references of a scalar to the names of the members around it, as in
// [Name=string]: name: Name. Each is written as the number of fields between the two.
func memberNames(v cue.Value) (counts []string) {
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		x, ok := n.(*ast.Ident)
		if !ok {
			_, isStruct := n.(*ast.StructLit)
			return !isStruct
		}
		if scope, ok := x.Scope.(*ast.Field); ok {
			counts = append(counts, strconv.Itoa(fieldsAround(scope.Value, x)))
		} else if let, ok := x.Node.(*ast.LetClause); ok {
			before := len(counts)
			ast.Walk(let.Expr, visit, nil)
			if len(counts) > before {
				counts = append(counts, fmt.Sprintf("%p", x)) // like no other
			}
		}
		return true
	}
	for _, part := range parts(v) {
		n := part.Source()
		if field, ok := n.(*ast.Field); ok {
			n = field.Value
		}
		if n != nil && !isCollection(part) {
			ast.Walk(n, visit, nil)
		}
	}
	return counts
}

// fieldsAround counts the fields of n around the identifier x.
func fieldsAround(n ast.Node, x ast.Node) (count int) {
	ast.Walk(n, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Pos().Offset() <= x.Pos().Offset() && x.End().Offset() <= field.End().Offset() {
			count++
		}
		return true
	}, nil)
	return count
}

// names returns the names that v is written with, without the names of types and packages.
func names(v cue.Value) (identifiers []string) {
	ast.Walk(v.Syntax(cue.Raw()), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && n.X != nil && x.Node == nil {
				identifiers = append(identifiers, x.Name)
			}
			return false
		case *ast.ImportDecl, *ast.ImportSpec:
			return false
		case *ast.Ident:
			if !slices.Contains(predeclared(), n.Name) {
				identifiers = append(identifiers, n.Name)
			}
		}
		return true
	}, nil)
	return identifiers
}

// predeclared returns the names that CUE knows everywhere.
func predeclared() []string {
	return []string{
		"_", "string", "bytes", "bool", "number", "int", "float", "null", "true", "false", "uint", "rune",
		"len", "close", "and", "or", "div", "mod", "quo", "rem", "error", "matchN", "matchIf",
		"int8", "int16", "int32", "int64", "int128", "uint8", "uint16", "uint32", "uint64", "uint128", "float32", "float64",
	}
}

// conditions returns the texts of the comprehensions that a struct is made with.
func conditions(v cue.Value) string {
	return strings.Join(declarations(v, isComprehension), "\n")
}

func isComprehension(d ast.Decl) bool {
	_, ok := d.(*ast.Comprehension)
	return ok
}

// declarations returns the sorted texts of the wanted declarations that a struct is made with.
func declarations(v cue.Value, wanted func(ast.Decl) bool) (texts []string) {
	var visit func(v cue.Value, depth int)
	visit = func(v cue.Value, depth int) {
		v = cue.Dereference(v)
		n := v.Source()
		if f, ok := n.(*ast.Field); ok {
			n = f.Value
		}
		if s, ok := n.(*ast.StructLit); ok {
			for _, d := range s.Elts {
				if wanted(d) {
					texts = append(texts, text(&ast.StructLit{Elts: []ast.Decl{d}}))
				}
			}
		}
		if op, args := v.Expr(); op == cue.AndOp && depth > 0 {
			for _, a := range args {
				visit(a, depth-1)
			}
		}
	}
	visit(v, maxCompareDepth)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// oneLine returns how a scalar is written, in one line. CUE embeds parts of it in braces.
func oneLine(v cue.Value) string {
	text := printable.OneLine(source(v))
	if !strings.Contains(text, ":") {
		text = strings.NewReplacer("{ ", "", " }", "").Replace(text)
	}
	return text
}

// source returns how v is written.
func source(v cue.Value) string { return text(v.Syntax(cue.Raw())) }

func text(n ast.Node) string {
	data, err := format.Node(n)
	if err != nil {
		return fmt.Sprintf("%p", n) // like no other
	}
	_, body, found := strings.Cut(string(data), "\n\n")
	if !found || !strings.HasPrefix(string(data), "import") {
		body = string(data)
	}
	return strings.TrimSpace(body)
}
