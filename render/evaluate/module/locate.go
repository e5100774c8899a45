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
			return f.Root.LookupPath(cue.MakePath(
				cue.Str(diagnose.FieldGraph), cue.Str(diagnose.FieldNodes), cue.Str(id.Node()), cue.Str("object")))
		}, nil
	}
	f, w, err := s.walked()
	if err != nil {
		return f, nil, err
	}
	if err := s.nameNodes(w.nodes); err != nil {
		return f, nil, err
	}
	byID := map[object.ID]cue.Value{}
	for n, v := range w.values {
		byID[n.ID] = v
	}
	return f, func(id object.ID) cue.Value { return byID[id] }, nil
}

// walked is the objects of a plain or a Timoni module.
func (s *Session) walked() (diagnose.Filled, *walker, error) {
	w := &walker{session: s, values: map[*object.Node]cue.Value{}}
	if s.Compiled.Flavour == evaluate.FlavourTimoni {
		f, err := s.fillTimoni()
		if err != nil {
			return f, nil, err
		}
		w.filled, w.timoni = f, true
		sets, err := f.Root.LookupPath(cue.ParsePath("timoni.apply")).Fields()
		for err == nil && sets.Next() {
			w.set(sets.Selector().Unquoted(), sets.Value())
		}
		return f, w, nil
	}
	if err := s.plainInput(); err != nil {
		return diagnose.Filled{}, nil, err
	}
	w.filled = s.fillPlain(s.Input)
	w.walk(w.filled.Root, 0)
	return w.filled, w, nil
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
