// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"sync"

	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// large is the part of a limit from which on a render is large: eight that are smaller fit
// beside each other.
const large = 8

// Budgets bound what renders take of the memory of a process that renders for several
// tenants: documents, inputs, modules and objects, which the workers of evaluations do not
// hold. Large renders follow each other, in the rotation of package limiter. It is safe for
// concurrent use.
type Budgets struct {
	limit   int64
	limiter *limiter.Limiter
}

// NewBudgets returns budgets of limit bytes for each render; 0 is no limit.
func NewBudgets(limit int64) *Budgets {
	return &Budgets{limit: limit, limiter: limiter.New(limiter.Options{Slots: 1})}
}

// Waiting returns how many large renders wait for another one.
func (b *Budgets) Waiting() int { return b.limiter.Stats().Waiting }

// Open returns the budget of one render. The caller calls Close.
func (b *Budgets) Open(tenant string) *Budget { return &Budget{of: b, tenant: tenant} }

// Budget is that of one render. It is safe for concurrent use.
type Budget struct {
	of     *Budgets
	tenant string

	mutex   sync.Mutex
	used    int64
	release func()
}

// Charge counts bytes, and waits for other large renders if this one becomes large. The error is
// evaluate.ErrLimit, or that of ctx.
func (b *Budget) Charge(ctx context.Context, bytes int64) (err error) {
	if b.of.limit == 0 {
		return nil
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.used += bytes
	switch {
	case b.used > b.of.limit:
		return fmt.Errorf("%w: the documents, modules and objects of the render take more than %d MiB: "+
			"split it into several, or raise --memory-total", evaluate.ErrLimit, b.of.limit>>20)
	case b.used > b.of.limit/large && b.release == nil:
		b.release, err = b.of.limiter.Acquire(ctx, b.tenant)
	}
	return err
}

// Close ends the render, so that the next large one goes on.
func (b *Budget) Close() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.release != nil {
		b.release()
	}
}

// Evaluator returns next with its results charged to the budget.
func (b *Budget) Evaluator(next evaluate.Evaluator) evaluate.Evaluator { return charged{next, b} }

type charged struct {
	evaluate.Evaluator
	budget *Budget
}

var _ evaluate.Evaluator = charged{}

// Evaluate implements evaluate.Evaluator.
func (c charged) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	out, err := c.Evaluator.Evaluate(ctx, req)
	if err != nil {
		return out, err
	}
	size := out.Values.Size()
	for _, n := range out.Nodes {
		size += n.Object.Size()
	}
	for _, p := range out.Provisioned {
		for _, n := range p.Nodes {
			size += n.Object.Size()
		}
	}
	if err := c.budget.Charge(ctx, size); err != nil {
		return evaluate.Result{}, object.Errors{{Stage: object.StageEvaluate, Pos: req.Pos, Err: err}}
	}
	return out, nil
}
