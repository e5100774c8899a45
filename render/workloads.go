// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/component/overlay"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// errReported ends a workload whose mistakes are reported already.
var errReported = errors.New("the workloads cannot be compiled")

// compiler evaluates the specs of a request. It relates all workloads to each other.
type compiler struct {
	Renderer
	req Request
	// project is nil if there are no workloads, or if mistakes hide parts that they
	// need.
	project *workload.Project
	// gateways are the Gateways, and joined their relations to the workloads.
	gateways []*gateway.Gateway
	joined   gateway.Project
	// mistakes are warnings, and mistakes that belong to no single workload.
	mistakes Errors
	// scopes returns a checker that recognizes namespaced kinds.
	scopes func() *check.Checker
}

// newCompiler returns a compiler with the shared parts of the workloads of a request. It returns an
// error only if the context is cancelled.
func (r Renderer) newCompiler(ctx context.Context, req Request) (*compiler, error) {
	c := &compiler{Renderer: r, req: req}
	c.scopes = sync.OnceValue(func() *check.Checker {
		req.SkipSchemas = false
		return r.checker(req)
	})
	var sources []workload.Source
	resources := false
	for _, s := range req.Specs {
		if s.Workload != nil {
			sources = append(sources, *s.Workload)
			resources = resources || len(s.Workload.Spec.Resources) > 0
		}
	}
	gateways := c.join(sources)
	catalog, err := c.listProvisioners(ctx, resources || len(req.Workloads.Config.Config.Members) > 0)
	complete := c.mistakes.Err() == nil
	c.mistakes = append(c.mistakes, gateways...)
	if err != nil || !complete {
		return c, err
	}
	c.mistakes = append(c.mistakes, workload.CheckConfig(req.Workloads.Config, catalog)...)
	// Without the complete catalog the needs of a workload cannot be checked.
	if len(sources) > 0 {
		project, errs := workload.Join(sources, req.Workloads.Config, catalog, req.Broken...)
		c.project = project
		c.mistakes = append(c.mistakes, errs...)
	}
	return c, nil
}

// listProvisioners lists the provisioners of all modules. If no resource is needed, it reads the
// modules that the project names only to find their mistakes.
func (c *compiler) listProvisioners(ctx context.Context, resources bool) ([]resource.Provisioner, error) {
	var out []resource.Provisioner
	for i, p := range c.req.Workloads.Provisioners {
		unneeded := !resources && !p.Pos.IsValid()
		if len(c.req.Specs) == 0 || unneeded {
			continue
		}
		first := c.req.Specs[0].Evaluate // The context and the limits of any spec will do.
		entries, err := evaluate.ListProvisioners(ctx, c.Evaluator, evaluate.Subject{
			Spec: p.Name, Pos: p.Pos, Module: p.Module, Context: first.Context, Limits: first.Limits,
		})
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		c.mistakes = append(c.mistakes, object.AsErrors(err, object.StageEvaluate)...)
		for _, entry := range entries {
			out = append(out, resource.Provisioner{
				Module: i, Index: entry.Index, Type: entry.Type, Class: entry.Class, ID: entry.ID,
				Name: p.Name, Pos: entry.Pos, Config: entry.Config, AnyConfig: entry.AnyConfig,
			})
		}
	}
	return out, nil
}

// evaluateSpec evaluates one spec; a workload is compiled first.
func (c *compiler) evaluateSpec(ctx context.Context, s Spec) (out outcome) {
	request := s.Evaluate

	// A Gateway gets the input that was joined from its routes.
	if s.Gateway {
		input, ok := c.joined.Inputs[request.Spec]
		if !ok {
			return outcome{err: errReported}
		}
		request.Input = input
	}

	// Other specs have their input as the author wrote it.
	if s.Workload == nil {
		out.Result, out.err = c.Evaluator.Evaluate(ctx, request)
		return out
	}

	// A workload is compiled to the input of its module.
	compiled, err := c.compile(ctx, s)
	if err != nil {
		return outcome{err: err}
	}
	out.compiled = compiled.Compiled
	out.provisioned = compiled.provisioned()
	request.Input = compiled.Input

	// The objects of its resources are made already, and get their overlays first.
	request.Overlays, err = overlay.ApplyFirst(compiled.Nodes, request.Overlays)
	if err != nil {
		return outcome{err: err}
	}
	out.Result, out.err = c.Evaluator.Evaluate(ctx, request)
	// No later stage reads the input, and the inputs of 1,000 workloads take 10 MB.
	out.compiled.Input = object.Value{}
	out.refused = c.refused(s, out.err)
	if out.refused != nil {
		out.err = errReported
	}
	if out.err != nil {
		return out
	}

	// The objects of its resources belong to the workload.
	compiled.Locate(out.Nodes)
	out.Nodes = append(out.Nodes, compiled.Nodes...)
	out.Warnings = append(out.Warnings, compiled.warnings...)
	return out
}

// compilation is a compiled workload.
type compilation struct {
	workload.Compiled
	warnings Errors
	// provisions are the requests to provisioners that made nodes.
	provisions []provision
}

// provision is a request that made nodes.
type provision struct {
	request evaluate.Request
	// module is the name of the module of provisioners.
	module string
	// nodes maps the nodes that it made to the position of their resource.
	nodes map[object.ID]object.Pos
}

// provisioned maps each node to the name of the module that made it.
func (c compilation) provisioned() map[object.ID]string {
	out := map[object.ID]string{}
	for _, p := range c.provisions {
		for id := range p.nodes {
			out[id] = p.module
		}
	}
	return out
}

// compile calls provisioners until every resource of a workload is known. A mistake in
// one of them does not hide the other mistakes of the workload.
func (c *compiler) compile(ctx context.Context, s Spec) (compilation, error) {
	if c.project == nil {
		return compilation{}, errReported
	}

	// Resources may need others, so that they are made in rounds.
	w := c.project.Compile(s.Workload.Spec.Name.Value)
	var out compilation
	var mistakes Errors
	for requests := w.Next(); len(requests) > 0; requests = w.Next() {
		for _, request := range requests {
			made, found, err := c.provisionResources(ctx, s, w, request)
			if err != nil {
				return compilation{}, err
			}
			mistakes = append(mistakes, found...)
			if len(made.nodes) > 0 {
				out.provisions = append(out.provisions, made)
			}
		}
	}

	// The rest of the workload is compiled with the results.
	var errs object.Errors
	out.Compiled, errs = w.Finish()
	mistakes = append(mistakes, errs...)
	if s.Written != nil {
		mistakes = s.Written(mistakes)
	}
	if mistakes.Err() != nil {
		return compilation{}, mistakes
	}
	if !out.Complete {
		return compilation{}, errReported
	}
	out.warnings = mistakes
	return out, nil
}

// provisionResources calls one module for resources. It returns an error only if the context is
// cancelled.
func (c *compiler) provisionResources(
	ctx context.Context, s Spec, w *workload.Compilation, needed workload.Request,
) (provision, Errors, error) {
	module := c.req.Workloads.Provisioners[needed.Module]
	request := s.Evaluate
	// A shared resource is made in the context of its owner, for whichever workload it is needed.
	request.Spec = needed.Context.Name
	request.Context = needed.Context
	request.InputPath = needed.InputPath
	request.Module = module.Module
	request.Input = needed.Input
	request.Policies, request.Overlays = nil, nil // The workload has them.
	result, err := c.Evaluator.Evaluate(ctx, request)
	if errors.Is(err, context.Canceled) {
		return provision{}, nil, err
	}
	var mistakes Errors
	if err != nil {
		mistakes = object.AsErrors(err, object.StageEvaluate)
		// A resource that cannot be made must not hide mistakes in texts that refer to the
		// others.
		needed = needed.Without(mistakes)
		request.Input = needed.Input
		if len(needed.Resources) > 0 {
			result, err = c.Evaluator.Evaluate(ctx, request)
		}
		if err != nil {
			return provision{}, mistakes, ctx.Err()
		}
	}

	// The workload gets an answer for each resource that was made.
	out := provision{request: request, module: module.Name, nodes: map[object.ID]object.Pos{}}
	resources, _ := needed.Input.Get("resources")
	answers := make(map[string]resource.Answer, len(needed.Resources))
	for _, key := range needed.Resources {
		made, ok := result.Provisioned[key]
		if !ok {
			continue
		}
		made.Nodes = c.provisionedIn(needed.Context.Namespace, made.Nodes)
		answers[key] = resource.Answer{Result: made.JSON, Nodes: made.Nodes}
		wanted, _ := resources.Get(key)
		for _, n := range made.Nodes {
			out.nodes[n.ID] = wanted.Pos
		}
	}
	return out, slices.Concat(mistakes, result.Warnings, w.Answer(needed, answers)), nil
}
