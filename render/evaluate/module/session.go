// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Session is one evaluation of one module.
type Session struct {
	diagnose.Subject
	Compiled *Compiled
	// origin is the module that was compiled.
	origin evaluate.Module
	// soft marks where defaults stand in the values of a Timoni module itself.
	soft map[object.Pos]bool
}

// NewSession evaluates c, which was compiled of m, for a request.
func NewSession(req evaluate.Request, m evaluate.Module, c *Compiled) *Session {
	return &Session{
		Subject: diagnose.Subject{
			Req: req, Module: located{c, m}, Input: req.Input, Written: req.Input,
			InputPath: req.InputPath, Pos: req.Pos, Began: time.Now(),
		},
		Compiled: c, origin: m,
	}
}

// Field returns the value at a path of fields below v. CUE's own lookup does not go into a
// disjunction; an export has the default of a disjunction, so Field goes into the default.
func Field(v cue.Value, names ...string) cue.Value {
	for _, name := range names {
		v, _ = v.Default()
		v = v.LookupPath(cue.MakePath(cue.Str(name)))
	}
	return v
}

// located is a compiled module with the names and positions of one request.
type located struct {
	module *Compiled
	origin evaluate.Module
}

var _ diagnose.Module = located{}

// Name implements source.
func (l located) Name() string { return diagnose.ModuleName(l.origin) }

// Position implements source.
func (l located) Position(p token.Pos) object.Pos { return l.module.Tree.position(l.origin, p) }

// Own implements source.
func (l located) Own(p token.Pos) bool { return l.module.Tree.owns(p) }

// Depth implements source.
func (l located) Depth(p token.Pos) (depth int) {
	for _, n := range l.module.Enclosing(p) {
		if _, ok := n.(*ast.Field); ok {
			depth++
		}
	}
	return depth
}

// Clean implements source.
func (l located) Clean(text string) string { return l.module.Tree.clean(l.origin, text) }

// Near implements source.
func (l located) Near(text string) string {
	return diagnose.Near(text, l.module.written(strings.Contains(text, ` "#`)))
}

// Selects implements source.
func (l located) Selects(p token.Pos, name string) bool {
	return slices.ContainsFunc(l.module.Enclosing(p), func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		return ok && LabelIs(selector.Sel, name)
	})
}

// Tag implements source.
func (l located) Tag(positions []token.Pos) string { return l.module.tagAt(positions) }
