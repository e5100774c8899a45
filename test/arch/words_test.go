// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A doc of a function that begins "X is" describes a value, and leaves open what the function
// does for it.
func TestDocsOfFunctionsBeginWithAVerb(t *testing.T) {
	states := []string{"is", "are", "has", "have", "was", "were"}
	for _, f := range goFiles(t) {
		if f.isTest() || ast.IsGenerated(f.ast) || below(f.dir(), "test") {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			words := strings.Fields(fn.Doc.Text())
			if len(words) > 1 && words[0] == fn.Name.Name {
				assert.NotContains(t, states, words[1], "%s: %s: begin with what it does", f.path, fn.Name.Name)
			}
		}
	}
}

// A condition that changes a variable of the lines around it is read over. One of its own
// (if err := …) stays inside.
func TestConditionsOnlyAsk(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() || ast.IsGenerated(f.ast) || below(f.dir(), "test") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			var first ast.Stmt
			switch n := n.(type) {
			case *ast.IfStmt:
				first = n.Init
			case *ast.SwitchStmt:
				first = n.Init
			}
			if first != nil {
				assert.True(t, isDefinition(first), "%s:%d: write it on a line before the condition", f.path, f.fset.Position(first.Pos()).Line)
			}
			return true
		})
	}
}

func isDefinition(s ast.Stmt) bool {
	a, ok := s.(*ast.AssignStmt)
	return ok && a.Tok == token.DEFINE
}

// Lists of callers are written by hand and grow old; the import rules hold.
func TestNoPackageDocListsItsCallers(t *testing.T) {
	for _, f := range goFiles(t) {
		if below(f.dir(), "test") { // There they say what is built by which tests.
			continue
		}
		lines := strings.Split(f.ast.Doc.Text(), "\n")
		assert.False(t, slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "Caller:") || strings.HasPrefix(l, "Callers:")
		}), "%s: leave the callers out", f.path)
	}
}
