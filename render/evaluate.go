// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload"
)

// evaluated is the result of evaluating the specs of a request.
type evaluated struct {
	nodes []*object.Node
	// broken names the specs that could not be evaluated.
	broken []string
	// mistakes holds errors and warnings.
	mistakes Errors
	// undecided are mistakes of policies that could not reach a verdict, by spec.
	undecided   map[string]Errors
	provisioned map[object.ID]string
	existing    []workload.Existing
	calls       []Call
}

// outcome is the result of evaluating one spec.
type outcome struct {
	evaluate.Result
	err error
	// compiled is set for a workload; its nodes are in Result already.
	compiled workload.Compiled
	// provisioned maps the nodes of provisioners to the name of their module.
	provisioned map[object.ID]string
	// refused is the mistake of a module of workloads that rejects the input of every
	// workload, because it is made for something else.
	refused *Error
}

// evaluate runs every spec. It returns an error only if the context is cancelled.
func (c *compiler) evaluate(ctx context.Context) (evaluated, error) {
	specs := c.req.Specs
	outcomes := make([]outcome, len(specs))
	var done, values atomic.Int64
	checkTotal := func(i int) error { return specs[i].Evaluate.Limits.CheckValues(int(values.Load()), "the objects") }

	// Specs are evaluated in parallel, until the objects are too many.
	each(len(specs), c.req.Parallel, func(i int) {
		outcomes[i].err = cmp.Or(ctx.Err(), checkTotal(i))
		if outcomes[i].err != nil {
			return
		}
		outcomes[i] = c.evaluateSpec(ctx, specs[i])
		for _, n := range outcomes[i].Nodes {
			values.Add(int64(n.Object.Values()))
		}
		if n := done.Add(1); c.req.Progress != nil {
			c.req.Progress(int(n), len(specs))
		}
	})
	if len(specs) > 0 && checkTotal(0) != nil { // Chance decides which spec exceeds the limit.
		return evaluated{}, object.Errors{{Stage: object.StageEvaluate, Err: checkTotal(0)}}
	}

	// Outcomes are collected in the order of the specs. A spec that failed does not keep the others
	// from being checked.
	out := evaluated{mistakes: c.mistakes, undecided: map[string]Errors{}, provisioned: map[object.ID]string{}}
	for i, s := range specs {
		o := outcomes[i]
		switch {
		case errors.Is(o.err, context.Canceled):
			return evaluated{}, o.err
		case o.err != nil:
			out.broken = append(out.broken, s.Evaluate.Spec)
			if !errors.Is(o.err, errReported) {
				out.mistakes = append(out.mistakes, object.AsErrors(o.err, object.StageEvaluate)...)
			}
			continue
		}

		// Later stages need the calls and the resources of a workload.
		out.existing = append(out.existing, o.compiled.Existing...)
		for _, caller := range o.compiled.Callers {
			out.calls = append(out.calls, Call{From: caller, To: s.Evaluate.Spec})
		}

		// Policies and modules have mistakes and warnings of their own.
		violations, err := c.placeViolations(ctx, s, o.Violations)
		if err != nil {
			return evaluated{}, err
		}
		out.mistakes = append(append(out.mistakes, violations...), o.Warnings...)
		out.undecided[s.Evaluate.Spec] = s.loosenedUndecided(o.Undecided)
		if len(o.Nodes) == 0 && len(specs) > 1 && !s.Evaluate.AllowEmpty { // An empty render is rejected later.
			out.mistakes = append(out.mistakes, &object.Error{
				Stage: object.StageEvaluate, Severity: object.SeverityWarning, Pos: s.Evaluate.Pos,
				Err:  fmt.Errorf("spec %q makes no objects: an engine that prunes deletes what it made before", s.Evaluate.Spec),
				Hint: "add --allow-empty if that is meant",
			})
		}

		// A node is adopted as its spec says, unless its module decides.
		for _, n := range o.Nodes {
			if n.Apply.Adopt == "" {
				n.Apply.Adopt = s.Adopt
			}
			out.nodes = append(out.nodes, n)
		}
		for id, name := range o.provisioned {
			out.provisioned[id] = name
		}
	}

	// Some mistakes concern all specs together.
	hintOnce(out.mistakes)
	out.mistakes = append(out.mistakes, c.shared(outcomes)...)
	return out, nil
}

// withoutFound returns the mistakes of policies that could not reach a verdict, except for specs in
// whose objects the check found errors: a number that is text is one mistake, and not a mistake of
// each policy that calculates with it.
func (e evaluated) withoutFound(findings Errors) (out Errors) {
	found := map[string]bool{}
	for _, f := range findings.Failures() {
		found[f.Node.Spec()] = true
	}
	for _, spec := range object.SortedKeys(e.undecided) {
		if !found[spec] {
			out = append(out, e.undecided[spec]...)
		}
	}
	return out
}

// each calls do for 0 to n-1 on at most parallel goroutines, and waits for them. A single call at a
// time needs no goroutine, which would wake a thread.
func each(n, parallel int, do func(i int)) {
	if min(parallel, n) <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var panicked atomic.Pointer[crash.Panic]
	var wg sync.WaitGroup
	for range min(parallel, n) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(crash.Of(p))
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
	if p := panicked.Load(); p != nil {
		panic(p) // The caller recovers from it, which is impossible in another goroutine.
	}
}
