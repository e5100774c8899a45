// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

func machine(change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": map[string]any{"name": "m"},
		"status": map[string]any{"nodeRef": map[string]any{"name": "n"}}}}
	for _, f := range change {
		f(o)
	}
	return o
}

func has(path []string, conditions ...map[string]any) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		var list []any
		for _, c := range conditions {
			list = append(list, c)
		}
		set(list, path...)(o)
	}
}

func TestObjectsAreBusyByContract(t *testing.T) {
	older, newer := []string{"status", "v1beta2", "conditions"}, []string{"status", "conditions"}
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   []string
	}{
		"at rest":  {object: machine(set(int64(3), "status", "observedGeneration"), func(o *unstructured.Unstructured) { o.SetGeneration(3) })},
		"deleting": {machine(func(o *unstructured.Unstructured) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }), []string{Deleting}},
		"conditions of v1beta2": {machine(has(newer, map[string]any{"type": "RollingOut", "status": "True", "reason": "RollingOut", "message": "Rolling out 1\n  of 3"},
			map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "ScalingUp", "status": "False"}, map[string]any{"type": "Deleting", "status": "True"})),
			[]string{"condition RollingOut is True: RollingOut: Rolling out 1 of 3", "condition Deleting is True"}},
		"conditions of v1beta2 in v1beta1": {machine(has(older, map[string]any{"type": "ScalingDown", "status": "True", "reason": "Fewer"}, map[string]any{"type": "Remediating", "status": "True"}),
			has(newer, map[string]any{"type": "Ready", "status": "False"})), []string{"condition ScalingDown is True: Fewer", "condition Remediating is True"}},
		"generation that was not observed": {machine(set(int64(3), "status", "observedGeneration"), func(o *unstructured.Unstructured) { o.SetGeneration(4) }),
			[]string{"observedGeneration 3 of 4"}},
		"generation of what is paused":     {object: machine(set(int64(3), "status", "observedGeneration"), set(true, "spec", "paused"), func(o *unstructured.Unstructured) { o.SetGeneration(4) })},
		"machine without node":             {machine(func(o *unstructured.Unstructured) { delete(o.Object, "status") }), []string{"has no node yet"}},
		"machine of another group":         {object: machine(func(o *unstructured.Unstructured) { o.SetAPIVersion("example.org/v1"); delete(o.Object, "status") })},
		"replicas that are not up to date": {machine(set(int64(3), "spec", "replicas"), set(float64(2), "status", "upToDateReplicas")), []string{"2 of 3 replicas are up to date"}},
		"replicas of v1beta1":              {machine(set(int64(2), "status", "replicas"), set(int64(1), "status", "v1beta2", "upToDateReplicas")), []string{"1 of 2 replicas are up to date"}},
		"replicas that are up to date":     {object: machine(set(int64(2), "spec", "replicas"), set(int64(2), "status", "upToDateReplicas"))},
		"nothing that is expected":         {object: machine(set("x", "spec"), set("y", "status", "conditions"))},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, busy(c.object)) })
	}
}

func field(manager, fields, subresource string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
	f := metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, FieldsType: "FieldsV1"}
	if fields != "" {
		f.FieldsV1 = metav1.NewFieldsV1(fields)
	}
	return f
}

func TestManagersThatPausedTheClusterAreNamed(t *testing.T) {
	o := machine(set(true, "spec", "paused"))
	require.Equal(t, "an unknown field manager", PausedBy(o))
	o.SetManagedFields([]metav1.ManagedFieldsEntry{
		field("kubectl", `{"f:spec":{"f:paused":{}}}`, "", "Update"), field("argocd", `{"f:spec":{"f:paused":{}}}`, "", "Apply"),
		field("kubectl", `{"f:spec":{"f:paused":{}}}`, "", "Apply"), field("manager", `{"f:status":{}}`, "status", "Update"),
		field("empty", "", "", "Update"), field("odd", `{"f:spec":[]}`, "", "Update"),
	})
	require.Equal(t, "argocd, kubectl", PausedBy(o))
	o.SetAnnotations(map[string]string{pausedAnnotation: "true"})
	require.Equal(t, "argocd, kubectl, annotation", PausedBy(o))
	set(false, "spec", "paused")(o)
	require.Equal(t, "annotation", PausedBy(o))
	o.SetAnnotations(nil)
	require.Empty(t, PausedBy(o))
}

func TestItemsSayWhatAPivotWaitsFor(t *testing.T) {
	w := newWorld("v1beta2")
	blue := w.ordinary("blue", 0)
	set(true, "spec", "paused")(blue)
	has([]string{"status", "conditions"}, map[string]any{"type": "Paused", "status": "True"})(blue)
	blue.SetManagedFields([]metav1.ManagedFieldsEntry{
		field("kubectl", `{"f:spec":{"f:paused":{}}}`, "", "Update"), field("topology", `{"f:spec":{}}`, "", "Apply"), field("status", `{"f:status":{}}`, "status", "Apply"),
	})
	w.add(infraGroup, "BoxMachine", "slow", of("blue"), func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{blockAnnotation: ""}) },
		has([]string{"status", "v1beta2", "conditions"}, map[string]any{"type": "Paused", "status": "False"}))
	got, err := w.read(t, "blue")
	require.NoError(t, err)
	require.Equal(t, "kubectl", got.PausedBy)
	c := item(t, got, "Cluster", "blue")
	require.True(t, c.ReportsPaused)
	require.Contains(t, string(c.ManagedFields), `"topology"`)
	require.NotContains(t, string(c.ManagedFields), "kubectl")
	require.NotContains(t, string(c.ManagedFields), "f:status")
	slow := item(t, got, "BoxMachine", "slow")
	require.True(t, slow.ReportsPaused)
	require.True(t, slow.Blocks)
	require.NotContains(t, string(slow.Object), blockAnnotation)
	require.Empty(t, slow.ManagedFields)
	require.False(t, item(t, got, "Secret", "blue-ca").ReportsPaused)
}

// FuzzNode reads objects that no schema has checked.
func FuzzNode(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"a","namespace":"apps","labels":{"cluster.x-k8s.io/cluster-name":"a"}},` +
		`"spec":{"topology":{"classRef":{"name":"c"}},"infrastructureRef":{"apiGroup":"g","kind":"Machine","name":"x"},"paused":true},"status":{"conditions":[{"type":"Paused","status":"True"}]}}`))
	f.Add([]byte(`{"apiVersion":"a/b/c","kind":"Machine","metadata":{"ownerReferences":[{"apiVersion":"/","uid":3}],"managedFields":[{"fieldsV1":[]}]},"spec":[[{"kind":"Machine","name":{}}]],"status":3}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"-ca","labels":[],"annotations":7,"generation":"x"},"data":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := &unstructured.Unstructured{}
		if json.Unmarshal(data, &o.Object) != nil || o.Object == nil {
			return
		}
		s := &scan{cluster: types.NamespacedName{Namespace: "apps", Name: "a"}, named: map[string]bool{"Machine": true}}
		for _, kind := range []plane.Kind{{Group: ClusterGroup, Kind: "Cluster", Namespaced: true}, {Group: "g", Kind: "Machine"}, plane.SecretKind} {
			n, err := s.newNode(kind, o.DeepCopy())
			require.NoError(t, err)
			if n.isCluster() {
				m := link([]*node{n}).members(n, []*node{n}, Options{})
				require.True(t, m.in[n])
				m.setDepths()
			}
		}
	})
}
