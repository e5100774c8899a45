// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"os"
	"slices"
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

// TestAGoodApplicationIsQuickBesideDeadOnes asks beside twelve that wait for a registry,
// at once and two seconds later. What else the machine does must be no part of it: each
// round measures alone, beside them, and alone again, and the one in the middle of three
// counts.
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
			good := archive(t, texts(project("web")))
			ask := func() time.Duration {
				begin := time.Now()
				_, err := generate(t, socket, call{archive: good, path: "apps/web", env: of("good", "good")})
				require.NoError(t, err)
				return time.Since(begin)
			}
			ask()
			var firsts, laters []time.Duration // what is above the usual
			for range 3 {
				before := ask()
				end := twelveDead(t, s, socket)
				first := ask()
				time.Sleep(2 * time.Second)
				later := ask()
				end(len(firsts) == 2)
				after := ask()
				t.Logf("usually %s and %s, beside 12 dead ones at once %s, and later %s", before, after, first, later)
				usual := (before + after) / 2
				firsts, laters = append(firsts, first-usual), append(laters, later-usual)
			}
			slices.Sort(firsts)
			slices.Sort(laters)
			require.Less(t, firsts[1], time.Second)
			require.Less(t, laters[1], 500*time.Millisecond)
			require.Zero(t, s.parked.Used())
		})
	}
}

// twelveDead asks for as many applications that wait for a registry. End ends them, or
// waits until they are told so.
func twelveDead(t *testing.T, s *Server, socket string) (end func(told bool)) {
	t.Helper()
	packed := archive(t, texts(withRef(`{type: oci, ref: "localhost:1/m:v1"}`)))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			_, err := generateIn(ctx, t, socket, call{archive: packed, path: "apps/web", timeout: 6 * time.Second, env: of("evil", fmt.Sprint(i))})
			if c := status.Code(err); ctx.Err() == nil && c != codes.Unavailable && c != codes.DeadlineExceeded {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 12 }, 5*time.Second, time.Millisecond)
	return func(told bool) {
		if !told {
			cancel()
		}
		all.Wait()
		cancel()
		atRest(t, s)
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
// of the same one as the good ones, hold all workers. What else the machine does must be
// no part of it: each round measures alone, beside them, and alone again, a round in
// which the machine was not as busy at its end as at its begin is measured anew, up to
// many times, and the one in the middle of three counts.
func TestFiftyGoodOnesBesideModulesWithoutEnd(t *testing.T) {
	for name, tenant := range map[string]string{"of another project": "evil", "of the same project": "good"} {
		t.Run(name, func(t *testing.T) {
			const most = 18
			w := newWithoutEnd(t, tenant, 3*most)
			w.fifty(t)
			var firsts, laters []time.Duration // what is above three times the usual
			for again := 0; len(firsts) < 3; again++ {
				before := w.fifty(t)
				first, later := w.beside(t, again)
				w.fifty(t) // Workers are started again.
				after := w.fifty(t)
				t.Logf("50 good ones alone %s and %s, beside 3 without end %s, then %s", before, after, first, later)
				if max(before, after) > 3*min(before, after)/2 && again < most-3 {
					continue // The machine had other things to do.
				}
				usual := (before + after) / 2
				firsts, laters = append(firsts, first-3*usual), append(laters, later-3*usual)
			}
			slices.Sort(firsts)
			slices.Sort(laters)
			require.Less(t, firsts[1], 3*time.Second, "what held the workers goes on for a second at most")
			require.Less(t, laters[1], time.Second)
			atRest(t, w.server)
		})
	}
}

// withoutEnd is a server with two workers, and an archive with a good application and
// some whose modules have no end, no two of them the same.
type withoutEnd struct {
	server         *Server
	socket, tenant string
	packed         []byte
	asked          int
}

func newWithoutEnd(t *testing.T, tenant string, bad int) *withoutEnd {
	t.Helper()
	hang, err := os.ReadFile("../../render/evaluate/testdata/hostile/long-range.cue")
	require.NoError(t, err)
	pool, err := evaluate.NewPool(evaluate.PoolOptions{Size: 2, Schemas: schemas()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	opts := options(t)
	opts.Renderer, opts.Stores = render.Renderer{Evaluator: Turns(pool, 2)}, nil
	opts.Renders, opts.Parallel = 4, 2
	opts.Limits = evaluate.Limits{Timeout: 15 * time.Second}
	w := &withoutEnd{tenant: tenant}
	w.server, w.socket = start(t, opts)
	files := project("web")
	for i := range bad {
		files[fmt.Sprintf("bad%d/bad.yaml", i)] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: bad}\nspec: {cueRef: {type: path, ref: m}}\n"
		files[fmt.Sprintf("bad%d/m/m.cue", i)] = string(hang) + fmt.Sprintf("\n// %d\n", i)
	}
	w.packed = archive(t, texts(files))
	return w
}

// fifty is how long fifty good applications take.
func (w *withoutEnd) fifty(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	var all sync.WaitGroup
	for i := range 50 {
		env := of("good", fmt.Sprint("good", i))
		w.asked++
		env["ARGOCD_ENV_ROPEWALK_SET"] = fmt.Sprintf("n=%d", w.asked)
		all.Go(func() {
			if got, err := generate(t, w.socket, call{archive: w.packed, path: "apps/web", env: env}); err != nil || len(got) != 1 {
				t.Error(got, err)
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}

// beside is how long they take at first beside three without end, which nobody has seen
// before, and how long later.
func (w *withoutEnd) beside(t *testing.T, again int) (first, later time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var bad sync.WaitGroup
	defer bad.Wait()
	defer cancel()
	for i := range 3 {
		path := fmt.Sprintf("bad%d", 3*again+i)
		bad.Go(func() {
			_, _ = generateIn(ctx, t, w.socket, call{archive: w.packed, path: path, env: of(w.tenant, path)})
		})
	}
	require.Eventually(t, func() bool { return w.server.metrics.inFlight.Load() == 3 }, time.Minute, time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	first, later = w.fifty(t), w.fifty(t)
	return first, min(later, w.fifty(t))
}
