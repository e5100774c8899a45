// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/readiness"
)

// ended is when Flux has given up on a layer in these tests.
var ended = time.Date(2026, 11, 30, 12, 10, 0, 0, time.UTC) //nolint:gochecknoglobals // a date

// waiting returns a delivery of one layer of a Deployment, a Job and a ConfigMap, of which the
// first two have timeouts, and Flux waits for all of them; and what Flux says of it.
func waiting(before v1alpha1.TransformStatus) (*delivery, *kustomizev1.Kustomization) {
	layer := &Layer{Name: "layer-00", Digest: "sha256:new", Objects: []ObjectRef{
		{Node: "web/api", Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "api", Timeout: metav1.Duration{Duration: time.Minute}},
		{Node: "web/job", Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "job", Timeout: metav1.Duration{Duration: 10 * time.Minute}},
		{Node: "web/config", Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "config"},
	}}
	for _, r := range layer.Objects {
		version := r.Version
		if r.Group != "" {
			version = r.Group + "/" + r.Version
		}
		layer.HealthChecks = append(layer.HealthChecks, meta.NamespacedObjectKindReference{APIVersion: version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
	d := (&Flux{}).begin(&v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Status: before})
	d.layers["layer-00"] = layer
	d.states = map[string]*state{"layer-00": {applied: true}}
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-layer-00"}}
	k.Spec.Timeout, k.Spec.HealthChecks = &metav1.Duration{Duration: layer.timeout(5 * time.Minute)}, layer.HealthChecks
	d.live = &cluster{kustomizations: map[string]*kustomizev1.Kustomization{"layer-00": k}}
	return d, k
}

// giveUp puts into a Kustomization that Flux has waited in vain.
func giveUp(k *kustomizev1.Kustomization, at time.Time, message string) {
	k.Status.Conditions = nil
	for condition, text := range map[string]string{meta.ReadyCondition: failedAfter + message, meta.HealthyCondition: message} {
		k.Status.Conditions = append(k.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionFalse, Reason: meta.HealthCheckFailedReason, Message: text, LastTransitionTime: metav1.NewTime(at),
		})
	}
}

// Messages of kustomize-controller 1.9.5.
const (
	failedAfter = "health check failed after 10m0.018173343s: "
	inVain      = "timeout waiting for: [Deployment/shop/api status: 'InProgress', ConfigMap/shop/config status: 'NotFound']"
)

func TestFluxWaitsAsLongAsTheLongestTimeoutOfALayer(t *testing.T) {
	d, _ := waiting(v1alpha1.TransformStatus{})
	layer := d.layers["layer-00"]
	require.Equal(t, 10*time.Minute, layer.timeout(5*time.Minute))
	require.Equal(t, 10*time.Minute, d.kustomization("layer-00", "", reference{}, false).Spec.Timeout.Duration)
	require.Equal(t, time.Hour, layer.timeout(time.Hour), "the ConfigMap has no timeout of its own")
	layer.HealthChecks = layer.HealthChecks[:2]
	require.Equal(t, 10*time.Minute, layer.timeout(time.Hour), "each object has its own")
	layer.HealthChecks = layer.HealthChecks[:1]
	require.Equal(t, time.Minute, layer.timeout(time.Hour), "Flux does not wait for the Job")
	layer.HealthChecks = nil
	require.Equal(t, time.Hour, layer.timeout(time.Hour), "Flux waits for nothing")
	require.Equal(t, 5*time.Minute, d.kustomization("retired", "", reference{}, false).Spec.Timeout.Duration)
}

func TestNodesThatPassTheirTimeoutsAreNamedInTheCondition(t *testing.T) {
	d, k := waiting(v1alpha1.TransformStatus{})
	g := []goal{{layer: "layer-00", keep: true, released: true}}
	require.NotContains(t, d.progress(g).Message, "past their timeout", "Flux reports none while it waits")

	// Flux has waited for 10 minutes, and the Deployment had one.
	giveUp(k, ended, inVain)
	p := d.progress(g)
	require.True(t, p.Failed)
	require.Equal(t, "web-layer-00: "+failedAfter+inVain+"; past their timeout: web/api since 2026-11-30T12:01:00Z", p.Message)
	require.Equal(t, "web/api", p.Nodes[0].ID)
	require.Equal(t, ended.Add(-9*time.Minute), p.Nodes[0].TimedOutAt.Time)
	require.Nil(t, p.Nodes[1].TimedOutAt, "the ConfigMap has no timeout")

	// Flux waits again, and gives up again: the first time counts.
	before := v1alpha1.TransformStatus{Layers: p.Layers, Nodes: p.Nodes}
	again, k := waiting(before)
	p = again.progress(g)
	require.False(t, p.Failed)
	require.Contains(t, p.Message, "; past their timeout: web/api since 2026-11-30T12:01:00Z")
	again.states["layer-00"].applied = false
	require.Equal(t, p.Message, again.progress(g).Message, "while Flux applies again")
	giveUp(k, ended.Add(time.Hour), inVain)
	require.Equal(t, ended.Add(-9*time.Minute), again.progress(g).Nodes[0].TimedOutAt.Time)

	// Another artifact has all of its time.
	before.Layers[0].Digest = "sha256:old"
	other, k := waiting(before)
	require.NotContains(t, other.progress(g).Message, "past their timeout")
	giveUp(k, ended.Add(time.Hour), inVain)
	require.Equal(t, ended.Add(51*time.Minute), other.progress(g).Nodes[0].TimedOutAt.Time)
}

func TestANodeThatHadNotAllOfItsTimeHasNotPassedItsTimeout(t *testing.T) {
	d, k := waiting(v1alpha1.TransformStatus{})
	g := []goal{{layer: "layer-00", keep: true, released: true}}
	giveUp(k, ended, "failed early due to stalled resources: [Deployment/shop/api status: 'InProgress', Job/shop/job status: 'Failed']")
	require.NotContains(t, d.progress(g).Message, "past their timeout", "Flux gave up at once because of the Job")
	giveUp(k, ended, "timeout waiting for: [Job/shop/job status: 'InProgress']")
	k.Spec.Timeout.Duration = 5 * time.Minute // It is not written yet.
	require.NotContains(t, d.progress(g).Message, "past their timeout")
}

// reader returns a client of a cluster with objects, and counts what it is asked for.
func reader(t *testing.T, asked *int, manifests ...string) client.Client {
	t.Helper()
	all := make([]client.Object, len(manifests))
	for i, text := range manifests {
		o := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		require.NoError(t, o.UnmarshalJSON(data))
		all[i] = o
	}
	return fake.NewClientBuilder().WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, of client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			*asked++
			return c.Get(ctx, of, o, opts...)
		},
	}).Build()
}

func TestObjectsAreReadOnRequest(t *testing.T) {
	d, k := waiting(v1alpha1.TransformStatus{})
	asked := 0
	d.Client = reader(t, &asked,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: shop}",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api, namespace: shop}\nspec: {replicas: 2}\nstatus: {replicas: 2, updatedReplicas: 2, readyReplicas: 1}",
	)
	k.Status.Conditions = []metav1.Condition{{Type: meta.HealthyCondition, Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(time.Now().Add(-2 * time.Minute).Truncate(time.Second))}}
	g := []goal{{layer: "layer-00", keep: true, released: true}}
	require.NoError(t, d.readNodes(t.Context(), g))
	require.Zero(t, asked, "the Transform does not ask for a reading")
	d.t.Spec.Delivery = &v1alpha1.Delivery{Flux: &v1alpha1.FluxDelivery{ReportNodes: true}}
	require.NoError(t, d.readNodes(t.Context(), g))
	p := d.progress(g)
	require.Equal(t, 3, asked)
	require.Equal(t, int32(1), *p.Layers[0].ReadyObjects)
	require.Equal(t, int32(3), p.Layers[0].ReadObjects)
	require.Len(t, p.Nodes, 2)
	require.Equal(t, []string{"web/api", "InProgress", "Available: 0/2"}, []string{p.Nodes[0].ID, p.Nodes[0].State, p.Nodes[0].Message})
	require.Equal(t, []string{"web/job", "it does not exist"}, []string{p.Nodes[1].ID, p.Nodes[1].Message})

	// A timeout that has passed is known before Flux gives up.
	require.NotNil(t, p.NodesReadAt)
	require.Equal(t, k.Status.Conditions[0].LastTransitionTime.Add(time.Minute), p.Nodes[0].TimedOutAt.Time)
	require.Nil(t, p.Nodes[1].TimedOutAt, "the Job has 10 minutes")
	require.Contains(t, p.Message, "; past their timeout: web/api since ")

	// A reading holds for a while, and then is made anew.
	d.readings, d.readAt = map[string]reading{}, nil
	d.t.Status = v1alpha1.TransformStatus{Layers: p.Layers, Nodes: p.Nodes, NodesReadAt: p.NodesReadAt}
	require.NoError(t, d.readNodes(t.Context(), g))
	require.Equal(t, p, d.progress(g))
	require.Equal(t, 3, asked)
	d.t.Status.NodesReadAt.Time = time.Now().Add(-time.Minute)
	require.NoError(t, d.readNodes(t.Context(), g))
	require.Equal(t, 6, asked)

	// What is Ready is not read.
	d.states["layer-00"].healthy, d.readings, d.readAt = true, map[string]reading{}, nil
	d.t.Status.NodesReadAt = nil
	require.NoError(t, d.readNodes(t.Context(), g))
	require.Equal(t, 6, asked)
	require.Nil(t, d.progress(g).NodesReadAt)
}

func TestReadingsAreBounded(t *testing.T) {
	d, _ := waiting(v1alpha1.TransformStatus{})
	asked := 0
	d.Client = reader(t, &asked)
	d.t.Spec.Delivery = &v1alpha1.Delivery{Flux: &v1alpha1.FluxDelivery{ReportNodes: true}}
	for len(d.layers["layer-00"].Objects) < 300 {
		d.layers["layer-00"].Objects = append(d.layers["layer-00"].Objects, ObjectRef{Version: "v1", Kind: "Pod", Namespace: "shop", Name: "a"})
	}
	g := []goal{{layer: "layer-00", keep: true, released: true}}
	require.NoError(t, d.readNodes(t.Context(), g))
	require.Equal(t, readiness.MaxObjects, asked)
	require.Equal(t, int32(readiness.MaxObjects), d.progress(g).Layers[0].ReadObjects)
	require.Equal(t, int32(300), d.progress(g).Layers[0].Objects)

	// Only Flux can read another cluster.
	d.t.Spec.Delivery.Flux.KubeConfig = &meta.KubeConfigReference{}
	require.NoError(t, d.readNodes(t.Context(), g))
	require.Equal(t, readiness.MaxObjects, asked)
}
