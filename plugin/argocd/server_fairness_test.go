// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/source"
)

// of is the variables of an application of a project.
func of(project, app string) map[string]string {
	return map[string]string{"ARGOCD_APP_PROJECT_NAME": project, "ARGOCD_APP_NAME": app, "ARGOCD_ENV_ROPEWALK_SET": ""}
}

// TestADeadRegistryOfOneProjectStarvesNoOther has twelve applications of one project
// wait for a registry that does not answer: they hold half of the slots.
func TestADeadRegistryOfOneProjectStarvesNoOther(t *testing.T) {
	t.Parallel()
	opts := withFetcher(t, func(ctx context.Context, _ source.Ref) (source.Tree, error) {
		<-ctx.Done()
		return source.Tree{}, ctx.Err()
	})
	opts.Requests = 4
	s, socket := start(t, opts)
	good := archive(t, texts(projectOf("web")))
	ask := func(n int) error {
		env := of("good", "good")
		env["ARGOCD_ENV_ROPEWALK_SET"] = fmt.Sprintf("n=%d", n)
		_, err := generate(t, socket, call{archive: good, path: "apps/web", env: env})
		return err
	}
	require.NoError(t, ask(0))
	dead := archive(t, texts(withRef(`{type: oci, ref: "localhost:1/m:v1"}`)))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if _, err := generateIn(ctx, t, socket, call{archive: dead, path: "apps/web", env: of("evil", fmt.Sprint(i))}); err == nil {
				t.Error("there is no registry")
			}
		})
	}
	require.Eventually(t, func() bool { return s.requests.Stats().Waiting == 10 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 2, s.requests.Stats().Running)
	for n := range 20 {
		require.NoError(t, ask(n))
	}
	require.Equal(t, int64(12), s.metrics.inFlight.Load(), "they still wait")
	cancel()
	all.Wait()
	atRest(t, s)
}

// TestACachedEvaluationNeedsNoSlot renders a second time while no slot is free.
func TestACachedEvaluationNeedsNoSlot(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Workers, opts.Stores = 1, nil
	s, socket := start(t, opts)
	c := call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"}
	first, err := generate(t, socket, c)
	require.NoError(t, err)
	release, err := s.evaluations.Acquire(t.Context(), "other")
	require.NoError(t, err)
	defer release()
	again, err := generate(t, socket, c)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.EqualValues(t, 1, opts.Evaluations.Stats().Hits)
}

// TestModulesWithoutEndOfOneProjectStarveNoOther has three applications of one project
// whose modules never end, on two workers: one is left for others.
func TestModulesWithoutEndOfOneProjectStarveNoOther(t *testing.T) {
	t.Parallel()
	hang, err := os.ReadFile("../../render/evaluate/worker/testdata/hostile/long-range.cue")
	require.NoError(t, err)
	opts, _ := pooled(t, evaluate.Limits{Timeout: time.Minute})
	s, socket := start(t, opts)
	files := projectOf("web")
	for i := range 3 {
		files[fmt.Sprintf("bad%d/bad.yaml", i)] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: bad}\nspec: {cueRef: {type: path, ref: m}}\n"
		files[fmt.Sprintf("bad%d/m/m.cue", i)] = string(hang) + fmt.Sprintf("\n// %d\n", i)
	}
	packed := archive(t, texts(files))
	ask := func(n int) {
		env := of("good", fmt.Sprint("good", n))
		env["ARGOCD_ENV_ROPEWALK_SET"] = fmt.Sprintf("n=%d", n)
		if got, err := generate(t, socket, call{archive: packed, path: "apps/web", env: env}); err != nil || len(got) != 1 {
			t.Error(got, err)
		}
	}
	ask(0)
	ctx, cancel := context.WithCancel(t.Context())
	var bad, good sync.WaitGroup
	for i := range 3 {
		path := fmt.Sprintf("bad%d", i)
		bad.Go(func() { _, _ = generateIn(ctx, t, socket, call{archive: packed, path: path, env: of("evil", path)}) })
	}
	require.Eventually(t, func() bool { return s.evaluations.Stats().Running == 1 && s.evaluations.Stats().Waiting >= 1 }, 20*time.Second, time.Millisecond)
	for n := range 50 {
		good.Go(func() { ask(1 + n) })
	}
	good.Wait()
	require.Equal(t, int64(3), s.metrics.inFlight.Load(), "they still run or wait")
	cancel()
	bad.Wait()
	atRest(t, s)
}
