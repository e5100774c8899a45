// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestChartsNeedAProgramOfTheSameRelease(t *testing.T) {
	at := object.Pos{File: "shop.yaml", Line: 4, Column: 3}
	chart := evaluate.Request{Spec: "shop", Pos: at, Operation: evaluate.OpBuild, Component: &spec.Component{Pos: at, Path: object.Fields("spec", "helm"), Helm: &spec.Helm{}}}
	missing := &Components{Next: inprocess.New(inprocess.Options{}), Program: func() (string, error) { return "", errors.New("look in the archive") }}
	_, err := missing.Evaluate(t.Context(), chart)
	require.ErrorIs(t, err, component.ErrNoEngine)
	require.EqualError(t, err, "shop.yaml:4:3: evaluate: spec.helm: look in the archive")
	result, err := missing.Evaluate(t.Context(), ask(goodModule))
	require.NoError(t, err)
	require.Len(t, result.Nodes, 1)
	require.NoError(t, missing.Close())

	self, err := os.Executable()
	require.NoError(t, err)
	other := &Components{Program: func() (string, error) { return self, nil }, Options: Options{Size: 1, Release: "v2.0.0"}}
	_, err = other.Evaluate(t.Context(), chart)
	require.ErrorContains(t, err, `cannot be used: the program is of release "", and this one of "v2.0.0" (install both of the same release)`)
	require.NoError(t, other.Close())
	_, err = other.Evaluate(t.Context(), chart)
	require.ErrorIs(t, err, evaluate.ErrClosed)

	same := &Components{Program: func() (string, error) { return self, nil }, Options: Options{Size: 1}}
	_, err = same.Evaluate(t.Context(), chart)
	require.ErrorContains(t, err, component.ErrNoEngine.Error(), "the program of this test has no Helm")
	require.NoError(t, same.Close())
}

// TestComponentsShareAWorkerUntilOneIsSlow holds that a render of small components starts one
// process, and that one which goes on for long does not hold up the others.
func TestComponentsShareAWorkerUntilOneIsSlow(t *testing.T) {
	pool := newTestPool(t, Options{Size: 2, Timeout: 10 * time.Second, Strikes: -1, patience: 500 * time.Millisecond})
	small := func(digest string) evaluate.Request {
		req := ask(goodModule)
		req.Module.Digest, req.Component = digest, &spec.Component{Manifests: &spec.Manifests{}}
		return req
	}
	_, _ = pool.Evaluate(t.Context(), small("first"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { _, _ = pool.Evaluate(t.Context(), small(strconv.Itoa(i))) })
	}
	all.Wait()
	require.Equal(t, 1, pool.Stats().Started)

	ctx, cancel := context.WithCancel(t.Context())
	all.Go(func() { _, _ = pool.Evaluate(ctx, ask(hangs)) })
	require.Eventually(t, func() bool { return len(pool.running) == cap(pool.running) }, 5*time.Second, time.Millisecond)
	_, _ = pool.Evaluate(t.Context(), small("next"))
	require.Equal(t, 2, pool.Stats().Started)
	require.Zero(t, pool.Stats().Killed, "the slow one goes on")
	cancel()
	all.Wait()
}

func TestForeignModulesAreEvaluatedInWorkers(t *testing.T) {
	pool := newTestPool(t, Options{Size: 1})
	c := &Components{Next: inprocess.New(inprocess.Options{}), Foreign: pool}
	foreign := evaluate.Module{Foreign: true}
	older := oneFile(goodModule)
	older.Foreign = true
	for name, req := range map[string]evaluate.Request{
		"a module":         {Module: foreign},
		"a policy":         {Policies: []evaluate.Policy{{Module: foreign}}},
		"an older version": {Older: &older},
	} {
		to, err := c.evaluatorFor(req)
		require.NoError(t, err)
		require.Same(t, pool, to, name)
	}
	_, err := c.Evaluate(t.Context(), ask(goodModule))
	require.NoError(t, err)
	require.Zero(t, pool.Stats().Started, "the user's own needs no process")
	req := ask(goodModule)
	req.Module.Foreign = true
	_, err = c.Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, 1, pool.Stats().Started)
	require.NoError(t, c.Close())
}
