// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Parameter is an input of a spec with the value that it has.
type Parameter struct {
	// Spec is the name of the spec.
	Spec string
	// Input is its declaration in the module. It is required only while it has no value.
	evaluate.Input
	// Value comes from the overlays, else from the spec, else from the default of the module;
	// KindNone where no value is set.
	Value object.Value
}

// Parameters returns the inputs of the specs, spec by spec, in the order of their paths: the inputs
// of their modules, and the images of the containers of workloads.
//
// A module that cannot be described, because it is broken, hangs or exceeds the deadline
// of ctx, does not hide the others: the error lists each of them.
func (l Loaded) Parameters(ctx context.Context, e evaluate.Evaluator) ([]Parameter, error) {
	var out []Parameter
	var errs []error
	for _, s := range l.Request.Specs {
		if s.Workload != nil {
			out = append(out, images(s)...)
			continue
		}
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}

		// Nothing of the spec is in the request, so that all specs of a module share a cached
		// result.
		m := s.Evaluate.Module
		inputs, err := evaluate.Describe(ctx, e, evaluate.Subject{
			Module: evaluate.Module{FS: m.FS, Foreign: m.Foreign, Digest: m.Digest, Dir: m.Dir, Tags: m.Tags}, Limits: s.Evaluate.Limits,
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("inputs of %q, module %s: %w", s.Evaluate.Spec, cmp.Or(s.Source.Pinned, s.Source.Origin), err))
			continue
		}
		for _, in := range inputs {
			out = append(out, parameter(s.Evaluate, in, inputs))
		}
	}
	return out, errors.Join(errs...)
}

// parameter joins an input with its value in the spec. The argument declared has the inputs of its
// module.
func parameter(s evaluate.Request, input evaluate.Input, declared []evaluate.Input) Parameter {
	p := Parameter{Spec: s.Spec, Input: input}
	if input.Default != "" {
		// JSON is always a value.
		p.Value, _ = spec.ParseValue(spec.File{Name: s.Spec, Data: []byte(input.Default)})
	}
	if value, found := s.Input.Lookup(input.Path); found == len(input.Path) && value.Kind != object.KindNone {
		p.Value = value
		p.Required = false
	}
	if p.Value.Kind == object.KindMap {
		// Fields that are inputs of their own are listed once.
		p.Value.Members = slices.DeleteFunc(slices.Clone(p.Value.Members), func(m object.Member) bool {
			at := input.Path.Append(object.Field(m.Name))
			return slices.ContainsFunc(declared, func(other evaluate.Input) bool {
				return len(other.Path) >= len(at) && slices.Equal(other.Path[:len(at)], at)
			})
		})
	}
	return p
}

// images returns the images of the containers of a workload as parameters. The image "." has no
// value.
func images(s render.Spec) []Parameter {
	var out []Parameter
	for _, c := range s.Workload.Spec.Containers {
		p := Parameter{Spec: s.Evaluate.Spec, Input: evaluate.Input{
			Path: object.Fields("containers", c.Name, "image"), Type: evaluate.InputString,
			Expected: "text", Doc: fmt.Sprintf("image of the container %s.", c.Name),
		}}
		if c.Image.Value == "" || c.Image.Value == "." {
			p.Required = true
		} else {
			p.Value = object.Value{Kind: object.KindString, Text: c.Image.Value, Pos: c.Image.Pos}
		}
		out = append(out, p)
	}
	return out
}
