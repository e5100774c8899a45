// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestTheTransformOfACluster(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.Rejoin = "1" })
	w.settle()
	var transform v1alpha1.Transform
	require.True(t, w.there(&transform, "rw-blue", name))
	require.Equal(t, v1alpha1.CueReference{Type: "embedded", Ref: "cluster"}, *transform.Spec.CueRef)
	require.Equal(t, "ropewalk-delivery", transform.Spec.ServiceAccountName)
	require.Equal(t, w.cluster().Spec.Output, *transform.Spec.Output)
	input := map[string]any{}
	require.NoError(t, json.Unmarshal(transform.Spec.Input.Raw, &input))
	require.Equal(t, false, input["self"])
	require.Equal(t, "v1.36.3", input["kubernetesVersion"])
	require.NotContains(t, input, "agent")
	require.NotContains(t, input, "suspend")
	var binding rbacv1.RoleBinding
	require.True(t, w.there(&binding, "rw-blue", "ropewalk-delivery"))
	require.Equal(t, "ropewalk-cluster-delivery", binding.RoleRef.Name)
	require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "rw-blue", Name: "ropewalk-delivery"}}, binding.Subjects)
	require.True(t, w.there(&corev1.ServiceAccount{}, "rw-blue", "ropewalk-delivery"))

	// An edit is rendered; what a pivot has frozen stays so, and what another client wrote does not.
	require.NoError(t, w.parent.Get(t.Context(), client.ObjectKeyFromObject(&transform), &transform))
	transform.Spec.Suspend, transform.Spec.ServiceAccountName = true, "admin"
	require.NoError(t, w.parent.Update(t.Context(), &transform))
	w.edit(func(c *v1alpha1.PivotCluster) {
		c.Spec.KubernetesVersion = "v1.37.0"
		c.Spec.ClusterModule = &v1alpha1.CueReference{Type: "oci", Ref: "oci://registry.test/cluster:v2"}
	})
	w.settle()
	require.NoError(t, w.parent.Get(t.Context(), client.ObjectKeyFromObject(&transform), &transform))
	require.Contains(t, string(transform.Spec.Input.Raw), `"kubernetesVersion":"v1.37.0"`)
	require.Equal(t, "oci://registry.test/cluster:v2", transform.Spec.CueRef.Ref)
	require.True(t, transform.Spec.Suspend)
	require.Equal(t, "ropewalk-delivery", transform.Spec.ServiceAccountName)
}

func TestATransformOfAnotherClientIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.placed()
	theirs := &v1alpha1.Transform{ObjectMeta: named("rw-blue", name), Spec: v1alpha1.TransformSpec{ServiceAccountName: "theirs"}}
	require.NoError(t, w.parent.Create(t.Context(), theirs))
	c := w.settle()
	require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase)
	require.True(t, apimeta.IsStatusConditionTrue(c.Status.Conditions, "Stalled"))
	require.Equal(t, "Transform rw-blue/blue exists and is not of this PivotCluster: delete it", ready(c))
	var live v1alpha1.Transform
	require.True(t, w.there(&live, "rw-blue", name))
	require.Equal(t, theirs.Spec, live.Spec)

	require.NoError(t, w.parent.Delete(t.Context(), theirs))
	c = w.settle()
	require.Equal(t, v1alpha1.PhasePending, c.Status.Phase)
	require.False(t, apimeta.IsStatusConditionTrue(c.Status.Conditions, "Stalled"))
}

func TestTheEngineThatDelivers(t *testing.T) {
	argocd := &v1alpha1.Delivery{Type: v1alpha1.EngineArgoCD, ArgoCD: &v1alpha1.ArgoCDDelivery{Namespace: "ci"}}
	flux := &v1alpha1.Delivery{Type: v1alpha1.EngineFlux}
	for name, c := range map[string]struct {
		parent *v1alpha1.Delivery
		child  v1alpha1.Engine
		self   bool
		want   *v1alpha1.Delivery
	}{
		"the usual one of a parent":                {nil, v1alpha1.EngineArgoCD, false, flux},
		"that of the spec, on the parent":          {argocd, v1alpha1.EngineFlux, false, argocd},
		"that of the child, on itself":             {argocd, v1alpha1.EngineFlux, true, flux},
		"that of the child, Argo CD":               {flux, v1alpha1.EngineArgoCD, true, &v1alpha1.Delivery{Type: v1alpha1.EngineArgoCD, ArgoCD: &v1alpha1.ArgoCDDelivery{}}},
		"the same on both, with what the spec has": {argocd, v1alpha1.EngineArgoCD, true, argocd},
		"the usual one of a child":                 {nil, v1alpha1.EngineFlux, true, flux},
	} {
		of := &v1alpha1.PivotCluster{Spec: v1alpha1.PivotClusterSpec{Delivery: c.parent, GitOps: v1alpha1.GitOps{Engine: c.child}}}
		require.Equal(t, c.want, delivery(of, c.self), name)
	}
}

func TestThePhaseOfAClusterThatIsItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		ready, wanted int32
		connected     bool
		phase         v1alpha1.PivotClusterPhase
		says          string
	}{
		"all is well":         {3, 3, true, v1alpha1.PhaseReady, "in charge of itself"},
		"a node is not ready": {2, 3, true, v1alpha1.PhaseDegraded, "in charge of itself; 2 of 3 nodes are ready"},
		"its agent is away":   {3, 3, false, v1alpha1.PhaseDegraded, "in charge of itself; its agent is not connected"},
		"no nodes are known":  {0, 0, true, v1alpha1.PhaseDegraded, "in charge of itself; its agent has reported no nodes"},
		"one node more":       {4, 3, true, v1alpha1.PhaseReady, "in charge of itself"},
	} {
		phase, message := phaseOf(observation{Nodes: v1alpha1.NodeCounts{Ready: c.ready, Wanted: c.wanted}}, c.connected)
		require.Equal(t, c.phase, phase, name)
		require.Equal(t, c.says, message, name)
	}
}

func TestNodesThatAreWanted(t *testing.T) {
	two, none := int32(2), int32(0)
	c := &v1alpha1.PivotCluster{Spec: v1alpha1.PivotClusterSpec{
		ControlPlane: v1alpha1.ControlPlane{Replicas: 3}, Workers: []v1alpha1.WorkerPool{{Replicas: &two}, {}, {Replicas: &none}},
	}}
	require.EqualValues(t, 6, wantedNodes(c, 9))
	require.EqualValues(t, 1, wantedNodes(&v1alpha1.PivotCluster{}, 0))

	// An autoscaler has added four machines to the two that it begins with.
	c.Spec.Workers = append(c.Spec.Workers, v1alpha1.WorkerPool{Autoscale: &v1alpha1.Autoscale{Min: 2, Max: 10}})
	require.EqualValues(t, 8, wantedNodes(c, 0))
	require.EqualValues(t, 12, wantedNodes(c, 9))
}

// A user sees on the PivotCluster why nothing comes of an edit.
func TestASpecThatIsNotDeliveredIsShown(t *testing.T) {
	w := moved(t)
	require.NoError(t, w.child.Create(t.Context(), available(1)))
	w.until(w.itself, "ready", phase(v1alpha1.PhaseReady))
	transform := &v1alpha1.Transform{}
	fails := func(c client.Client) {
		require.NoError(t, c.Get(t.Context(), types.NamespacedName{Namespace: "rw-blue", Name: name}, transform))
		transform.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Invalid", Message: "input.workers.0: no such field", ObservedGeneration: transform.Generation}}
		require.NoError(t, c.Update(t.Context(), transform))
	}
	fails(w.child)
	c := w.until(w.itself, "degraded", phase(v1alpha1.PhaseDegraded))
	require.Equal(t, "in charge of itself; Transform rw-blue/blue: Invalid: input.workers.0: no such field", ready(c))

	w = newWorld(t)
	w.placed()
	w.settle()
	fails(w.parent)
	require.Equal(t, "the engine has not applied the Cluster yet: Transform rw-blue/blue: Invalid: input.workers.0: no such field", ready(w.settle()))
	transform.Status.Conditions[0].Reason = "Progressing"
	require.Empty(t, undelivered(transform))
}

// The server that fails is tried again; a user has nothing to change.
func TestCredentialsThatCannotBeReadAreNoFailure(t *testing.T) {
	w := newWorld(t)
	w.controller.client = interceptor.NewClient(w.parent.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == "cloud" {
				return apierrors.NewTooManyRequests("slow down", 1)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	of := w.cluster()
	of.Spec.Provider.Credentials = []v1alpha1.ObjectKey{{Namespace: "capa-system", Name: "cloud"}}
	_, err := w.controller.parts().parent.givers.give(t.Context(), of, Child{})
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	rejected := (*rejection)(nil)
	require.NotErrorAs(t, err, &rejected)
	of.Spec.Provider.Credentials[0].Name = "none"
	_, err = w.controller.parts().parent.givers.give(t.Context(), of, Child{})
	require.ErrorAs(t, err, &rejected)
}
