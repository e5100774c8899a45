// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"
)

// syntax returns the files of the package and of all that it imports.
func (c *Compiled) syntax() []*ast.File {
	var files []*ast.File
	visited := map[*build.Instance]bool{}
	var visit func(*build.Instance)
	visit = func(inst *build.Instance) {
		if visited[inst] {
			return
		}
		visited[inst] = true
		files = append(files, inst.Files...)
		for _, i := range inst.Imports {
			visit(i)
		}
	}
	visit(c.instance)
	return files
}

// tagAt returns the tag of the first field at places that has a tag.
func (c *Compiled) tagAt(places []token.Pos) string {
	for _, p := range places {
		around := c.Enclosing(p)
		for i := len(around) - 1; i >= 0; i-- {
			f, ok := around[i].(*ast.Field)
			if !ok {
				continue
			}
			for _, a := range f.Attrs {
				if key, body := a.Split(); key == "tag" {
					name, _, _ := strings.Cut(body, ",")
					return strings.TrimSpace(name)
				}
			}
			break
		}
	}
	return ""
}

// written returns the files that the author of the module wrote. With imported, it returns the
// files of imported packages too.
func (c *Compiled) written(imported bool) []*ast.File {
	return slices.DeleteFunc(slices.Clone(c.syntax()), func(f *ast.File) bool { return !imported && !c.Tree.owns(f.Pos()) })
}

// Enclosing returns the nodes around pos, the innermost last.
func (c *Compiled) Enclosing(pos token.Pos) []ast.Node {
	if !pos.HasAbsPos() {
		return nil
	}
	var enclosing, stack []ast.Node
	for _, f := range c.syntax() {
		if f.Filename != pos.Filename() {
			continue
		}
		ast.Walk(f, func(n ast.Node) bool {
			if !covers(n, pos) {
				return false
			}
			stack = append(stack, n)
			enclosing = append([]ast.Node{}, stack...)
			return true
		}, nil)
	}
	return enclosing
}

// covers reports whether pos is inside n.
func covers(n ast.Node, pos token.Pos) bool {
	start, end := n.Pos(), n.End()
	if !start.HasAbsPos() || !end.HasAbsPos() {
		// Nodes that CUE made have no place, but what is in them may have.
		return true
	}
	return token.WithinInclusive(pos.Offset(), start, end)
}

// LabelIs reports whether a label is the name.
func LabelIs(l ast.Label, name string) bool {
	got, _, err := ast.LabelName(l)
	return err == nil && got == name
}
