// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/source"
)

// of is the variables of an application of a project.
func of(project, app string) map[string]string {
	return map[string]string{"ARGOCD_APP_PROJECT_NAME": project, "ARGOCD_APP_NAME": app, "ARGOCD_ENV_ROPEWALK_SET": ""}
}

func TestAGoodApplicationIsQuickBesideDeadOnes(t *testing.T) {
	hang := func(ctx context.Context, _ source.Ref) (source.Tree, error) {
		<-ctx.Done()
		return source.Tree{}, ctx.Err()
	}
	refuse := func(context.Context, source.Ref) (source.Tree, error) {
		return source.Tree{}, source.Refuse(source.ErrUnavailable, "nothing listens there")
	}
	for name, fetch := range map[string]source.FetcherFunc{"whose registry refuses": refuse, "whose registry says nothing": hang} {
		t.Run(name, func(t *testing.T) {
			opts := withFetcher(t, fetch)
			opts.Renders = 4
			s, socket := start(t, opts)
			files := withRef(`{type: oci, ref: "localhost:1/m:v1"}`)
			dead := archive(t, texts(files))
			good := archive(t, texts(project("web")))
			ask := func() time.Duration {
				begin := time.Now()
				_, err := generate(t, socket, call{archive: good, path: "apps/web", env: of("good", "good")})
				require.NoError(t, err)
				return time.Since(begin)
			}
			ask()
			usual := ask()
			var all sync.WaitGroup
			for i := range 12 {
				all.Go(func() {
					_, err := generate(t, socket, call{archive: dead, path: "apps/web", timeout: 6 * time.Second, env: of("evil", fmt.Sprint(i))})
					if c := status.Code(err); c != codes.Unavailable && c != codes.DeadlineExceeded {
						t.Error(err)
					}
				})
			}
			require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 12 }, 5*time.Second, time.Millisecond)
			first := ask()
			time.Sleep(2 * time.Second)
			later := ask()
			t.Logf("usually %s, beside 12 dead ones at once %s, and later %s", usual, first, later)
			require.Less(t, first, usual+time.Second)
			require.Less(t, later, usual+500*time.Millisecond)
			all.Wait()
			atRest(t, s)
			require.Zero(t, s.parked.Used())
		})
	}
}

func TestWhoWaitsForARegistryIsBoundedInMemory(t *testing.T) {
	opts := withFetcher(t, func(ctx context.Context, _ source.Ref) (source.Tree, error) {
		<-ctx.Done()
		return source.Tree{}, context.Cause(ctx)
	})
	opts.Renders, opts.Parked = 8, 4*(stayCost+16<<10)
	s, socket := start(t, opts)
	dead := archive(t, texts(withRef(`{type: oci, ref: "localhost:1/m:v1"}`)))
	var refused atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := generate(t, socket, call{archive: dead, path: "apps/web", timeout: 3 * time.Second, env: of("evil", fmt.Sprint(i))})
			if status.Code(err) == codes.ResourceExhausted {
				require.ErrorContains(t, err, errStays.Error())
				refused.Add(1)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(6), refused.Load(), "one project has half of the memory")
	atRest(t, s)
	require.Zero(t, s.parked.Used())
}

func TestAHostWithoutAnAddressIsAskedTwice(t *testing.T) {
	var asked atomic.Int64
	_, socket := start(t, withFetcher(t, func(context.Context, source.Ref) (source.Tree, error) {
		asked.Add(1)
		return source.Tree{}, source.Refuse(source.ErrUnavailable, `the host "x" has no address: correct the name, or try again later`)
	}))
	begin := time.Now()
	c := fetched(t)
	c.timeout = time.Minute
	_, err := generate(t, socket, c)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, int64(2), asked.Load())
	require.Less(t, time.Since(begin), 5*time.Second)
}

// TestFiftyGoodOnesBesideModulesWithoutEnd has three applications of one project, and
// of the same one as the good ones, hold all workers.
func TestFiftyGoodOnesBesideModulesWithoutEnd(t *testing.T) {
	hang, err := os.ReadFile("../../render/evaluate/testdata/hostile/long-range.cue")
	require.NoError(t, err)
	for name, tenant := range map[string]string{"of another project": "evil", "of the same project": "good"} {
		t.Run(name, func(t *testing.T) {
			pool, err := evaluate.NewPool(evaluate.PoolOptions{Size: 2, Schemas: schemas()})
			require.NoError(t, err)
			t.Cleanup(func() { _ = pool.Close() })
			opts := options(t)
			opts.Renderer, opts.Stores = render.Renderer{Evaluator: Turns(pool, 2)}, nil
			opts.Renders, opts.Parallel = 4, 2
			opts.Limits = evaluate.Limits{Timeout: 15 * time.Second}
			s, socket := start(t, opts)
			files := project("web")
			for i := range 3 {
				files[fmt.Sprintf("bad%d/bad.yaml", i)] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: bad}\nspec: {cueRef: {type: path, ref: m}}\n"
				files[fmt.Sprintf("bad%d/m/m.cue", i)] = string(hang) + fmt.Sprintf("\n// %d\n", i)
			}
			packed := archive(t, texts(files))
			n := 0
			fifty := func() time.Duration {
				begin := time.Now()
				var all sync.WaitGroup
				for i := range 50 {
					env := of("good", fmt.Sprint("good", i))
					n++
					env["ARGOCD_ENV_ROPEWALK_SET"] = fmt.Sprintf("n=%d", n)
					all.Go(func() {
						if got, err := generate(t, socket, call{archive: packed, path: "apps/web", env: env}); err != nil || len(got) != 1 {
							t.Error(got, err)
						}
					})
				}
				all.Wait()
				return time.Since(begin)
			}
			fifty()
			usual := fifty()
			ctx, cancel := context.WithCancel(t.Context())
			var bad sync.WaitGroup
			for i := range 3 {
				bad.Go(func() {
					_, _ = generateIn(ctx, t, socket, call{archive: packed, path: fmt.Sprintf("bad%d", i), env: of(tenant, fmt.Sprint("bad", i))})
				})
			}
			require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 3 }, 5*time.Second, time.Millisecond)
			time.Sleep(100 * time.Millisecond)
			first, second, third := fifty(), fifty(), fifty()
			t.Logf("50 good ones usually %s, beside 3 without end %s, then %s and %s", usual, first, second, third)
			require.Less(t, first, 3*usual+3*time.Second, "what held the workers goes on for a second at most")
			require.Less(t, min(second, third), 3*usual+time.Second)
			cancel()
			bad.Wait()
			atRest(t, s)
		})
	}
}
