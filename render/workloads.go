// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload"
)

// errSaid ends a workload for which joined.mistakes has the reason.
var errSaid = errors.New("the workloads cannot be compiled")

// joined is the workloads of a request, seen together.
type joined struct {
	Workloads
	project *workload.Project
	// mistakes are those that no single workload is to blame for, and warnings.
	mistakes Errors
	// scopes knows which kinds belong to a namespace.
	scopes func() *check.Checker
	// seen is what the workloads showed one by one and is told once.
	seen *seen
}

// join looks at all workloads together, where there are any. The error is only
// that of a cancelled context.
func (r Renderer) join(ctx context.Context, req Request) (joined, error) {
	out := joined{Workloads: req.Workloads, seen: &seen{of: map[string]shown{}}}
	out.scopes = sync.OnceValue(func() *check.Checker {
		options := req.Check
		options.Schemas, options.SkipSchemas = cmp.Or(options.Schemas, r.Schemas), false
		return check.New(options)
	})
	var sources []workload.Source
	asked := false
	for _, s := range req.Specs {
		if s.Workload != nil {
			sources = append(sources, *s.Workload)
			asked = asked || len(s.Workload.Spec.Resources) > 0
		}
	}
	if len(sources) == 0 {
		return out, nil
	}
	var catalog []workload.Provisioner
	for i, p := range req.Workloads.Provisioners {
		if !asked {
			break // Nobody asks for a resource: no module need be read.
		}
		found, err := r.Evaluator.Evaluate(ctx, p.request(req.Specs[0].Evaluate))
		if errors.Is(err, context.Canceled) {
			return out, err
		}
		out.mistakes = append(out.mistakes, object.AsErrors(err, object.StageEvaluate)...)
		for _, entry := range found.Catalog {
			catalog = append(catalog, workload.Provisioner{
				Module: i, Index: entry.Index, Type: entry.Type, Class: entry.Class, ID: entry.ID,
				Name: p.Name, Pos: entry.Pos,
			})
		}
	}
	// Without a whole catalog nobody can judge what a workload asks for.
	if out.mistakes.Err() == nil {
		project, errs := workload.Join(sources, req.Workloads.Config, catalog, req.Broken...)
		out.project, out.mistakes = project, append(out.mistakes, errs...)
	}
	return out, nil
}

// request asks for the catalog of a module; what surrounds it is that of any
// spec.
func (p Provisioners) request(like evaluate.Request) evaluate.Request {
	return evaluate.Request{
		Spec: p.Name, Pos: p.Pos, Module: p.Module, Context: like.Context, Limits: like.Limits, Catalog: true,
	}
}

// spec evaluates one spec; a workload is compiled before, and s knows how to do
// that again.
func (r Renderer) spec(ctx context.Context, s *Spec, all joined) (evaluate.Result, error) {
	if s.Workload == nil {
		return r.Evaluator.Evaluate(ctx, s.Evaluate)
	}
	if all.project == nil {
		return evaluate.Result{}, errSaid
	}
	made := &compilation{}
	compiled, warnings, err := r.compile(ctx, *s, all, made)
	if err != nil {
		return evaluate.Result{}, err
	}
	s.by = made.by()
	document := *s
	s.again = func(ctx context.Context) (*compilation, error) {
		made := &compilation{}
		compiled, _, err := r.compile(ctx, document, all, made)
		made.input = compiled.Input
		return made, err
	}
	request := s.Evaluate
	request.Input = compiled.Input
	result, err := r.Evaluator.Evaluate(ctx, request)
	refused := all.refused(s, err)
	all.seen.add(s.Evaluate.Spec, shown{secret: compiled.Secret, routes: compiled.Routes, refused: refused})
	if refused != nil {
		return result, errSaid
	}
	if err != nil {
		return result, err
	}
	compiled.Place(result.Nodes)
	result.Nodes = append(result.Nodes, compiled.Nodes...)
	result.Warnings = append(result.Warnings, warnings...)
	return result, nil
}

// compile asks provisioners until every resource of a workload is known. What
// one of them fails over does not hide the other mistakes of the workload.
func (r Renderer) compile(ctx context.Context, s Spec, all joined, made *compilation) (workload.Compiled, Errors, error) {
	c := all.project.Compile(s.Workload.Spec.Name.Value)
	var mistakes Errors
	for requests := c.Next(); len(requests) > 0; requests = c.Next() {
		for _, asked := range requests {
			found, err := r.provision(ctx, s, all, c, asked, made)
			if err != nil {
				return workload.Compiled{}, nil, err
			}
			mistakes = append(mistakes, found...)
		}
	}
	compiled, errs := c.Finish()
	if mistakes = append(mistakes, errs...); mistakes.Err() != nil {
		return workload.Compiled{}, nil, mistakes
	}
	if !compiled.Complete {
		return workload.Compiled{}, nil, errSaid
	}
	return compiled, mistakes, nil
}

// provision asks one module for resources. The error is only that of a
// cancelled context.
func (r Renderer) provision(
	ctx context.Context, s Spec, all joined, c *workload.Compilation, asked workload.Request, kept *compilation,
) (Errors, error) {
	request := s.Evaluate
	// The owner of a shared resource is asked for it, whoever needs it.
	request.Spec, request.Context, request.InputPath = asked.Context.Name, asked.Context, asked.InputPath
	request.Module, request.Input, request.Policies = all.Provisioners[asked.Module].Module, asked.Input, nil
	result, err := r.Evaluator.Evaluate(ctx, request)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	var mistakes Errors
	if err != nil {
		mistakes = object.AsErrors(err, object.StageEvaluate)
		// One resource that cannot be made must not hide what is wrong with the
		// texts that the others are in.
		asked = asked.Without(mistakes)
		if request.Input = asked.Input; len(asked.Resources) > 0 {
			result, err = r.Evaluator.Evaluate(ctx, request)
		}
		if err != nil {
			return mistakes, ctx.Err()
		}
	}
	answers := make(map[string]workload.Answer, len(asked.Resources))
	for _, key := range asked.Resources {
		made, ok := result.Provisioned[key]
		if !ok {
			continue
		}
		made.Nodes = all.within(asked.Context.Namespace, made.Nodes)
		answers[key] = workload.Answer{Result: made.JSON, Nodes: made.Nodes}
		kept.keep(&request, all.Provisioners[asked.Module].Name, made.Nodes)
	}
	return append(append(mistakes, result.Warnings...), c.Answer(asked, answers)...), nil
}

// compilation is what a workload compiled to.
type compilation struct {
	input object.Value
	// asked are the requests to provisioners, made is which of them made a node,
	// and names are those of the modules in [Workloads].
	asked []*evaluate.Request
	made  map[object.ID]*evaluate.Request
	names map[*evaluate.Request]string
}

// keep remembers which request to the module called name made nodes.
func (c *compilation) keep(request *evaluate.Request, name string, nodes []*object.Node) {
	if len(nodes) == 0 {
		return
	}
	if c.made == nil {
		c.made, c.names = map[object.ID]*evaluate.Request{}, map[*evaluate.Request]string{}
	}
	c.names[request] = name
	if !slices.Contains(c.asked, request) {
		c.asked = append(c.asked, request)
	}
	for _, n := range nodes {
		c.made[n.ID] = request
	}
}

// by is the name of the module that made each node.
func (c *compilation) by() map[object.ID]string {
	if len(c.made) == 0 {
		return nil
	}
	out := make(map[object.ID]string, len(c.made))
	for id, request := range c.made {
		out[id] = c.names[request]
	}
	return out
}
