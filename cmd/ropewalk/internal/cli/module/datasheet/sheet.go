// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package datasheet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Sheet is what a module takes and makes.
type Sheet struct {
	// Module is the reference of the user, and What says what kind of a module it is.
	Module string `json:"module"`
	What   string `json:"what"`
	// Inputs are those that must be set and then the others, in the order of their paths, each with
	// its members after it.
	Inputs []Input `json:"inputs"`
	// Resources are what a module of provisioners makes, in the order of matching.
	Resources []Resource `json:"resources,omitempty"`
	// Made is what a render of it makes, nil where it was not rendered.
	Made *Made `json:"makes,omitempty"`
	// Notes say what is not shown, a sentence each.
	Notes []string `json:"notes,omitempty"`
}

// Input is an input of a module, or a param of a resource.
type Input struct {
	// Path has "[]" for the items of a list, and "<name>" for the members of a map.
	Path string `json:"path"`
	// Type says in words what is expected: an integer of at least 1.
	Type string `json:"type,omitempty"`
	// Default is JSON.
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// RequiredWith is the part of the input, which may be absent, that it must be given with.
	RequiredWith string `json:"requiredWith,omitempty"`
	Doc          string `json:"doc,omitempty"`

	input evaluate.Input
}

// Resource is an entry of a module of provisioners.
type Resource struct {
	Type        string   `json:"type"`
	Class       string   `json:"class,omitempty"`
	ID          string   `json:"id,omitempty"`
	Description string   `json:"description,omitempty"`
	Params      []Input  `json:"params"`
	Outputs     []string `json:"outputs"`
	Sensitive   []string `json:"sensitive"`
}

// Made is what a render makes.
type Made struct {
	// Of says of which input: its defaults, or a case.
	Of    string   `json:"of"`
	Waves [][]Node `json:"waves"`

	plan *order.Plan
}

// Node is an object that a module makes.
type Node struct {
	ID     object.ID `json:"id"`
	Object string    `json:"object"`
}

// Add adds inputs with their members. Required inputs come first.
func (s *Sheet) Add(inputs []evaluate.Input) {
	sorted := slices.Clone(inputs)
	slices.SortStableFunc(sorted, func(a, b evaluate.Input) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	s.add(nil, sorted)
}

func (s *Sheet) add(above object.Path, inputs []evaluate.Input) {
	for _, in := range inputs {
		at := slices.Concat(above, in.Path)
		one := Input{Path: pathText(at), Type: typeText(in), Default: in.Default, Required: in.Required, Doc: in.Doc, input: in}
		if in.Within {
			one.RequiredWith = pathText(at[:len(at)-1])
		}
		s.Inputs = append(s.Inputs, one)
		s.add(at, in.Members)
	}
}

// typeText returns what an input may be, in words.
func typeText(in evaluate.Input) string {
	items := map[evaluate.InputType]string{evaluate.InputString: " of text", evaluate.InputNumber: " of numbers", evaluate.InputBoolean: " of true or false"}[in.Type]
	if in.Expected == "a list" || in.Expected == "a map" {
		return in.Expected + items
	}
	return cmp.Or(in.Expected, "anything")
}

// pathText returns a path with quotes if a name needs them, and without a dot before "[]".
func pathText(at object.Path) string {
	var b strings.Builder
	for i, step := range at {
		switch {
		case step.Name == "[]":
			b.WriteString("[]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		if step.Name == "<name>" {
			b.WriteString(step.Name)
		} else {
			b.WriteString(object.Fields(step.Name).String())
		}
	}
	return b.String()
}

// AddResources adds the entries of a module of provisioners.
func (s *Sheet) AddResources(entries []evaluate.Provisioner) {
	for _, p := range entries {
		r := Resource{
			Type: p.Type, Class: p.Class, ID: p.ID, Description: p.Description, Params: []Input{},
			Outputs: append([]string{}, p.Outputs...), Sensitive: append([]string{}, p.Sensitive...),
		}
		for _, param := range p.Params {
			r.Params = append(r.Params, Input{Path: param.Name, Type: cmp.Or(param.Type, "anything"), Default: param.Default, Required: param.Required, Doc: param.Doc})
		}
		s.Resources = append(s.Resources, r)
	}
}

// Title returns how a workload requests the resource. A * is any class.
func (r Resource) Title() string {
	out := r.Type + "/" + cmp.Or(r.Class, "*")
	if r.ID != "" {
		out += "#" + r.ID
	}
	return out
}

// Names returns the outputs. A * marks those that are secrets.
func (r Resource) Names() []string {
	out := slices.Clone(r.Outputs)
	for _, name := range r.Sensitive {
		out = append(out, name+"*")
	}
	slices.Sort(out)
	return out
}

// Render adds what was rendered, and of which input.
func (s *Sheet) Render(of string, plan *order.Plan) {
	s.Made = &Made{Of: of, plan: plan}
	for _, wave := range plan.Waves {
		nodes := make([]Node, 0, len(wave.Nodes))
		for _, n := range wave.Nodes {
			nodes = append(nodes, Node{ID: n.ID, Object: n.Object.Ref().String()})
		}
		s.Made.Waves = append(s.Made.Waves, nodes)
	}
}

// Needed returns the paths of the inputs that must be set.
func (s *Sheet) Needed() (out []string) {
	for _, in := range s.Inputs {
		if in.Required && !in.Member() {
			out = append(out, in.Path)
		}
	}
	return out
}

// Member reports whether the input is one of the members of a collection.
func (i Input) Member() bool {
	return len(i.input.Path) > 0 && (i.input.Path[0].Name == "[]" || i.input.Path[0].Name == "<name>")
}

// Demand returns whether the input must be set, in words, or "" if it may be left out.
func (i Input) Demand() string {
	switch {
	case i.Required:
		return "required"
	case i.RequiredWith != "":
		return "required with " + i.RequiredWith
	}
	return ""
}

// sentence returns what the input may be, whether it must be set, and its default.
func (i Input) sentence() string {
	out := i.Type
	if demand := i.Demand(); demand != "" {
		out += ", " + demand
	}
	if i.Default != "" && i.Demand() == "" {
		out += ", default " + i.Default
	}
	return out
}
