// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// counting counts what reaches the evaluator behind it.
type counting struct {
	evaluate.Evaluator
	calls atomic.Int64
}

func (c *counting) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	c.calls.Add(1)
	return c.Evaluator.Evaluate(ctx, req)
}

func rememberRequest(name string, line int) evaluate.Request {
	return evaluate.Request{
		Spec: name, Pos: object.Pos{File: name + ".yaml", Line: line, Column: 1},
		Module: evaluate.Module{Digest: "sha256:m", Label: "m", FS: fstest.MapFS{"m.cue": {Data: []byte(
			"package m\nropewalk: apiVersion: \"v1alpha1\"\ninput: replicas: int\ncontext: {...}\n" +
				"graph: nodes: a: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name, " +
				"data: n: \"\\(input.replicas)\"}\n")}}},
		Input: object.Value{Kind: object.KindMap, Members: []object.Member{
			{Name: "replicas", Value: object.Value{Kind: object.KindNumber, Text: "3"}},
		}},
		Context: object.Context{Name: name, Namespace: "default", Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local"},
	}
}

func TestAMemoryEvaluatesWhatHasChangedAndNothingElse(t *testing.T) {
	behind := &counting{Evaluator: evaluate.NewInProcess(evaluate.Options{})}
	m := evaluate.Remember(behind, 1<<20)
	first, err := m.Evaluate(t.Context(), rememberRequest("a", 1))
	require.NoError(t, err)
	first.Nodes[0].Apply.Adopt = object.AdoptNever // as a later stage does

	again, err := m.Evaluate(t.Context(), rememberRequest("a", 1))
	require.NoError(t, err)
	require.EqualValues(t, 1, behind.calls.Load())
	require.Empty(t, again.Nodes[0].Apply.Adopt, "what a caller does to its nodes is its own")
	require.Equal(t, first.Nodes[0].Object, again.Nodes[0].Object)

	moved, err := m.Evaluate(t.Context(), rememberRequest("a", 2))
	require.NoError(t, err)
	require.EqualValues(t, 2, behind.calls.Load(), "a place is part of the request")
	require.Equal(t, 2, moved.Nodes[0].SpecPos.Line)
	require.Equal(t, 1, m.Stats().Hits)
}

func TestAMemoryForgetsFailuresAndWhatWasNotUsedForLongest(t *testing.T) {
	behind := &counting{Evaluator: evaluate.NewInProcess(evaluate.Options{})}
	m := evaluate.Remember(behind, 2000)
	bad := rememberRequest("bad", 1)
	bad.Input = object.Value{Kind: object.KindMap}
	for range 2 {
		_, err := m.Evaluate(t.Context(), bad)
		require.Error(t, err)
	}
	require.EqualValues(t, 2, behind.calls.Load())
	for i := range 100 {
		_, err := m.Evaluate(t.Context(), rememberRequest(fmt.Sprintf("n%d", i), 1))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, m.Stats().Bytes, int64(2000))
	require.Positive(t, m.Stats().Entries)
	before := behind.calls.Load()
	_, err := m.Evaluate(t.Context(), rememberRequest("n99", 1))
	require.NoError(t, err)
	require.Equal(t, before, behind.calls.Load(), "the last is there")
	_, err = m.Evaluate(t.Context(), rememberRequest("n0", 1))
	require.NoError(t, err)
	require.Equal(t, before+1, behind.calls.Load(), "the first is not")
}

func TestAMemoryServesManyAtOnce(t *testing.T) {
	m := evaluate.Remember(evaluate.NewInProcess(evaluate.Options{}), 3000)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			name := fmt.Sprintf("n%d", i%7)
			result, err := m.Evaluate(context.Background(), rememberRequest(name, 1))
			if err != nil || result.Nodes[0].Object.Name() != name {
				panic(fmt.Sprint("wrong result ", err))
			}
			result.Nodes[0].Apply.Adopt = object.AdoptNever
		})
	}
	wg.Wait()
}
