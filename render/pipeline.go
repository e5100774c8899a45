// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
)

// Renderer runs the pipeline. It is safe for concurrent use.
type Renderer struct {
	// Evaluator evaluates modules: the user's own in process, foreign modules in
	// workers.
	Evaluator evaluate.Evaluator
	// Schemas caches compiled schemas from render to render. A process that renders
	// more than once shares one between its Renderers; nil disables the cache.
	Schemas *check.Schemas
}

// NewRenderer returns a renderer for several renders, with a cache of schemas.
func NewRenderer(evaluator evaluate.Evaluator) Renderer {
	return Renderer{Evaluator: evaluator, Schemas: &check.Schemas{}}
}

// Render runs every stage. The error is an [Errors] with every mistake that
// was found, sorted by position, or wraps context.Canceled.
//
// Mistakes that do not hide each other are reported in one run: a spec that cannot be
// evaluated does not keep the others from being joined and checked.
//
// No error and no warning shows a secret, see [object.Secrets].
func (r Renderer) Render(ctx context.Context, req Request) (Result, error) {
	secrets := &object.Secrets{}
	out, err := r.render(ctx, req, secrets)
	if err == nil && len(out.Warnings) == 0 {
		return out, nil
	}
	for _, s := range req.Specs {
		if s.Gateway {
			secrets.AddGateway(s.Evaluate.Input)
			continue
		}
		secrets.AddNamed(s.Evaluate.Input)
	}
	if req.Secrets != nil {
		req.Secrets(secrets)
	}
	var mistakes Errors
	if errors.As(err, &mistakes) {
		err = secrets.Errors(mistakes)
	}
	out.Warnings = secrets.Errors(out.Warnings)
	return out, err
}

// render runs the stages of Render, and adds the secrets that it finds to secrets.
func (r Renderer) render(ctx context.Context, req Request, secrets *object.Secrets) (Result, error) {
	d, err := dialect.Find(req.Emit.Dialect)
	if err != nil {
		return Result{}, Errors{{Stage: object.StageOrder, Err: err}}
	}

	// Evaluate all specs.
	c, err := r.newCompiler(ctx, req)
	if err != nil {
		return Result{}, err
	}
	evaluated, err := c.evaluate(ctx)
	if err != nil {
		return Result{}, err
	}

	// Put their nodes into namespaces, and into the preview if there is one.
	nodes := evaluated.nodes
	nodes = c.withNamespaces(nodes, d.NeedsNamespace)
	nodes, moved, err := c.moveToPreview(ctx, nodes)
	if err != nil {
		return Result{}, err
	}

	// Sort the nodes, and collect the secrets that messages must not show.
	object.SortNodes(nodes)
	for _, n := range nodes {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		secrets.AddNode(n)
	}

	// Build the graph of the applied objects.
	applied := c.checker(req).Applied(nodes)
	mistakes := slices.Concat(
		req.Mistakes, evaluated.mistakes, moved, unusedPatterns(req, nodes, evaluated.broken),
		c.reportTwice(applied), recordLoosened(req.Specs), gateway.CheckSecrets(c.gateways, nodes),
	)

	g, err := graph.Build(applied, dependencies(req.Specs, slices.Concat(evaluated.broken, req.Broken)))
	mistakes = append(mistakes, object.AsErrors(err, object.StageGraph)...)
	if err := ctx.Err(); err != nil && mistakes.Err() == nil { // Mistakes would explain what took the time.
		return Result{}, err
	}

	// No stage takes long for a render within the limits, but all of them together do.
	findings, err := c.check(ctx, nodes)
	if err != nil {
		return Result{}, err
	}
	mistakes = append(mistakes, evaluated.withoutFound(findings)...)
	mistakes = append(mistakes, findings...).Sorted()
	if mistakes.Err() != nil {
		return Result{}, mistakes
	}

	// Order the objects and write them.
	plan := order.New(g, d)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	mistakes = slices.Concat(mistakes, g.Warnings, plan.Warnings)
	written, err := emit.Write(plan, req.Emit)
	mistakes = append(mistakes, object.AsErrors(err, object.StageEmit)...)
	mistakes = append(mistakes, written.Warnings...).Sorted()
	if req.Strict {
		mistakes = raiseWarnings(mistakes)
	}
	if mistakes.Err() != nil {
		return Result{}, mistakes
	}
	return Result{
		Files: written.Files, Plan: plan, Layers: written.Layers,
		Warnings: mistakes, Sources: sources(req.Specs), Provisioned: evaluated.provisioned,
		Existing: evaluated.existing, Calls: evaluated.calls,
	}, nil
}

// raiseWarnings turns warnings into errors. Notes are unchanged.
func raiseWarnings(warnings Errors) Errors {
	out := make(Errors, len(warnings))
	for i, w := range warnings {
		e := *w
		if e.Severity == object.SeverityWarning {
			e.Severity = object.SeverityError
		}
		out[i] = &e
	}
	return out
}

// dependencies returns the specs in the form of the graph, sorted by name.
func dependencies(specs []Spec, broken []string) []graph.Spec {
	isBroken := map[string]bool{}
	for _, name := range broken {
		isBroken[name] = true
	}
	seen := map[string]bool{}
	var out []graph.Spec
	for _, s := range specs {
		name := s.Evaluate.Spec
		out = append(out, graph.Spec{Name: name, Pos: s.Evaluate.Pos, DependsOn: s.DependsOn, Broken: isBroken[name]})
		seen[name] = true
	}
	for name := range isBroken {
		if !seen[name] {
			out = append(out, graph.Spec{Name: name, Broken: true})
		}
	}
	slices.SortFunc(out, func(a, b graph.Spec) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sources returns the provenance of a request, sorted by spec.
func sources(specs []Spec) []Source {
	out := make([]Source, 0, len(specs))
	for _, s := range specs {
		out = append(append(out, s.Source), s.Policies...)
	}
	slices.SortStableFunc(out, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Spec, b.Spec), cmp.Compare(a.Policy, b.Policy),
			cmp.Compare(a.Provisioners, b.Provisioners), cmp.Compare(a.Part, b.Part))
	})
	return out
}
