// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

func TestActivateUnpausesAfterAllMarksAreGone(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	before := len(writes(w.target))
	require.NoError(t, w.doActivate())
	after := writes(w.target)[before:]
	require.Len(t, after, 21)
	for i, r := range after {
		require.Equal(t, "update", r.Verb)
		require.Equal(t, i == 20, r.Ref == cluster, "the Cluster is last")
		require.NotContains(t, r.Object.GetAnnotations(), snapshot.ImportAnnotation)
	}
	spec := w.target.Object(cluster).Object["spec"]
	require.NotContains(t, spec, "paused")
	require.Contains(t, spec, "controlPlaneEndpoint")

	w.target.Edit(machine, "manager", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) })
	require.NoError(t, w.doActivate())
	require.Len(t, writes(w.target), before+21, "there is nothing left to do")
}

func TestActivateRestoresTheFieldsOfApplies(t *testing.T) {
	applied := func(o *unstructured.Unstructured) {
		at := metav1.Now().Rfc3339Copy()
		o.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "kustomize-controller", Operation: "Apply", APIVersion: o.GetAPIVersion(), Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)},
			{Manager: "kubectl", Operation: "Update", APIVersion: o.GetAPIVersion(), Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)},
		})
	}
	w := newWorld(t)
	w.source.Edit(set, "", applied)
	w.source.Edit(cluster, "", applied)
	w.take()
	require.NoError(t, w.doImport())
	w.target.Edit(set, "manager", func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"replicas": int64(0)} })
	w.target.Edit(set, "defaulter", func(o *unstructured.Unstructured) {
		require.NoError(t, unstructured.SetNestedField(o.Object, "default", "spec", "more"))
	})
	require.NoError(t, w.doActivate())
	managers := func(o *unstructured.Unstructured) (out []string) {
		for _, f := range o.GetManagedFields() {
			out = append(out, fmt.Sprintf("%s %s %s", f.Manager, f.Operation, f.Subresource))
		}
		return out
	}
	require.Equal(t, []string{"manager Update status", "defaulter Update ", "kustomize-controller Apply "}, managers(w.target.Object(set)))
	require.Equal(t, []string{"kustomize-controller Apply "}, managers(w.target.Object(cluster)))
	require.Equal(t, []string{"ropewalk-pivot Update "}, managers(w.target.Object(machine)), "nothing is applied to it")

	w = newWorld(t)
	require.NoError(t, w.doImport())
	w.entry(set).ManagedFields = []byte(`{}`)
	require.ErrorContains(t, w.doActivate(), "target plane: activating MachineSet.cluster.x-k8s.io apps/blue-md-0: ")
	require.True(t, isPaused(w.target.Object(cluster)))
}

func TestActivateTouchesNothingOfOthersAndUnpausesNothingThen(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	other := "p2/u"
	w.target.Edit(set, "other", func(o *unstructured.Unstructured) { annotate(o, snapshot.ImportAnnotation, &other) })
	w.target.Remove(secret("blue-ca"))
	require.Equal(t, []string{
		`MachineSet.cluster.x-k8s.io apps/blue-md-0: is being imported to the target plane by pivot "p2": let that pivot end, or abort it`,
	}, sortedLines(w.findings(w.doActivate())))
	require.True(t, isPaused(w.target.Object(cluster)))
	require.Equal(t, other, w.target.Object(set).GetAnnotations()[snapshot.ImportAnnotation])
	require.Nil(t, w.target.Object(secret("blue-ca")), "nothing is imported again either")
}

func TestActivateLeavesAClusterWithoutItsMark(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	require.NoError(t, w.doActivate())
	w.target.Edit(cluster, "kubectl", func(o *unstructured.Unstructured) {
		require.NoError(t, unstructured.SetNestedField(o.Object, true, "spec", "paused"))
	})
	require.ErrorContains(t, w.doActivate(), `Cluster.cluster.x-k8s.io apps/blue: is paused on the target plane, and not by this pivot, whose mark is gone; it was last written by "kubectl" at 2026-`)
	require.True(t, isPaused(w.target.Object(cluster)))
}

func TestTheFenceIsBeforeTheClusterIsUnpaused(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	lost := errors.New("lost the lease")
	var at []string
	fence := func(fail int) func(context.Context) error {
		at = nil
		return func(context.Context) error {
			r := w.target.Requests()
			if at = append(at, r[len(r)-1].Verb); len(at) == fail {
				return lost
			}
			return nil
		}
	}
	for fail, marked := range []int{21, 21, 1, 1} {
		if fail > 0 {
			require.ErrorIs(t, Activate(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot, fence(fail)), lost)
		}
		left := 0
		for _, o := range w.target.Objects() {
			if m, _ := markOf(o); m != "" {
				left++
			}
		}
		require.Equal(t, marked, left)
		require.True(t, isPaused(w.target.Object(cluster)))
	}
	require.Equal(t, "get", at[2], "it is between the read and the write")
}

func TestDiscardUndoesAnImport(t *testing.T) {
	w := newWorld(t, named("blue-old"))
	require.NoError(t, w.doImport())
	w.source.Remove(secret("blue-old"))
	w.take()
	w.target.Put(named("foreign"))
	before := len(writes(w.target))
	require.NoError(t, w.doDiscard())
	require.Len(t, w.target.Objects(), 1, "what has no mark is left")
	released, depth := true, 100
	for _, r := range writes(w.target)[before:] {
		switch r.Verb {
		case "update":
			require.True(t, released, "all finalizers are gone before anything is deleted")
			require.Empty(t, r.Object.GetFinalizers())
			require.Contains(t, r.Object.GetAnnotations(), deleteAnnotation)
		case "delete":
			released = false
			require.NotEmpty(t, r.UID)
			require.NotEmpty(t, r.ResourceVersion)
			if r.Ref != secret("blue-old") {
				require.LessOrEqual(t, w.entry(r.Ref).Depth, depth, "leaves first")
				depth = w.entry(r.Ref).Depth
			}
		}
	}
	require.Zero(t, depth)
	require.NoError(t, w.doDiscard())
}

func TestDiscardRefusesAnImportedClusterThatIsNotPaused(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	w.target.Edit(cluster, "kubectl", func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "paused") })
	before := len(writes(w.target))
	w.findings(w.doDiscard())
	require.EqualError(t, w.doDiscard(), "Cluster.cluster.x-k8s.io apps/blue: is not paused on the target plane: it may be in charge: set its spec.paused to true, if it must not be")
	require.Len(t, writes(w.target), before)
}

func TestDiscardLeavesWhatIsActiveOrForeign(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	require.NoError(t, w.doActivate())
	before := w.target.Objects()
	require.NoError(t, w.doDiscard())
	require.Equal(t, before, w.target.Objects())
	require.NoError(t, Discard(w.ctx, w.target.Plane(), w.kinds, w.entries, "p2"))
	require.Equal(t, before, w.target.Objects())
}

func TestDiscardDeletesWhatIsBeingDeletedAndLeavesWhatLosesItsMark(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	w.target.Terminate("apps")
	taken := false
	w.target.Before = func(r planetest.Request) error {
		if r.Verb == "get" && r.Ref == set && !taken {
			taken = true
			w.target.Edit(set, "other", func(o *unstructured.Unstructured) { annotate(o, snapshot.ImportAnnotation, nil) })
		}
		return nil
	}
	require.NoError(t, w.doDiscard())
	left := w.target.Objects()
	require.Len(t, left, 1)
	require.Equal(t, "MachineSet", left[0].GetKind())
}

func TestDiscardNeedsNoKindThatIsNotServed(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	w.target.Remove(ref(planetest.ControlPlane, "KubeadmControlPlane", "blue-cp"))
	delete(w.kinds, ref(planetest.ControlPlane, "KubeadmControlPlane", "").GroupKind())
	k := w.kinds[machine.GroupKind()]
	k.Version, k.Served = "v1beta1", []string{"v1beta1"}
	w.kinds[machine.GroupKind()] = k
	require.NoError(t, w.doDiscard())
	require.Empty(t, w.target.Objects())
}

func TestDiscardIsBounded(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	w.target.After = func(r planetest.Request) error {
		if r.Verb == "delete" && r.Ref == set {
			w.target.Put(planetest.Object(planetest.Core+"/v1beta2", "MachineSet", "apps", "blue-md-0"))
			m := pivot + "/u"
			w.target.Edit(set, "other", func(o *unstructured.Unstructured) { annotate(o, snapshot.ImportAnnotation, &m) })
		}
		return nil
	}
	require.EqualError(t, w.doDiscard(), `target plane: objects with the mark of pivot "p1" are still there after 5 attempts to delete them`)
}
