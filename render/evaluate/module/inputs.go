// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"slices"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Inputs describes what a module takes.
type Inputs struct {
	// Value is the schema; it does not exist where the module takes nothing.
	Value cue.Value
	// Plain says that Value is a whole package: what it makes is no input.
	Plain bool
	// Own are values of the module itself that go over the defaults of its schema.
	Own object.Value
	// Set are paths that are set for the module, so that no user sets them.
	Set map[string]bool
	// Filled is Value with Own; it does not exist without Own.
	Filled cue.Value
	// Session is the session that built Value.
	Session *Session
}

// Inputs returns what the module of the session takes. Only a module of specs takes an input.
func (s *Session) Inputs() (Inputs, error) {
	if s.Compiled.Kind != "" {
		return Inputs{}, fmt.Errorf("module %q is of the kind %s, and takes no input of a spec", s.Module.Name(), s.Compiled.Kind)
	}
	return s.Schema()
}

// Schema returns what the module takes, which are the parameters of a policy. A module of
// provisioners takes nothing.
func (s *Session) Schema() (Inputs, error) {
	if s.Compiled.Kind == evaluate.KindProvisioners {
		return Inputs{Session: s}, nil
	}
	inputs := Inputs{Set: map[string]bool{}, Plain: s.Compiled.Flavour == evaluate.FlavourPlain}
	if s.Compiled.Flavour == evaluate.FlavourTimoni {
		ownValues, _, err := s.Compiled.ownValues(s.origin, object.Value{})
		if err != nil {
			return inputs, err
		}
		s, err = s.withoutValues()
		if err != nil {
			return inputs, err
		}
		inputs.Own = ownValues
		for _, t := range s.Compiled.timoni.tags {
			if len(t.path) > len(config()) && slices.Equal(t.path[:len(config())], config()) {
				inputs.Set[object.Fields(t.path[len(config()):]...).String()] = true
			}
		}
	}
	inputs.Session = s
	inputs.Value = s.Compiled.schema(s.Compiled.Value)
	return inputs, nil
}

// schema returns the part of a built module that says what it takes.
func (c *Compiled) schema(root cue.Value) cue.Value {
	if c.Flavour == evaluate.FlavourNative {
		return root.LookupPath(cue.MakePath(cue.Str(diagnose.FieldInput)))
	}
	if c.Flavour == evaluate.FlavourTimoni {
		return root.LookupPath(cue.MakePath(cue.Str(fieldValues)))
	}
	return root
}

// Together returns the inputs of two modules in one context of CUE, so that their values can
// be compared. For a module of provisioners, Value is its whole package.
func Together(a, b *Session) (first, second Inputs, err error) {
	first, err = a.Schema()
	if err != nil {
		return first, second, err
	}
	second, err = b.Schema()
	if err != nil {
		return first, second, err
	}
	ctx := newContext(true)
	for _, inputs := range []*Inputs{&first, &second} {
		c := inputs.Session.Compiled
		inputs.Value = ctx.BuildInstance(c.instance)
		if c.Kind != evaluate.KindProvisioners {
			inputs.Value = c.withSet(c.schema(inputs.Value))
		}
		if inputs.Own.Kind == object.KindMap {
			inputs.Filled = inputs.Value.FillPath(cue.Path{}, ctx.CompileBytes(inputs.Own.JSON()))
		}
	}
	return first, second, nil
}

// KindName returns what a module like c is called in a sentence.
func (c *Compiled) KindName() string {
	switch c.Kind {
	case evaluate.KindPolicy:
		return "a policy"
	case evaluate.KindProvisioners:
		return "a module of provisioners"
	}
	return "a module of specs"
}

// withSet returns a schema with the fields that are set for the module. It sets the same values for
// every module, so fields that are computed from these alone are equal too.
func (c *Compiled) withSet(schema cue.Value) cue.Value {
	if c.timoni == nil {
		return schema
	}
	for _, t := range c.timoni.tags {
		if len(t.path) <= len(config()) || !slices.Equal(t.path[:len(config())], config()) {
			continue
		}
		var selectors []cue.Selector
		for _, name := range t.path[len(config()):] {
			selectors = append(selectors, cue.Str(name))
		}
		text := timoniTag(t.name, object.Context{Name: "name", Namespace: "namespace", KubeVersion: "1.99"}, "0.0.0")
		if set := schema.FillPath(cue.MakePath(selectors...), text); text != "" && set.LookupPath(cue.MakePath(selectors...)).Err() == nil {
			schema = set
		}
	}
	return schema
}

// config returns the path of the values of a Timoni module, and of what is set for it.
func config() []string { return []string{fieldTimoni, "instance", "config"} }

// Vet returns what CUE has against the module without an input, as `cue vet -c=false` does.
func (s *Session) Vet() error {
	in, err := s.Schema()
	if err != nil {
		return err
	}
	c := in.Session.Compiled
	if err := c.Value.Validate(); err != nil {
		return c.Tree.moduleErrors(s.origin, err)
	}
	return nil
}
