// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

const pivot = "p1"

var cluster = ref(planetest.Core, "Cluster", "blue")

func ref(group, kind, name string) plane.Ref {
	return plane.Ref{Group: group, Kind: kind, Namespace: "apps", Name: name}
}

func secret(name string) plane.Ref { return ref("", "Secret", name) }

func open(context.Context) error { return nil }

// world is a source with a cluster that is paused and has a snapshot, and an empty target.
type world struct {
	*testing.T
	ctx            context.Context
	source, target *planetest.Server
	kinds          plane.Kinds
	set            inventory.Set
	entries        []snapshot.Entry
}

// newWorld has extra objects on the source.
func newWorld(t *testing.T, extra ...*unstructured.Unstructured) *world {
	w := &world{T: t, ctx: context.Background(), source: planetest.New("source", planetest.ClusterAPI()...), target: planetest.New("target", planetest.ClusterAPI()...)}
	w.source.Put(append(planetest.Cluster("apps", "blue", 2), extra...)...)
	w.target.Put(planetest.Object("v1", "Namespace", "", "apps"))
	var err error
	w.kinds, err = w.source.Plane().Kinds(w.ctx)
	require.NoError(t, err)
	require.NoError(t, Pause(w.ctx, w.source.Plane(), w.kinds, cluster, open))
	w.source.Observe()
	w.take()
	return w
}

// take makes a new snapshot.
func (w *world) take() {
	var err error
	w.set, err = inventory.Read(w.ctx, w.source.Plane(), w.kinds, types.NamespacedName{Namespace: "apps", Name: "blue"}, inventory.Options{})
	require.NoError(w, err)
	w.entries = w.set.Entries()
}

func (w *world) doImport() error {
	return Import(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot, open)
}

func (w *world) readBack() []Check {
	checks, err := ReadBack(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot)
	require.NoError(w, err)
	require.Len(w, checks, len(w.entries))
	return checks
}

func (w *world) doActivate() error {
	return Activate(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot, open)
}

func (w *world) doDiscard() error {
	return Discard(w.ctx, w.target.Plane(), w.kinds, snapshot.Outline(w.entries), pivot)
}

func (w *world) doDelete() error {
	return Delete(w.ctx, w.source.Plane(), w.kinds, snapshot.Outline(w.entries), false, open, nil)
}

// imported checks that the target has the snapshot, and nothing else.
func (w *world) imported() {
	w.Helper()
	for i, c := range w.readBack() {
		require.Empty(w, c.Problem, c.Ref.String())
		require.Equal(w, w.entries[i].Digest, c.Digest)
	}
	require.Len(w, w.target.Objects(), len(w.entries))
	require.Empty(w, w.target.Collect(), "owners are there")
}

// findings are those of an error that has nothing else.
func (w *world) findings(err error) inventory.Findings {
	w.Helper()
	var out inventory.Findings
	require.ErrorAs(w, err, &out)
	return out
}
