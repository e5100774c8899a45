// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

func TestReadBackNamesWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		ref    plane.Ref
		change func(o *unstructured.Unstructured)
		want   string
	}{
		"a spec": {set, func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"replicas": int64(3)} },
			`differs at spec.replicas; it was last written by "rogue" at `},
		"a secret": {secret("blue-ca"), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"tls.key": "b3RoZXI="} },
			`differs at data.tls.key; it was last written by "rogue" at `},
		"an annotation that was added": {set, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"a": "b", snapshot.ImportAnnotation: o.GetAnnotations()[snapshot.ImportAnnotation]})
		}, `differs at metadata.annotations; it was last written by "rogue" at `},
		"a label that was added": {set, func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{planetest.ClusterName: "blue", "a": "b"})
		}, "differs at metadata.labels.a;"},
		"a Cluster that was unpaused":     {cluster, func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "paused") }, "differs at spec.paused;"},
		"a finalizer that was taken":      {machine, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) }, "differs at metadata.finalizers;"},
		"a mark that is gone":             {machine, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, "does not carry the mark of the pivot; it was last written"},
		"a mark of another original":      {machine, func(o *unstructured.Unstructured) { m := pivot + "/u"; annotate(o, snapshot.ImportAnnotation, &m) }, "does not carry the mark of the pivot;"},
		"an object that is being deleted": {machine, func(o *unstructured.Unstructured) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }, "is being deleted"},
		"an owner of another UID": {machine, func(o *unstructured.Unstructured) {
			owners := o.GetOwnerReferences()
			owners[0].UID = "u"
			o.SetOwnerReferences(owners)
		}, `its owner MachineSet.cluster.x-k8s.io apps/blue-md-0 with UID "u" is not there`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.doImport())
			w.target.Edit(c.ref, "rogue", c.change)
			for i, check := range w.readBack() {
				require.Equal(t, w.entries[i].Ref, check.Ref)
				if check.Ref != c.ref {
					require.Equal(t, Check{Ref: check.Ref, Digest: w.entries[i].Digest}, check)
					continue
				}
				require.Contains(t, check.Problem, c.want)
				require.NotContains(t, check.Problem, "b3RoZXI=")
				require.NotEmpty(t, check.Advice)
			}
		})
	}
}

func TestReadBackMissesWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	w.target.Remove(set)
	for _, check := range w.readBack() {
		switch check.Ref {
		case set:
			require.Equal(t, Check{Ref: set, Problem: "is not there", Advice: "import again"}, check)
		case machine:
			require.Contains(t, check.Problem, "its owner MachineSet.cluster.x-k8s.io apps/blue-md-0 with UID ")
		}
	}
}

func TestReadBackTakesDefaultsOfTheTargetForNoDifference(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	w.target.Edit(machine, "webhook", func(o *unstructured.Unstructured) {
		require.NoError(t, unstructured.SetNestedField(o.Object, "default", "spec", "more"))
		o.Object["status"] = map[string]any{"phase": "Pending"}
	})
	w.imported()
}

func TestReadBackFindsWhatIsNotInTheSnapshot(t *testing.T) {
	w := newWorld(t, named("blue-old"))
	require.NoError(t, w.doImport())
	w.source.Remove(secret("blue-old"))
	w.take()
	w.target.Put(named("foreign"))
	_, err := ReadBack(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot)
	require.EqualError(t, err, "Secret apps/blue-old: carries the mark of the pivot, and is not in its snapshot: import again")
	w.findings(err)

	w.target.Kill(0)
	_ = w.doImport()
	_, err = ReadBack(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot)
	require.ErrorIs(t, err, planetest.ErrKilled)

	w.alter(cluster, func(o *unstructured.Unstructured) { delete(o.Object, "spec") })
	_, err = ReadBack(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot)
	require.ErrorContains(t, err, "is not paused in the snapshot")
}
