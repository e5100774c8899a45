// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

func machine(plane string) *unstructured.Unstructured {
	yes, now := true, metav1.Now()
	o := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"clusterName": "blue", "script": "a < b && c > \u2028", "size": int64(math.MaxInt64)},
		"status": map[string]any{"phase": plane},
	}}
	o.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	o.SetKind("Machine")
	o.SetNamespace("apps")
	o.SetName("m")
	o.SetGenerateName("m-")
	o.SetUID("uid")
	o.SetResourceVersion(plane)
	o.SetGeneration(7)
	o.SetSelfLink(plane)
	o.SetCreationTimestamp(now)
	o.SetDeletionTimestamp(&now)
	o.SetLabels(map[string]string{"b": "c", "a": "b"})
	o.SetFinalizers([]string{"x/y"})
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: plane}})
	o.SetAnnotations(map[string]string{
		"kept": "yes", ImportAnnotation: plane, "clusterctl.cluster.x-k8s.io/block-move": plane, "clusterctl.cluster.x-k8s.io/delete-for-move": plane,
	})
	o.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "s", UID: "of " + "plane", Controller: &yes, BlockOwnerDeletion: &yes},
		{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "of " + "plane"},
	})
	return o
}

func TestTheCanonicalFormIsTheSameOnEveryPlane(t *testing.T) {
	o := machine("source")
	before := o.DeepCopy()
	got, err := Canonical(o)
	require.NoError(t, err)
	require.Equal(t, before, o, "the object is not altered")
	require.JSONEq(t, `{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": {
			"name": "m", "namespace": "apps", "generateName": "m-", "labels": {"a": "b", "b": "c"}, "annotations": {"kept": "yes"}, "finalizers": ["x/y"],
			"ownerReferences": [
				{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "s", "controller": true, "blockOwnerDeletion": true},
				{"apiVersion": "v1", "kind": "ConfigMap", "name": "c"}
			]
		},
		"spec": {"clusterName": "blue", "script": "a < b && c > \u2028", "size": 9223372036854775807}
	}`, string(got))
	require.Contains(t, string(got), "9223372036854775807")
	again, err := Canonical(machine("target"))
	require.NoError(t, err)
	require.Equal(t, string(got), string(again))

	o = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": "v"}}}
	o.SetName("s")
	o.SetAnnotations(map[string]string{ImportAnnotation: "p/u"})
	got, err = Canonical(o)
	require.NoError(t, err)
	require.Equal(t, `{"apiVersion":"v1","data":{"k":"v"},"kind":"Secret","metadata":{"name":"s"}}`, string(got))

	o.Object["spec"] = math.NaN()
	_, err = Canonical(o)
	require.ErrorContains(t, err, "Secret s: json: unsupported value")
}

func entries(n int) []Entry {
	var out []Entry
	for i := range n {
		e := Entry{
			Ref:        plane.Ref{Kind: "Secret", Namespace: "apps", Name: fmt.Sprintf("s-%04d", i)},
			APIVersion: "v1", UID: fmt.Sprintf("u-%d", i), Depth: i / 10, Stays: i%7 == 0, ReportsPaused: i%3 == 0,
			Object: []byte(fmt.Sprintf(`{"data":{"k":%q},"n":%d}`, strings.Repeat("<&\u2028", i%50), i)),
		}
		if i%5 == 0 {
			e.ManagedFields = []byte(`[{"manager":"m"}]`)
		}
		e.Digest = Sum(e.Object)
		out = append(out, e)
	}
	sorted(out)
	return out
}

func sorted(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return a.Compare(&b) })
}

func TestTheOrderIsByDepthThenName(t *testing.T) {
	e := func(depth int, name string) Entry { return Entry{Depth: depth, Ref: plane.Ref{Name: name}} }
	got := []Entry{e(1, "a"), e(0, "b"), e(10, "a"), e(0, "a"), e(2, "b")}
	sorted(got)
	require.Equal(t, []Entry{e(0, "a"), e(0, "b"), e(1, "a"), e(2, "b"), e(10, "a")}, got)
}

func TestTheDigestIsOfEachEntry(t *testing.T) {
	all := entries(3)
	digest := Digest(all)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", digest)
	seen := map[string]bool{digest: true, Digest(nil): true, Digest(all[:2]): true}
	for _, change := range []func(e *Entry){
		func(e *Entry) { e.Depth++ },
		func(e *Entry) { e.APIVersion = "v2" },
		func(e *Entry) { e.Ref.Name += "x" },
		func(e *Entry) { e.Ref.Group = "g" },
		func(e *Entry) { e.Stays = !e.Stays },
		func(e *Entry) { e.Digest = Sum(nil) },
	} {
		changed := entries(3)
		change(&changed[1])
		require.False(t, seen[Digest(changed)])
		seen[Digest(changed)] = true
	}
	require.Equal(t, digest, Digest(Outline(all)), "an outline has the digest of its snapshot")
}

func TestAnOutlineHasNoObjects(t *testing.T) {
	all := entries(6)
	for i, e := range Outline(all) {
		require.Nil(t, e.Object)
		require.Nil(t, e.ManagedFields)
		e.Object, e.ManagedFields = all[i].Object, all[i].ManagedFields
		require.Equal(t, all[i], e)
		require.NotNil(t, e.Object, "the entries are not altered")
	}
}
