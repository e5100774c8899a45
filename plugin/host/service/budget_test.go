// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestLargeRendersFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		all := service.NewBudgets(800)
		small, first, second := all.Open("a"), all.Open("a"), all.Open("b")
		require.NoError(t, first.Charge(ctx, 100))
		require.NoError(t, first.Charge(ctx, 1), "it is large now")
		require.NoError(t, small.Charge(ctx, 100), "small ones do not wait")
		began := time.Now()
		go func() {
			time.Sleep(time.Minute)
			first.Close()
		}()
		require.NoError(t, second.Charge(ctx, 500))
		require.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, second.Charge(ctx, 300))
		err := second.Charge(ctx, 1)
		require.ErrorIs(t, err, evaluate.ErrLimit)
		require.ErrorContains(t, err, "raise --memory-total")

		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		require.ErrorIs(t, small.Charge(limited, 1), context.DeadlineExceeded)
		require.Zero(t, all.Waiting())
		second.Close()
		small.Close()
		require.NoError(t, service.NewBudgets(0).Open("a").Charge(ctx, 1<<60), "zero is no limit")
	})
}

// produces evaluates to an object of so many bytes.
type produces struct {
	evaluate.Evaluator
	size int
}

func (p produces) Evaluate(context.Context, evaluate.Request) (evaluate.Result, error) {
	return evaluate.Result{Nodes: []*object.Node{{ID: "a/b", Object: object.Object{"data": strings.Repeat("x", p.size)}}}}, nil
}

func TestObjectsCountAgainstTheBudgetOfARender(t *testing.T) {
	t.Parallel()
	budget := service.NewBudgets(10_000).Open("a")
	e := budget.Evaluator(produces{size: 6000})
	req := evaluate.Request{Pos: object.Pos{File: "s.yaml", Line: 3}}
	out, err := e.Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, out.Nodes, 1)
	_, err = e.Evaluate(t.Context(), req)
	require.ErrorIs(t, err, evaluate.ErrLimit)
	require.ErrorContains(t, err, "s.yaml:3: evaluate: over the limit: the documents, modules and objects")
}
