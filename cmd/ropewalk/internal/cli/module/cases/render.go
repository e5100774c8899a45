// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"cmp"
	"context"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// defaultName is the name of the spec of a case that gives none.
const defaultName = "app"

// Subject is the module that cases are of.
type Subject struct {
	// Request has the module in its one spec; its context is that of a case that names no
	// other.
	Request  render.Request
	Renderer render.Renderer
	// Kind is that of the module; "" is a module of specs.
	Kind string
}

// Render renders the module with the input and in the context of the case. The error is an
// object.Errors, or wraps that of ctx.
func (c Case) Render(ctx context.Context, s Subject) (render.Result, error) {
	req, err := c.Request(s)
	if err != nil {
		return render.Result{}, err
	}
	return s.Renderer.Render(ctx, req)
}

// Request returns the request that Render renders. Its one spec is named after the context of the
// case.
func (c Case) Request(s Subject) (render.Request, error) {
	// The spec is named after the context, and has the input of the case.
	req := s.Request
	one := s.Request.Specs[0]
	surroundings := c.context(one.Evaluate.Context)
	one.Evaluate.Context = surroundings
	one.Evaluate.Spec = surroundings.Name
	one.Evaluate.Pos = c.Pos
	one.Evaluate.Module.Pos = c.Pos
	one.Evaluate.Input = c.Input
	one.Evaluate.InputPath = object.Fields("input")
	one.Evaluate.AllowEmpty = c.Expect.Count.Text == "0"
	one.Source.Spec = surroundings.Name

	// The file of the case sets what a project sets elsewhere.
	req.Emit.Name = surroundings.Name
	req.Emit.Dialect = dialect.Name(surroundings.Engine)
	req.KubeVersion = surroundings.KubeVersion
	req.AllowSecrets = map[string][]string{surroundings.Name: c.AllowSecrets}

	// Policies and provisioners need a spec around them.
	switch s.Kind {
	case evaluate.KindPolicy:
		if err := c.setPolicy(&one); err != nil {
			return req, err
		}
		req.SkipSchemas = true // A policy may judge parts of objects.
	case evaluate.KindProvisioners:
		if err := c.setWorkload(&req, &one); err != nil {
			return req, err
		}
	default:
		if c.Subject.Kind != object.KindNone {
			return req, object.Errors{mistake(c.Subject.Pos, "write what users of the module write under input", "only a policy has a subject")}
		}
	}
	req.Specs = []render.Spec{one}
	return req, nil
}

// context returns the context of the case over the defaults.
func (c Case) context(defaults object.Context) object.Context {
	return object.Context{
		Name:          cmp.Or(c.Context.Name, defaultName),
		Namespace:     cmp.Or(c.Context.Namespace, defaults.Namespace),
		Environment:   c.Context.Environment,
		Engine:        cmp.Or(c.Context.Engine, defaults.Engine),
		KubeVersion:   cmp.Or(c.Context.KubeVersion, defaults.KubeVersion),
		ClusterDomain: cmp.Or(c.Context.ClusterDomain, defaults.ClusterDomain),
	}
}
