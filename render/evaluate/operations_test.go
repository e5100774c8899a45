// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// recorder answers each request with one result, and an error beside it.
type recorder struct {
	asked  evaluate.Request
	answer evaluate.Result
	err    error
}

func (r *recorder) Evaluate(_ context.Context, req evaluate.Request) (evaluate.Result, error) {
	r.asked = req
	return r.answer, r.err
}

func (r *recorder) Trace(context.Context, evaluate.Request, []evaluate.Query) ([]evaluate.Origin, error) {
	return nil, errors.New("an operation traces nothing")
}

// Each operation asks for itself with all of its subject, and returns its own part of the result,
// of which what could be read stays beside an error.
func TestEachOperationHasItsInputAndItsResult(t *testing.T) {
	subject := evaluate.Subject{
		Spec: "web", Pos: object.Pos{File: "a.yaml", Line: 1}, Module: evaluate.Module{Digest: "new", Foreign: true},
		Context: object.Context{Name: "web"}, Limits: evaluate.Limits{Memory: 1},
	}
	want := evaluate.Result{
		Catalog: []evaluate.Provisioner{{Type: "a"}}, Inputs: []evaluate.Input{{Doc: "b"}}, Inspection: &evaluate.Inspection{},
		Comparison: evaluate.Comparison{NewerKind: "Policy"}, Values: object.TextAt("c", object.Pos{}), Bundle: &evaluate.Bundle{},
	}
	cases := []object.Value{object.TextAt("d", object.Pos{})}
	for op, ask := range map[evaluate.Operation]func(e evaluate.Evaluator) (got, part any, err error){
		evaluate.OpCatalog: func(e evaluate.Evaluator) (any, any, error) {
			got, err := evaluate.ListProvisioners(t.Context(), e, subject)
			return got, want.Catalog, err
		},
		evaluate.OpDescribe: func(e evaluate.Evaluator) (any, any, error) {
			got, err := evaluate.Describe(t.Context(), e, subject)
			return got, want.Inputs, err
		},
		evaluate.OpInspect: func(e evaluate.Evaluator) (any, any, error) {
			got, err := evaluate.Inspect(t.Context(), e, subject, cases)
			return got, want.Inspection, err
		},
		evaluate.OpCompare: func(e evaluate.Evaluator) (any, any, error) {
			got, err := evaluate.Compare(t.Context(), e, subject, evaluate.Module{Digest: "old"})
			return got, want.Comparison, err
		},
		evaluate.OpValues: func(e evaluate.Evaluator) (any, any, error) {
			got, err := evaluate.ReadValues(t.Context(), e, subject)
			return got, want.Values, err
		},
		evaluate.OpBundle: func(e evaluate.Evaluator) (any, any, error) {
			got, err := evaluate.ReadBundle(t.Context(), e, subject, evaluate.BundleFiles{})
			return got, want.Bundle, err
		},
	} {
		r := &recorder{answer: want, err: errors.New("a part is wrong")}
		got, part, err := ask(r)
		require.EqualError(t, err, "a part is wrong")
		require.Equal(t, part, got, op)
		require.Equal(t, op, r.asked.Operation)
		require.Equal(t, subject, evaluate.Subject{
			Spec: r.asked.Spec, Pos: r.asked.Pos, Module: r.asked.Module, Context: r.asked.Context, Limits: r.asked.Limits,
		}, op)
		require.Equal(t, op == evaluate.OpCompare, r.asked.Older != nil && r.asked.Older.Digest == "old", op)
		require.Equal(t, op == evaluate.OpInspect, len(r.asked.Cases) == 1, op)
		require.Equal(t, op == evaluate.OpBundle, r.asked.Bundle != nil, op)
	}
}
