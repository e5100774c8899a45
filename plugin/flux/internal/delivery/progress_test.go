// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
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
