// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// hostile is a request of a parent for a pivot.
func hostile(op state.Op, pivot string) state.Request {
	return state.Request{
		Op: op, Pivot: pivot, Epoch: 9, Source: &state.Peer{UID: "parent-uid"},
		Cluster: plane.Ref{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "rw-blue", Name: name},
	}
}

// inCharge are the ways in which a child knows that it is in charge of itself.
func inCharge(w *world) map[string]func() {
	role := func(role state.Role, step state.Step) func() {
		return func() { w.receiptOf(role, step) }
	}
	return map[string]func(){
		"activated":                              role(state.RoleTarget, state.Active),
		"done":                                   role(state.RoleTarget, state.Done),
		"a move to another cluster is under way": role(state.RoleSource, state.Frozen),
		"a move to another cluster was aborted":  role(state.RoleSource, state.Aborted),
		"a user has deleted its receipt": func() {
			w.child.Remove(plane.Ref{Kind: "ConfigMap", Namespace: "rw-blue", Name: state.ReceiptName(name)})
			c := &v1alpha1.PivotCluster{}
			require.NoError(w, w.client.Get(w.Context(), types.NamespacedName{Name: name}, c))
			c.Status.Pivot = &v1alpha1.PivotStatus{ID: "p1", Step: "Done"}
			c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.PivotedCondition, Status: metav1.ConditionTrue}}
			require.NoError(w, w.client.Update(w.Context(), c))
		},
	}
}

// With another pivot a parent would be in charge again.
func TestAClusterInChargeOfItselfIsNotTheTargetOfAnotherPivot(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	for name, make := range inCharge(w) {
		make()
		before, err := state.Read(t.Context(), w.child.Plane(), types.NamespacedName{Namespace: "rw-blue", Name: "blue"})
		require.NoError(t, err)
		for _, op := range []state.Op{state.Check, state.Prepare, state.Abort} {
			answer := a.Pivot(t.Context(), hostile(op, "evil"))
			require.Equal(t, state.Blocked, answer.Refused, "%s: %s", name, op)
			require.Contains(t, answer.Message, `PivotCluster "blue" is in charge of itself`)
			row(t, "another pivot, "+string(op)+", after the first: "+name, string(answer.Refused), w.logged("a request of a pivot is refused", `"operation"="`+string(op)+`"`))
		}
		after, err := state.Read(t.Context(), w.child.Plane(), types.NamespacedName{Namespace: "rw-blue", Name: "blue"})
		require.NoError(t, err)
		require.Equal(t, before, after, name)
		require.Empty(t, a.Pivot(t.Context(), hostile(state.Hello, "")).Refused)

		// Nor does a parent write anything else.
		require.NoError(t, a.bootstrap(t.Context(), sent(t, func(b *bootstrap.Bootstrap) { b.Spec.KubernetesVersion = "v1.40.0" })))
		own, err := a.own(t.Context())
		require.NoError(t, err)
		require.Equal(t, "v1.36.3", own.Spec.KubernetesVersion, name)
	}
}

// The answers of the parent that gave the cluster away may be lost, and so may the receipt.
func TestTheOwnPivotOfAClusterIsFinished(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	w.receipt(state.Active)
	require.Empty(t, a.Pivot(t.Context(), hostile(state.Prepare, "p1")).Refused)
	require.Empty(t, a.Pivot(t.Context(), hostile(state.Finish, "p1")).Refused)

	inCharge(w)["a user has deleted its receipt"]()
	require.Equal(t, state.Blocked, a.Pivot(t.Context(), hostile(state.Prepare, "p1")).Refused, "it would be the target of an import")
	again := hostile(state.Prepare, "p1")
	again.Active = true
	require.Empty(t, a.Pivot(t.Context(), again).Refused)
	r, err := state.Read(t.Context(), w.child.Plane(), types.NamespacedName{Namespace: "rw-blue", Name: name})
	require.NoError(t, err)
	require.True(t, r.InCharge())
}

func TestARequestThatComesWithAnotherIdentityIsRefused(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	key, err := enrol.NewKey()
	require.NoError(t, err)
	certificate, err := w.endpoint.Authority().Issue(&key.PublicKey, enrol.Identity{Parent: "parent-uid", Cluster: "pc-2"}, w.now())
	require.NoError(t, err)
	a.identity.Store(&enrol.Credentials{Key: key, Certificate: certificate})
	answer := a.Pivot(t.Context(), hostile(state.Prepare, "evil"))
	require.Equal(t, `the cluster is "parent-uid/pc-1", and its agent is enrolled as "parent-uid/pc-2"`, answer.Message)
	row(t, "a pivot by way of another identity", string(answer.Refused), w.logged("a request of a pivot is refused"))
	for _, other := range []string{name, "green"} {
		err := a.bootstrap(t.Context(), sent(t, func(b *bootstrap.Bootstrap) { b.Identity, b.Name = "parent-uid/pc-2", other }))
		require.ErrorContains(t, err, `this cluster is PivotCluster "blue", "parent-uid/pc-1"`)
	}
	var all v1alpha1.PivotClusterList
	require.NoError(t, w.client.List(t.Context(), &all))
	require.Len(t, all.Items, 1)
}

// A fault that passes must not abort the pivot.
func TestARequestIsUnavailableWhileTheAPIServerIs(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	w.faults.List = func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return apierrors.NewTooManyRequests("slow down", 1)
	}
	require.Equal(t, state.Unavailable, a.Pivot(t.Context(), hostile(state.Prepare, "p1")).Refused)
}

// The parent must not end the process by what it sends.
func TestABootstrapWithoutGitOpsIsRefused(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	for _, engine := range []v1alpha1.Engine{"", v1alpha1.EngineFlux, v1alpha1.EngineArgoCD} {
		for _, source := range []*v1alpha1.GitOpsSource{nil, {Kind: "GitRepository"}} {
			if engine != v1alpha1.EngineArgoCD && source != nil {
				continue
			}
			err := a.bootstrap(t.Context(), sent(t, func(b *bootstrap.Bootstrap) {
				b.Spec.GitOps = v1alpha1.GitOps{Engine: engine, Source: source}
			}))
			require.ErrorContains(t, err, "the GitOps of the PivotCluster has no artifact")
		}
	}
}
