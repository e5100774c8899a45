// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/component/manifests"
	"github.com/ropewalk/ropewalk/render/component/overlay"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// buildComponent builds a spec that needs no CUE, and judges it as any other.
func (p *Evaluator) buildComponent(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	building := buildOf(req)
	engine := manifests.Build
	switch {
	case req.Component.Kustomize != nil:
		engine = p.kustomize
	case req.Component.Helm != nil:
		engine = p.helm
	}
	if engine == nil {
		return evaluate.Result{}, object.Errors{{
			Stage: object.StageEvaluate, Pos: req.Component.Pos, Path: req.Component.Path.String(), Err: component.ErrNoEngine,
		}}
	}

	// The objects of a chart may be changed by kustomize, and then by substitution.
	output, err := engine(ctx, building)
	if err == nil && req.Component.Helm != nil {
		output, err = component.PostRender(ctx, p.kustomize, building, output)
	}
	if err == nil {
		output, err = component.Substitute(building, output)
	}
	if err != nil {
		return evaluate.Result{}, err
	}
	result := evaluate.Result{Flavour: evaluate.FlavourComponent, Warnings: output.Warnings}
	result.Nodes, err = component.Nodes(building, output, req.Pos)
	if err != nil {
		return evaluate.Result{}, err
	}
	return p.finish(req, result)
}

// finish applies the overlays and then the policies, as the end of every evaluation.
func (p *Evaluator) finish(req evaluate.Request, result evaluate.Result) (evaluate.Result, error) {
	err := overlay.Apply(result.Nodes, req.Overlays)
	if err == nil {
		result.Violations, result.Undecided, err = p.judge(req, result.Nodes)
	}
	if err != nil {
		return evaluate.Result{}, err
	}
	return result, nil
}

// buildOf returns what an engine gets of a request.
func buildOf(req evaluate.Request) component.Request {
	return component.Request{
		Name: req.Spec, Component: *req.Component, FS: req.Module.FS, Dir: req.Module.Dir, Context: req.Context, At: req.Module.Position,
	}
}

// traceComponent finds the parts of objects in their files. For engines that compute objects, only
// the place of an object is known.
func (p *Evaluator) traceComponent(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	origins := make([]evaluate.Origin, len(queries))
	result, err := p.buildComponent(ctx, req)
	if err != nil {
		return origins, err
	}
	nodes := map[object.ID]*object.Node{}
	for _, n := range result.Nodes {
		nodes[n.ID] = n
	}
	parts := make([]manifests.Part, len(queries))
	for i, q := range queries {
		if n := nodes[q.Node]; n != nil {
			origins[i].Module = n.Pos
			parts[i] = manifests.Part{Ref: n.Object.Ref(), Path: q.Path}
		}
	}
	if req.Component.Manifests == nil {
		return origins, nil
	}
	for i, place := range manifests.Trace(ctx, buildOf(req), parts) {
		if place.Pos.IsValid() && parts[i].Ref != (object.Ref{}) {
			origins[i].Module, origins[i].Written = place.Pos, place.Written
		}
	}
	return origins, nil
}
