// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Rendered is the module with its input, and a way to find objects in it.
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
	w, err := s.walked()
	if err != nil {
		return diagnose.Filled{}, nil, err
	}
	byID := map[object.ID]cue.Value{}
	for n, v := range w.values {
		byID[n.ID] = v
	}
	return w.filled, func(id object.ID) cue.Value { return byID[id] }, nil
}

// InputField is the field of the module that takes the input; "" is its root.
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
