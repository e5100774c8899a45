// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// world is two planes and a link between them.
type world struct {
	*parent
	t *testing.T
	// identity of the agent.
	identity       string
	between        *proxy
	source, target *planetest.Server
	cluster        plane.Ref
	refs           []plane.Ref

	mu    sync.Mutex
	agent *agent
	// handled is how many requests were, by all agents.
	handled int
	// fault is called before and after each, with its number.
	fault func(n int, when string)
}

// newWorld has a cluster at rest, of which two chunks and many parts are made.
func newWorld(t *testing.T, p *parent, fault func(w *world, n int, when string)) *world {
	t.Helper()
	return newWorldOf(t, p, "blue", fault)
}

func newWorldOf(t *testing.T, p *parent, identity string, fault func(w *world, n int, when string)) *world {
	t.Helper()
	w := &world{
		parent: p, t: t, identity: identity, between: newProxy(t, p.address), cluster: plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: "apps", Name: "blue"},
		source: planetest.New("source", planetest.ClusterAPI()...), target: planetest.New("target", planetest.ClusterAPI()...),
	}
	w.fault = func(n int, when string) {
		if fault != nil {
			fault(w, n, when)
		}
	}
	for _, o := range planetest.Cluster("apps", "blue", 1) {
		w.refs = append(w.refs, plane.RefOf(o))
		switch o.GetKind() {
		case "Machine":
			o.Object["status"].(map[string]any)["nodeRef"] = map[string]any{"name": o.GetName()}
		case "KubeadmConfig":
			o.Object["spec"].(map[string]any)["files"] = []any{map[string]any{"path": "/etc/file", "content": strings.Repeat(o.GetName()+"\n", 12<<10)}}
		}
		w.source.Put(o)
	}
	for _, s := range []*planetest.Server{w.source, w.target} {
		s.Put(planetest.Object("v1", "Namespace", "", "kube-system"))
	}
	w.startAgent()
	return w
}

// startAgent begins a new process of the child.
func (w *world) startAgent() {
	w.t.Helper()
	target := &state.Target{Plane: w.plane("target", w.target)}
	carryOut := func(ctx context.Context, r state.Request) state.Response {
		w.mu.Lock()
		n := w.handled
		w.handled++
		w.mu.Unlock()
		w.fault(n, "before")
		out, err := target.Call(ctx, r)
		w.fault(n, "after")
		w.invariants()
		if err != nil {
			return refused(state.Unavailable, "%s", err)
		}
		return out
	}
	// A request may come with the first session: its handler is there before.
	a := w.join(w.between.address, w.authority.agent(w.identity, time.Hour), func(o *ClientOptions) { o.Handler.(*agent).carries(carryOut) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agent = a
}

// restartAgent kills the process of the child, and begins another one.
func (w *world) restartAgent() {
	w.mu.Lock()
	a := w.agent
	w.mu.Unlock()
	a.stop()
	w.startAgent()
}

// plane is a client of a server whose controllers look at it whenever the client waits.
func (w *world) plane(name string, s *planetest.Server) *plane.Plane {
	return plane.New(s.Client(), s.Options(plane.Options{Name: name, Server: "https://" + name + ".test", Sleep: func(ctx context.Context, _ time.Duration) error {
		s.Observe()
		return ctx.Err()
	}}))
}

// run is a new process of the parent.
func (w *world) run(ctx context.Context) error {
	s := &state.Source{Plane: w.plane("source", w.source), Link: w.Link(w.identity), Cluster: types.NamespacedName{Namespace: "apps", Name: "blue"}}
	r, err := state.Read(ctx, s.Plane, s.Cluster)
	if err != nil {
		return err
	}
	if s.Resume = r != nil && !r.Step.Ended(); r != nil && r.Step == state.Done {
		return nil
	}
	_, err = s.Run(ctx)
	return err
}

func (w *world) paused(s *planetest.Server) (there, paused bool) {
	o := s.Object(w.cluster)
	if o == nil {
		return false, false
	}
	paused, _, _ = unstructured.NestedBool(o.Object, "spec", "paused")
	return true, paused
}

func (w *world) has(s *planetest.Server) (n int) {
	for _, r := range w.refs {
		if s.Object(r) != nil {
			n++
		}
	}
	return n
}

// invariants are those of each moment: at most one plane reconciles the cluster, and at least
// one is complete.
func (w *world) invariants() {
	w.t.Helper()
	// The source is looked at first: it loses objects only once the target has all.
	source := w.has(w.source)
	sourceHas, sourcePaused := w.paused(w.source)
	targetHas, targetPaused := w.paused(w.target)
	if sourceHas && !sourcePaused && targetHas && !targetPaused {
		w.t.Error("both planes are unpaused")
	}
	if source != len(w.refs) && w.has(w.target) != len(w.refs) {
		w.t.Errorf("no plane is complete: the source has %d, the target %d of %d", source, w.has(w.target), len(w.refs))
	}
}

// moved is the end of a pivot.
func (w *world) moved(what string) {
	w.t.Helper()
	there, paused := w.paused(w.target)
	require.True(w.t, there && !paused, "%s: the target is in charge", what)
	require.Equal(w.t, len(w.refs), w.has(w.target), what)
	require.Zero(w.t, w.has(w.source), what)
	for _, s := range []*planetest.Server{w.source, w.target} {
		r, err := state.Read(w.t.Context(), w.plane("any", s), types.NamespacedName{Namespace: "apps", Name: "blue"})
		require.NoError(w.t, err, what)
		require.Equal(w.t, state.Done, r.Step, what)
	}
}

func TestAPivotOverTheLink(t *testing.T) {
	w := newWorld(t, newParent(t, nil), nil)
	require.NoError(t, w.run(t.Context()))
	w.moved("a pivot")
	require.GreaterOrEqual(t, w.handled, 12)
	require.Equal(t, int64(1), w.sessionsOf()["blue"])
}

// TestEveryCutConverges cuts the connection before, while and after each request is carried
// out: the pivot does not even notice.
func TestEveryCutConverges(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"sent", "before", "after"} {
		t.Run(when, func(t *testing.T) {
			p := newParent(t, nil)
			points := 0
			for n := 0; ; n++ {
				done := false
				w := newWorld(t, p, func(w *world, i int, at string) {
					if i == n && at == when && !done {
						done = true
						w.between.cut()
					}
				})
				link := w.Link("blue")
				s := &state.Source{Plane: w.plane("source", w.source), Cluster: types.NamespacedName{Namespace: "apps", Name: "blue"}, Link: state.LinkFunc(
					func(ctx context.Context, r state.Request) (state.Response, error) {
						w.mu.Lock()
						i := w.handled
						w.mu.Unlock()
						w.fault(i, "sent")
						return link.Call(ctx, r)
					})}
				_, err := s.Run(t.Context())
				require.NoError(t, err, "cut %s request %d", when, n)
				w.moved(fmt.Sprintf("cut %s request %d", when, n))
				w.agent.stop()
				if !done {
					break
				}
				points++
			}
			require.GreaterOrEqual(t, points, 12)
			t.Logf("%d points", points)
		})
	}
}

// TestCutsAnywhereInTheStreamConverge cuts after a number of bytes, also inside of a message.
func TestCutsAnywhereInTheStreamConverge(t *testing.T) {
	t.Parallel()
	p := newParent(t, nil)
	const all = 1 << 30
	w := newWorld(t, p, nil)
	w.between.cutAfter(all)
	require.NoError(t, w.run(t.Context()))
	w.agent.stop()
	bytes := all - w.between.cutAfter(-1)
	const points = 60
	require.Greater(t, bytes, 256<<10)
	for n := range points {
		w := newWorld(t, p, nil)
		w.between.cutAfter(max(1, bytes*n/points))
		require.NoError(t, w.run(t.Context()))
		w.moved(fmt.Sprintf("cut after %d of %d bytes", bytes*n/points, bytes))
		w.agent.stop()
	}
}

// TestEveryRestartConverges kills the process of either end before and after each request is
// carried out.
func TestEveryRestartConverges(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"child", "parent"} {
		for _, when := range []string{"before", "after"} {
			t.Run(end+" "+when, func(t *testing.T) {
				points := 0
				for n := 0; ; n++ {
					p := newParent(t, nil)
					ctx, kill := context.WithCancel(t.Context())
					restarted := make(chan struct{})
					done := false
					w := newWorld(t, p, func(w *world, i int, at string) {
						if i != n || at != when || done {
							return
						}
						done = true
						if end == "parent" {
							stop := p.stop // That of the next process is there once the run has ended.
							kill()
							stop()
							return
						}
						go func() {
							defer close(restarted)
							w.restartAgent()
						}()
					})
					err := w.run(ctx)
					kill()
					if !done {
						require.NoError(t, err)
						break
					}
					points++
					if end == "parent" {
						p.stop()
						p.start()
					} else {
						<-restarted
					}
					for range 3 {
						if err = w.run(t.Context()); err == nil || !errors.Is(err, state.ErrAborted) && !strings.Contains(err.Error(), ErrAway.Error()) {
							break
						}
					}
					require.NoError(t, err, "%s killed %s request %d", end, when, n)
					w.moved(fmt.Sprintf("%s killed %s request %d", end, when, n))
					w.agent.stop()
					p.stop()
				}
				require.GreaterOrEqual(t, points, 12)
				t.Logf("%d points", points)
			})
		}
	}
}
