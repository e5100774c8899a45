// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Components sends components that need kustomize or Helm to a pool of workers that have them,
// and everything else to Next. The pool is made when it is first needed.
type Components struct {
	Next evaluate.Evaluator
	// Foreign evaluates foreign modules in place of Next, where it is set.
	Foreign evaluate.Evaluator
	// Program returns the path of the program that serves workers with kustomize and Helm, or an
	// error that says why the program is missing.
	Program func() (string, error)
	// Options are the options of the pool; its Command is set here.
	Options Options

	once sync.Once
	pool *Pool
	err  error
}

var _ evaluate.Evaluator = (*Components)(nil)

// patience is the time of a few starts of a worker: small components of a render share the first
// worker, and large components are built side by side.
const patience = 100 * time.Millisecond

// Evaluate implements [evaluate.Evaluator]. Where there is no program, the error wraps
// component.ErrNoEngine.
func (c *Components) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	evaluator, err := c.evaluatorFor(req)
	if err != nil {
		return evaluate.Result{}, err
	}
	return evaluator.Evaluate(ctx, req)
}

// Trace implements [evaluate.Evaluator].
func (c *Components) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	evaluator, err := c.evaluatorFor(req)
	if err != nil {
		return nil, err
	}
	return evaluator.Trace(ctx, req, queries)
}

// Close ends the workers with kustomize and Helm. It does not close Next and Foreign.
func (c *Components) Close() error {
	c.once.Do(func() { c.err = evaluate.ErrClosed })
	if c.pool == nil {
		return nil
	}
	return c.pool.Close()
}

// evaluatorFor returns the evaluator of a request.
func (c *Components) evaluatorFor(req evaluate.Request) (evaluate.Evaluator, error) {
	build := req.Component
	needsEngine := req.Operation == evaluate.OpBuild && (build.Helm != nil || build.Kustomize != nil)
	if !needsEngine {
		if c.Foreign != nil && req.Foreign() {
			return c.Foreign, nil
		}
		return c.Next, nil
	}

	// The pool is made once, for the first request that needs it.
	c.once.Do(func() {
		opts := c.Options
		var program string
		program, c.err = c.Program()
		if c.err == nil {
			opts.Command = []string{program, Arg}
			opts.patience = patience
			c.pool, c.err = NewPool(opts)
		}
	})
	switch {
	case errors.Is(c.err, evaluate.ErrClosed):
		return nil, c.err
	case c.err != nil:
		err := diagnose.Because(component.ErrNoEngine, "%v", c.err)
		return nil, object.Errors{{Stage: object.StageEvaluate, Pos: build.Pos, Path: build.Path.String(), Err: err}}
	}
	return c.pool, nil
}
