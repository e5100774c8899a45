// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Rendered returns the module with its input, and a way to find objects in it.
func (s *Session) Rendered() (diagnose.Filled, func(object.ID) cue.Value, error) {
	if s.Compiled.Flavour == evaluate.FlavourNative {
		f, err := s.fillNative(s.Input)
		if err != nil {
			return f, nil, err
		}
		return f, func(id object.ID) cue.Value {
			return Field(f.Root, diagnose.FieldGraph, diagnose.FieldNodes, id.Node(), diagnose.FieldObject)
		}, nil
	}
	w, err := s.collectObjects()
	if err != nil {
		return diagnose.Filled{}, nil, err
	}
	byID := map[object.ID]cue.Value{}
	for n, v := range w.values {
		byID[n.ID] = v
	}
	return w.filled, func(id object.ID) cue.Value { return byID[id] }, nil
}

// InputField returns the field of the module that takes the input, or "" if its root does.
func (c *Compiled) InputField() string {
	switch c.Flavour {
	case evaluate.FlavourNative:
		return diagnose.FieldInput
	case evaluate.FlavourTimoni:
		return fieldValues
	default:
		return ""
	}
}

// valuePos returns the place in the files of the bundle where v was written.
func (b *bundle) valuePos(v cue.Value) object.Pos {
	if field, ok := v.Source().(*ast.Field); ok {
		return b.ownPos(field.Value.Pos())
	}
	return b.ownPos(v.Pos())
}

// labelPos returns the place of the name of the field v.
func (b *bundle) labelPos(v cue.Value) object.Pos {
	if field, ok := v.Source().(*ast.Field); ok {
		return b.ownPos(field.Label.Pos())
	}
	return b.ownPos(v.Pos())
}

// ownPos returns the place of p in the files of the author. Elsewhere it is not valid.
func (b *bundle) ownPos(p token.Pos) object.Pos {
	if p != token.NoPos && b.tree.owns(p) {
		return b.tree.position(b.module, p)
	}
	return object.Pos{}
}
