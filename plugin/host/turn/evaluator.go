// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Evaluator is another one whose evaluations take turns.
type Evaluator struct {
	// Next evaluates.
	Next evaluate.Evaluator
	// Run runs work when it is its turn, as [Queue.Run] does: whose turn it is follows
	// from the context. What work gave counts that was run last.
	Run func(ctx context.Context, work func(ctx context.Context) error) error
}

var _ evaluate.Evaluator = Evaluator{}

// Evaluate implements evaluate.Evaluator.
func (e Evaluator) Evaluate(ctx context.Context, req evaluate.Request) (out evaluate.Result, err error) {
	err = e.Run(ctx, func(ctx context.Context) (err error) {
		out, err = e.Next.Evaluate(ctx, req)
		return err
	})
	return out, err
}

// Trace implements evaluate.Evaluator.
func (e Evaluator) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) (out []evaluate.Origin, err error) {
	err = e.Run(ctx, func(ctx context.Context) (err error) {
		out, err = e.Next.Trace(ctx, req, queries)
		return err
	})
	return out, err
}
