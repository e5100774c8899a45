// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Limited is an evaluator whose evaluations wait for a slot of their tenant; an adapter
// makes one for each request. The deadline of an evaluation starts when it has a slot.
type Limited struct {
	Next    evaluate.Evaluator
	Limiter *limiter.Limiter
	// Tenant is a namespace, or a project of Argo CD.
	Tenant string
}

var _ evaluate.Evaluator = Limited{}

// Evaluate implements evaluate.Evaluator.
func (l Limited) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	release, err := l.Limiter.Acquire(ctx, l.Tenant)
	if err != nil {
		return evaluate.Result{}, err
	}
	defer release()
	return l.Next.Evaluate(ctx, req)
}

// Trace implements evaluate.Evaluator.
func (l Limited) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	release, err := l.Limiter.Acquire(ctx, l.Tenant)
	if err != nil {
		return nil, err
	}
	defer release()
	return l.Next.Trace(ctx, req, queries)
}
