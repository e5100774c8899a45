// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// world is two planes, of which the first has a cluster, and the processes of a pivot.
type world struct {
	t              *testing.T
	source, target *planetest.Server
	cluster        plane.Ref
	// refs are what was there at the beginning.
	refs []plane.Ref
	// link, where set, is between both ends.
	link func(Link) Link
	// now is the time, which each look at it moves on.
	timing *sync.Mutex
	now    time.Time
}

func newWorld(t *testing.T, workers int) *world { t.Helper(); return newWorldOf(t, "blue", workers) }

func newWorldOf(t *testing.T, name string, workers int) *world {
	t.Helper()
	w := &world{
		t: t, source: planetest.New("source", planetest.ClusterAPI()...), target: planetest.New("target", planetest.ClusterAPI()...),
		cluster: plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: "apps", Name: name},
		now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), timing: &sync.Mutex{},
	}
	w.refs = w.put(name, workers)
	w.source.Put(planetest.Object("v1", "Namespace", "", "kube-system"))
	w.target.Put(planetest.Object("v1", "Namespace", "", "kube-system"))
	return w
}

// put adds a cluster at rest to the source.
func (w *world) put(name string, workers int) (refs []plane.Ref) {
	objects := planetest.Cluster("apps", name, workers)
	for _, o := range objects {
		refs = append(refs, plane.RefOf(o))
		if o.GetKind() == "Machine" {
			o.Object["status"].(map[string]any)["nodeRef"] = map[string]any{"name": o.GetName()}
		}
	}
	w.source.Put(objects...)
	return refs
}

// plane is a client of a server whose controllers look at it whenever the client waits.
func (w *world) plane(name string, s *planetest.Server) *plane.Plane {
	return plane.New(s.Client(), s.Options(plane.Options{
		Name: name, Server: "https://" + name + ".test", Patience: time.Minute,
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.later(d)
			s.Observe()
			return ctx.Err()
		},
	}))
}

func (w *world) clock() time.Time { return w.later(time.Millisecond) }

func (w *world) later(d time.Duration) time.Time {
	w.timing.Lock()
	defer w.timing.Unlock()
	w.now = w.now.Add(d)
	return w.now
}

// coordinator is a new process of the source, with one of the target.
func (w *world) coordinator() *Source {
	var link Link = &Target{Plane: w.plane("target", w.target), Now: w.clock}
	link = w.mortal(link)
	if w.link != nil {
		link = w.link(link)
	}
	return &Source{
		Plane: w.plane("source", w.source), Link: link, Now: w.clock,
		Cluster: types.NamespacedName{Namespace: w.cluster.Namespace, Name: w.cluster.Name},
	}
}

var errDead = errors.New("connection refused")

// mortal does not answer once the client of the target is killed, as a process that is
// killed does not.
func (w *world) mortal(to Link) Link {
	return LinkFunc(func(ctx context.Context, r Request) (Response, error) {
		out, err := to.Call(ctx, r)
		if w.target.Killed() {
			return Response{}, errDead
		}
		return out, err
	})
}

// paused reports whether a plane has the cluster, and whether it is paused there.
func (w *world) paused(s *planetest.Server) (there, paused bool) {
	o := s.Object(w.cluster)
	if o == nil {
		return false, false
	}
	paused, _, _ = unstructured.NestedBool(o.Object, "spec", "paused")
	return true, paused
}

// has counts the objects of the cluster that a plane has.
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
	sourceHas, sourcePaused := w.paused(w.source)
	targetHas, targetPaused := w.paused(w.target)
	require.False(w.t, sourceHas && !sourcePaused && targetHas && !targetPaused, "both planes are unpaused")
	require.True(w.t, w.has(w.source) == len(w.refs) || w.has(w.target) == len(w.refs), "no plane is complete: the source has %d, the target %d of %d",
		w.has(w.source), w.has(w.target), len(w.refs))
}

// moved is the end of a pivot.
func (w *world) moved() {
	w.t.Helper()
	there, paused := w.paused(w.target)
	require.True(w.t, there && !paused, "the target is in charge")
	require.Equal(w.t, len(w.refs), w.has(w.target))
	require.Zero(w.t, w.has(w.source))
	for _, s := range []*planetest.Server{w.source, w.target} {
		left := 0
		for _, o := range s.Objects() {
			if o.GetLabels()[ChunkLabel] != "" || o.GetAnnotations()["pivot.ropewalk.dev/import"] != "" {
				left++
			}
		}
		require.Zero(w.t, left, "chunks and marks are removed")
		receipt, err := Read(w.t.Context(), w.plane("any", s), types.NamespacedName{Namespace: "apps", Name: w.cluster.Name})
		require.NoError(w.t, err)
		if receipt != nil { // That of a namespace which was deleted is gone.
			require.Equal(w.t, Done, receipt.Step)
		}
		require.Empty(w.t, s.Collect(), "no owner reference is dangling")
	}
}

// back is the end of a pivot that was undone.
func (w *world) back() {
	w.t.Helper()
	there, paused := w.paused(w.source)
	require.True(w.t, there && !paused, "the source is in charge")
	require.Equal(w.t, len(w.refs), w.has(w.source))
	require.Zero(w.t, w.has(w.target))
}
