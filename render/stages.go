// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// evaluate runs every spec. It gives the nodes of all that could be evaluated,
// sorted, the names of the specs that could not, and every mistake and
// warning. The error is only that of a cancelled context.
func (r Renderer) evaluate(ctx context.Context, req Request) (
	nodes []*object.Node, broken []string, mistakes Errors, err error,
) {
	joined, err := r.join(ctx, req)
	if err != nil {
		return nil, nil, nil, err
	}
	mistakes = joined.mistakes
	results := make([]evaluate.Result, len(req.Specs))
	failed := make([]error, len(req.Specs))
	var done atomic.Int64
	each(len(req.Specs), req.Parallel, func(i int) {
		if failed[i] = ctx.Err(); failed[i] != nil {
			return
		}
		results[i], failed[i] = r.spec(ctx, &req.Specs[i], joined)
		if n := done.Add(1); req.Progress != nil {
			req.Progress(int(n), len(req.Specs))
		}
	})
	for i, s := range req.Specs {
		if failed[i] != nil {
			if errors.Is(failed[i], context.Canceled) {
				return nil, nil, nil, failed[i]
			}
			broken = append(broken, s.Evaluate.Spec)
			if errors.Is(failed[i], errSaid) {
				continue
			}
			mistakes = append(mistakes, object.AsErrors(failed[i], object.StageEvaluate)...)
			continue
		}
		violations, err := r.violations(ctx, s, results[i])
		if err != nil {
			return nil, nil, nil, err
		}
		mistakes = append(append(mistakes, violations...), results[i].Warnings...)
		for _, n := range results[i].Nodes {
			if n.Apply.Adopt == "" {
				n.Apply.Adopt = s.Adopt
			}
			nodes = append(nodes, n)
		}
	}
	nodes = joined.placed(req, nodes)
	object.SortNodes(nodes)
	return nodes, broken, append(mistakes, joined.together(req.Specs)...), nil
}

// each calls do for 0..n-1 on at most parallel goroutines and waits. Where there
// is one at a time it starts none: that wakes a thread, which looks for more to
// do and finds nothing.
func each(n, parallel int, do func(i int)) {
	if min(parallel, n) <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(parallel, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// violations gives what the policies have against a spec the user's line.
func (r Renderer) violations(ctx context.Context, s Spec, result evaluate.Result) (Errors, error) {
	var queries []evaluate.Query
	for _, v := range result.Violations {
		queries = append(queries, evaluate.Query{Node: v.Node, Path: v.Path})
	}
	origins, err := r.trace(ctx, s, queries)
	if err != nil {
		return nil, err
	}
	input := s.Evaluate.Input
	if len(queries) > 0 && s.again != nil {
		c, err := s.again(ctx)
		if err != nil {
			return nil, err
		}
		input = c.input
	}
	var out Errors
	for i, v := range result.Violations {
		e := &Error{
			Stage: object.StageCheck, Severity: v.Severity, Policy: v.Policy,
			Node: v.Node, Path: v.Path.String(), Err: errors.New(v.Message),
		}
		if v.Node == "" {
			e.Pos = input.NearestPos(v.Path)
			e.Path = s.Evaluate.InputPath.Append(v.Path...).String()
		}
		place(e, s, origins[i])
		if v.PolicyPos.IsValid() {
			e.Notes = append(e.Notes, object.Note{Pos: v.PolicyPos, Text: "the policy says so here"})
		}
		out = append(out, e)
	}
	return out, nil
}

// check judges the nodes and gives every finding the user's line.
func (r Renderer) check(ctx context.Context, req Request, nodes []*object.Node) (Errors, error) {
	options := req.Check
	if options.Schemas == nil {
		options.Schemas = r.Schemas
	}
	bySpec := map[string][]check.Finding{}
	findings, err := check.New(options).Check(ctx, nodes)
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		bySpec[f.Node.Spec()] = append(bySpec[f.Node.Spec()], f)
	}
	if len(bySpec) == 0 {
		return nil, nil
	}
	written := make(map[object.ID]object.Pos, len(nodes))
	for _, n := range nodes {
		written[n.ID] = n.Pos
	}
	var out Errors
	for _, s := range req.Specs {
		found, err := r.locate(ctx, s, bySpec[s.Evaluate.Spec], written)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	// What is wrong with the schemas themselves belongs to no spec.
	for _, f := range bySpec[""] {
		out = append(out, finding(f))
	}
	return out, nil
}

// finding is f as an error that has no place yet.
func finding(f check.Finding) *Error {
	return &Error{
		Stage: object.StageCheck, Severity: f.Severity, Node: f.Node,
		Path: f.Path.String(), Err: errors.New(f.Message), Hint: f.Hint,
	}
}

// locate gives the findings of one spec the user's line; written holds the
// module's line of every node, for parts that no line can be found for.
func (r Renderer) locate(
	ctx context.Context, s Spec, findings []check.Finding, written map[object.ID]object.Pos,
) (Errors, error) {
	queries := make([]evaluate.Query, len(findings))
	for i, f := range findings {
		queries[i] = evaluate.Query{Node: f.Node, Path: f.Path}
	}
	origins, err := r.trace(ctx, s, queries)
	if err != nil {
		return nil, err
	}
	var out Errors
	for i, f := range findings {
		e := finding(f)
		if !origins[i].Module.IsValid() {
			origins[i].Module = written[f.Node]
		}
		place(e, s, origins[i])
		out = append(out, e)
	}
	return out, nil
}

// trace asks the evaluator where values come from; no question, no cost.
func (r Renderer) trace(ctx context.Context, s Spec, queries []evaluate.Query) ([]evaluate.Origin, error) {
	if len(queries) == 0 {
		return nil, nil
	}
	origins, err := r.Trace(ctx, s, queries)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	// An origin only makes a message better: where it cannot be had, the line
	// of the spec is still right.
	if err != nil || len(origins) != len(queries) {
		origins = make([]evaluate.Origin, len(queries))
	}
	return slices.Clone(origins), nil
}

// Trace tells where parts of the objects of a spec come from; s is one of
// [Result.Specs]. Origins are in the order of the queries; one that is not known
// is zero.
func (r Renderer) Trace(ctx context.Context, s Spec, queries []evaluate.Query) ([]evaluate.Origin, error) {
	if s.again == nil {
		return r.Evaluator.Trace(ctx, s.Evaluate, queries)
	}
	c, err := s.again(ctx)
	if err != nil {
		return nil, err
	}
	own := s.Evaluate
	own.Input = c.input
	out := make([]evaluate.Origin, len(queries))
	for _, request := range slices.Concat([]*evaluate.Request{&own}, c.asked) {
		var asked []evaluate.Query
		var at []int
		for i, q := range queries {
			made, ok := c.made[q.Node]
			if ok && made == request || !ok && request == &own {
				asked, at = append(asked, q), append(at, i)
			}
		}
		if len(asked) == 0 {
			continue
		}
		origins, err := r.Evaluator.Trace(ctx, *request, asked)
		if err != nil {
			return nil, err
		}
		for i, o := range origins {
			out[at[i]] = o
		}
	}
	return out, nil
}

// embedded is how the labels of modules begin that come with Ropewalk.
const embedded = "embedded:"

// place puts an error where it can be mended: at the input that the value was
// computed from, else at the line of the user's own module, else at the spec
// that chose a module of others.
func place(e *Error, s Spec, origin evaluate.Origin) {
	own := origin.Module.IsValid() && !strings.HasPrefix(s.Evaluate.Module.Label, embedded)
	switch {
	case origin.Input.IsValid():
		e.Pos = origin.Input
	case !e.Pos.IsValid() && own:
		e.Pos = origin.Module
		e.Notes = append(e.Notes, object.Note{Pos: s.Evaluate.Pos, Text: "the spec uses the module here"})
		return
	case !e.Pos.IsValid():
		e.Pos = s.Evaluate.Pos
	}
	if origin.Module.IsValid() {
		text := "the module writes it here"
		if len(origin.InputPath) > 0 && s.Workload == nil {
			path := s.Evaluate.InputPath.Append(origin.InputPath...)
			text = fmt.Sprintf("the module writes it here, from %s", path)
		}
		e.Notes = append(e.Notes, object.Note{Pos: origin.Module, Text: text})
	}
}
