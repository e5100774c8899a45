// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resultcache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
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

func newCached(limit int64) (resultcache.Evaluator, *counting) {
	next := &counting{Evaluator: inprocess.New(inprocess.Options{})}
	return resultcache.Evaluator{Next: next, Results: resultcache.New(limit)}, next
}

func request(name string, line int) evaluate.Request {
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

func TestOnlyWhatChangedIsEvaluatedAgain(t *testing.T) {
	e, next := newCached(1 << 20)
	first, err := e.Evaluate(t.Context(), request("a", 1))
	require.NoError(t, err)
	first.Nodes[0].Apply.Adopt = object.AdoptNever // as a later stage does

	req := request("a", 1)
	req.Limits = evaluate.Limits{Timeout: time.Minute, Memory: 1 << 30}
	again, err := e.Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.EqualValues(t, 1, next.calls.Load(), "limits are not part of the key")
	require.Empty(t, again.Nodes[0].Apply.Adopt, "each caller has nodes of its own")
	require.Equal(t, first.Nodes[0].Object, again.Nodes[0].Object)

	moved, err := e.Evaluate(t.Context(), request("a", 2))
	require.NoError(t, err)
	require.EqualValues(t, 2, next.calls.Load(), "a position is part of the key")
	require.Equal(t, 2, moved.Nodes[0].SpecPos.Line)

	req = request("a", 1)
	req.Operation = evaluate.OpDescribe
	for range 2 {
		described, err := e.Evaluate(t.Context(), req)
		require.NoError(t, err)
		require.NotEmpty(t, described.Inputs)
	}
	require.EqualValues(t, 3, next.calls.Load(), "a description is another request")
	require.EqualValues(t, 2, e.Results.Stats().Hits)
}

func TestFailuresAndTheLeastRecentlyUsedAreNotKept(t *testing.T) {
	e, next := newCached(2000)
	bad := request("bad", 1)
	bad.Input = object.Value{Kind: object.KindMap}
	for range 2 {
		_, err := e.Evaluate(t.Context(), bad)
		require.Error(t, err)
	}
	require.EqualValues(t, 2, next.calls.Load())
	for i := range 100 {
		_, err := e.Evaluate(t.Context(), request(fmt.Sprintf("n%d", i), 1))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, e.Results.Stats().Cost, int64(2000))
	require.Positive(t, e.Results.Stats().Entries)
	before := next.calls.Load()
	_, err := e.Evaluate(t.Context(), request("n99", 1))
	require.NoError(t, err)
	require.Equal(t, before, next.calls.Load(), "the last is cached")
	_, err = e.Evaluate(t.Context(), request("n0", 1))
	require.NoError(t, err)
	require.Equal(t, before+1, next.calls.Load(), "the first is not")
}

func TestATreeWithoutADigestIsNotCached(t *testing.T) {
	e, next := newCached(1 << 20)
	req := request("a", 1)
	req.Module.Digest = ""
	for range 2 {
		_, err := e.Evaluate(t.Context(), req)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, next.calls.Load(), "nothing tells one from another")
	policy := request("a", 1)
	policy.Policies = []evaluate.Policy{{Name: "p", Module: evaluate.Module{FS: fstest.MapFS{}}}}
	for range 2 {
		_, err := e.Evaluate(t.Context(), policy)
		require.Error(t, err)
	}
	require.Zero(t, e.Results.Stats().Misses, "nor one policy from another")
}

func TestWithoutACacheEverythingIsEvaluated(t *testing.T) {
	e, next := newCached(0)
	for range 2 {
		_, err := e.Evaluate(t.Context(), request("a", 1))
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, next.calls.Load())
}

func TestAHitEndsWithItsContext(t *testing.T) {
	e, _ := newCached(1 << 20)
	_, err := e.Evaluate(t.Context(), request("a", 1))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Evaluate(ctx, request("a", 1))
	require.ErrorIs(t, err, context.Canceled)
}

func TestACacheServesManyAtOnce(t *testing.T) {
	e, _ := newCached(3000)
	errs := make([]error, 64)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			name := fmt.Sprintf("n%d", i%7)
			result, err := e.Evaluate(context.Background(), request(name, 1))
			if err == nil && result.Nodes[0].Object.Name() != name {
				err = errors.New("another result than that of " + name)
			}
			if errs[i] = err; err == nil {
				result.Nodes[0].Apply.Adopt = object.AdoptNever
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
