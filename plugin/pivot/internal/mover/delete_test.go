// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

func TestDeleteTakesLeavesFirstAndFinalizersBeforeThem(t *testing.T) {
	w := newWorld(t)
	before := len(writes(w.source))
	require.NoError(t, w.doDelete())
	require.Empty(t, w.source.Objects())
	depth, released := 100, map[plane.Ref]bool{}
	for _, r := range writes(w.source)[before:] {
		e := w.entry(r.Ref)
		require.LessOrEqual(t, e.Depth, depth)
		depth = e.Depth
		if r.Verb == "update" {
			require.Empty(t, r.Object.GetFinalizers())
			require.Contains(t, r.Object.GetAnnotations(), deleteAnnotation)
			released[r.Ref] = true
			continue
		}
		require.Equal(t, "delete", r.Verb)
		require.True(t, released[r.Ref])
		require.Equal(t, e.UID, r.UID)
		require.NotEmpty(t, r.ResourceVersion)
	}
	require.NoError(t, w.doDelete(), "what is gone is fine")
}

// kinds are how many objects of each kind are left on the source.
func (w *world) left() map[string]int {
	out := map[string]int{}
	for _, o := range w.source.Objects() {
		out[o.GetKind()]++
	}
	return out
}

func TestDeleteLeavesWhatChangedAndWhatOwnsIt(t *testing.T) {
	w := newWorld(t)
	w.source.Edit(machine, "kubectl-edit", func(o *unstructured.Unstructured) {
		require.NoError(t, unstructured.SetNestedField(o.Object, "hunter2", "spec", "token"))
	})
	w.source.Edit(machine, "manager", func(o *unstructured.Unstructured) { planetest.SetPaused(o, "True", 2) })
	err := w.doDelete()
	require.Len(t, w.findings(err), 1)
	require.Regexp(t, `^Machine.cluster.x-k8s.io apps/blue-md-0-0: was changed on the source after the commit by "kubectl-edit" at 2026-01-01T00:0\d:\d\dZ: make the change on the target; then go on with .ropewalk pivot run --resume --discard-changes.$`, err.Error())
	want := map[string]int{"Cluster": 1, "MachineDeployment": 1, "MachineSet": 1, "Machine": 1}
	require.Equal(t, want, w.left())
	require.Empty(t, w.source.Collect())
	require.NotEmpty(t, w.source.Object(machine).GetFinalizers())
	require.Error(t, w.doDelete())
	require.Equal(t, want, w.left())

	require.NoError(t, Delete(w.ctx, w.source.Plane(), w.kinds, snapshot.Outline(w.entries), true, open, nil))
	require.Empty(t, w.source.Objects())
}

func TestDeleteLeavesWhatWasCreatedAgain(t *testing.T) {
	w := newWorld(t)
	again := func() {
		o := w.source.Object(set)
		o.SetUID("")
		w.source.Remove(set)
		w.source.Put(o)
		w.source.Edit(set, "kustomize-controller", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) })
	}
	again()
	for _, discard := range []bool{false, true} {
		err := Delete(w.ctx, w.source.Plane(), w.kinds, w.entries, discard, open, nil)
		require.Regexp(t, `^MachineSet.cluster.x-k8s.io apps/blue-md-0: was created again on the source after the commit by "kustomize-controller" at .*Z: stop what creates it, such as GitOps, then delete it`, err.Error())
		require.Equal(t, map[string]int{"Cluster": 1, "MachineDeployment": 1, "MachineSet": 1}, w.left())
	}

	w = newWorld(t)
	w.source.After = func(r planetest.Request) error {
		if r.Verb == "delete" && r.Ref == cluster {
			w.source.Put(planetest.Object(planetest.Core+"/v1beta2", "MachineSet", "apps", set.Name))
		}
		return nil
	}
	require.ErrorContains(t, w.doDelete(), "MachineSet.cluster.x-k8s.io apps/blue-md-0: was created again on the source after the commit: stop")
}

func TestDeleteStopsWhereTheClusterIsNotPaused(t *testing.T) {
	w := newWorld(t)
	w.source.Edit(cluster, "argocd", func(o *unstructured.Unstructured) {
		require.NoError(t, unstructured.SetNestedField(o.Object, false, "spec", "paused"))
	})
	before := len(writes(w.source))
	err := Delete(w.ctx, w.source.Plane(), w.kinds, w.entries, true, open, nil)
	require.Len(t, w.findings(err), 1)
	require.ErrorContains(t, err, `Cluster.cluster.x-k8s.io apps/blue: is not paused on the source plane any more; it was last written by "argocd" at `)
	require.Len(t, writes(w.source), before)
}

func TestDeleteGoesOnInANamespaceThatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	w.source.Terminate("apps")
	require.NotEmpty(t, w.source.Objects())
	w.source.Edit(set, "manager", func(o *unstructured.Unstructured) {
		o.SetFinalizers(append(o.GetFinalizers(), "foregroundDeletion", "orphan"))
	})
	require.NoError(t, w.doDelete())
	require.Empty(t, w.source.Objects())
}

func TestDeleteKeepsTheClusterWhileAnythingIsLeft(t *testing.T) {
	w := newWorld(t, named("blue-note"))
	w.entry(secret("blue-note")).Depth = 0 // As deep as the Cluster.
	w.source.Edit(secret("blue-note"), "kubectl", func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"key": "b3RoZXI="} })
	err := w.doDelete()
	require.ErrorContains(t, err, "Secret apps/blue-note: was changed on the source after the commit by \"kubectl\"")
	require.NotContains(t, err.Error(), "b3RoZXI=")
	require.Equal(t, map[string]int{"Cluster": 1, "Secret": 1}, w.left())
}

func TestDeleteReportsAnObjectThatComesBack(t *testing.T) {
	w := newWorld(t)
	o := w.source.Object(set)
	w.source.After = func(r planetest.Request) error {
		if r.Verb == "delete" && r.Ref == cluster {
			w.source.Put(o)
		}
		return nil
	}
	require.EqualError(t, w.doDelete(), "MachineSet.cluster.x-k8s.io apps/blue-md-0: is still there: go on with `ropewalk pivot run --resume`")
}

func TestDeleteReadsAgainAfterAConflict(t *testing.T) {
	w := newWorld(t)
	touched := 0
	w.source.Before = func(r planetest.Request) error {
		if r.Verb == "delete" && r.Ref == set && touched < 3 {
			touched++
			w.source.Edit(set, "manager", func(o *unstructured.Unstructured) {
				o.Object["status"] = map[string]any{"replicas": int64(touched)}
				if touched == 2 {
					o.SetFinalizers([]string{"added/again"})
				}
			})
		}
		return nil
	}
	require.NoError(t, w.doDelete())
	require.Empty(t, w.source.Objects())

	// Another object of that name must not be deleted in place of the one that was read.
	w = newWorld(t)
	w.source.Before = func(r planetest.Request) error {
		if r.Verb == "delete" && r.Ref == set {
			o := w.source.Object(set)
			o.SetUID("another")
			w.source.Remove(set)
			w.source.Put(o)
		}
		return nil
	}
	require.ErrorContains(t, w.doDelete(), "was created again")
	require.NotNil(t, w.source.Object(set))
}

func TestDeleteTakesTheAnnotationOfAnotherToolForNoChange(t *testing.T) {
	w := newWorld(t)
	w.source.Edit(set, "clusterctl", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{deleteAnnotation: "true"})
	})
	require.NoError(t, w.doDelete())
	require.Empty(t, w.source.Objects())
}

func TestReleaseKeepsToTheLimitOfAnnotations(t *testing.T) {
	o := planetest.Object("v1", "ConfigMap", "apps", "large")
	o.SetAnnotations(map[string]string{"a": strings.Repeat("x", maxAnnotations-60)})
	o.SetFinalizers([]string{"one.example.com/finalizer", "two.example.com/finalizer"})
	require.True(t, release(o))
	require.Empty(t, o.GetFinalizers())
	require.NotContains(t, o.GetAnnotations(), deleteAnnotation)
}
