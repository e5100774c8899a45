// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
)

// declared is where the module's text first declares each node, by name; a node
// that it declares only by a computed name is not in it. To ask
// CUE for the place costs a third of a warm render where a schema unifies with
// the graph, and the text does not change.
func declared(files []*ast.File) map[string]token.Pos {
	out := map[string]token.Pos{}
	for _, f := range files {
		for _, graph := range values(f.Decls, diagnose.FieldGraph) {
			for _, nodes := range values(elements(graph), diagnose.FieldNodes) {
				collect(elements(nodes), out)
			}
		}
	}
	return out
}

// values are the values of the fields called name, those under conditions
// included.
func values(decls []ast.Decl, name string) (out []ast.Expr) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			if LabelIs(d.Label, name) {
				out = append(out, d.Value)
			}
		case *ast.Comprehension:
			out = append(out, values(elements(d.Value), name)...)
		}
	}
	return out
}

// elements are the declarations of a struct, conjuncts included.
func elements(e ast.Expr) []ast.Decl {
	switch e := e.(type) {
	case *ast.StructLit:
		return e.Elts
	case *ast.BinaryExpr:
		if e.Op == token.AND {
			return append(elements(e.X), elements(e.Y)...)
		}
	}
	return nil
}

// collect adds the fields of decls, those under conditions included.
func collect(decls []ast.Decl, out map[string]token.Pos) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			name, _, err := ast.LabelName(d.Label)
			if err != nil {
				continue
			}
			// Where a name is written in several places, the first of them made it.
			if _, again := out[name]; !again {
				out[name] = d.Label.Pos()
			}
		case *ast.Comprehension:
			collect(elements(d.Value), out)
		}
	}
}

// DeclaredInLists is where the text declares the nodes of each entry of a
// list; it knows of entries that are written there or named there.
func DeclaredInLists(files []*ast.File, list string) (out []map[string]token.Pos) {
	for _, f := range files {
		for _, v := range values(f.Decls, list) {
			entries, ok := v.(*ast.ListLit)
			if !ok || out != nil {
				return nil
			}
			for _, e := range entries.Elts {
				out = append(out, declaredIn(files, e))
			}
		}
	}
	return out
}

// declaredIn is where e, or what it names at the root of files, declares nodes.
func declaredIn(files []*ast.File, e ast.Expr) map[string]token.Pos {
	from := []ast.Expr{e}
	if id, ok := e.(*ast.Ident); ok {
		from = nil
		for _, f := range files {
			from = append(from, values(f.Decls, id.Name)...)
		}
	}
	out := map[string]token.Pos{}
	for _, e := range from {
		for _, graph := range values(elements(e), diagnose.FieldGraph) {
			for _, nodes := range values(elements(graph), diagnose.FieldNodes) {
				collect(elements(nodes), out)
			}
		}
	}
	return out
}
