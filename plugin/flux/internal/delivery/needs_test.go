// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
)

// needing returns a delivery of two layers, of which the second one needs something, to a cluster
// with a Secret.
func needing(t *testing.T, need object.Need) *delivery {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	there := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	transform := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	layers := []Layer{
		{Name: "layer-00", Objects: []ObjectRef{{Node: "web/config"}}},
		{Name: "layer-01", After: []string{"layer-00"}, Objects: []ObjectRef{{Node: "web/api"}, {Node: "web/job"}}},
	}
	AddNeeds(layers, map[string][]object.Need{"web/api": {need.In("shop")}})
	d := (&Flux{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build()}).begin(transform)
	d.states = map[string]*state{}
	for i := range layers {
		d.layers[layers[i].Name] = &layers[i]
		d.desired = append(d.desired, desired{name: layers[i].Name, digest: "new " + layers[i].Name, after: layers[i].After, content: content{key(layers[i].Name): {sum: "new"}}})
	}
	return d
}

func TestALayerWaitsForWhatItsNodesNeed(t *testing.T) {
	d := needing(t, object.Need{Kind: "Secret", Name: "other"})
	refused, err := d.findLacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, refused.Reason)
	const lacks = "waits for Secret shop/other, which web/api needs: it does not exist"
	first := &state{name: "layer-00", digest: "new layer-00", applied: true, healthy: true, known: true, content: d.desired[0].content, inventory: has("layer-00")}
	d.states["layer-00"] = first
	goals := map[string]goal{}
	for _, g := range plan(d.desired, d.states, rivals{}) {
		goals[g.layer] = g
	}
	require.Equal(t, lacks, goals["layer-01"].waits)
	require.Empty(t, goals["layer-00"].waits, "it needs nothing")

	// The condition names the object.
	d.live = &cluster{}
	got := d.progress([]goal{goals["layer-01"]})
	require.Equal(t, v1alpha1.NeedsReason, got.Reason)
	require.Equal(t, "web-layer-01: "+lacks, got.Message)
	require.Equal(t, v1alpha1.LayerWaiting, got.Layers[0].State)

	// What is there is not waited for, and what has the digest is not asked about any more.
	d = needing(t, object.Need{Kind: "Secret", Name: "db"})
	_, err = d.findLacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, d.desired[1].lacks)
	d = needing(t, object.Need{Kind: "Secret", Name: "other"})
	d.states["layer-01"] = &state{name: "layer-01", digest: "new layer-01"}
	_, err = d.findLacks(t.Context())
	require.NoError(t, err)
	require.Empty(t, d.desired[1].lacks)
}

func TestNeedsOfAnotherClusterAreRefused(t *testing.T) {
	d := needing(t, object.Need{Kind: "Secret", Name: "db"})
	d.t.Spec.Delivery = &v1alpha1.Delivery{Flux: &v1alpha1.FluxDelivery{KubeConfig: &meta.KubeConfigReference{}}}
	refused, err := d.findLacks(t.Context())
	require.NoError(t, err)
	require.True(t, refused.Stalled)
	require.Contains(t, refused.Message, "needs cannot be checked in the cluster of spec.delivery.flux.kubeConfig")
}

func TestAConditionThatIsNeededIsTrueForThePresentGeneration(t *testing.T) {
	condition := func(status string, more ...any) map[string]any {
		c := map[string]any{"type": "Ready", "status": status}
		if len(more) > 0 {
			c["observedGeneration"] = more[0]
		}
		return map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"}, c}}
	}
	for name, is := range map[string]struct {
		status map[string]any
		want   string
	}{
		"true":                          {condition("True"), ""},
		"true of this generation":       {condition("True", int64(2)), ""},
		"false":                         {condition("False"), "its condition Ready is False"},
		"true of an earlier generation": {condition("True", int64(1)), "its condition Ready is of an earlier generation"},
		"no status":                     {nil, "it has no condition Ready yet"},
		"a status of an earlier one":    {map[string]any{"observedGeneration": int64(1)}, "its status is of an earlier generation"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(2)}}}
			if is.status != nil {
				o.Object["status"] = is.status
			}
			require.Equal(t, is.want, notTrue(o, "Ready"))
		})
	}
}
