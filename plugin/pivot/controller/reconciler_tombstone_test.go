// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// moved is a world whose cluster is in charge of itself.
func moved(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.observe()
	w.bootstraps()
	w.until(w.controller, "in charge of itself", pivoted)
	return w
}

// rebuilt is a controller on an empty API server, with the registry of before.
func (w *world) rebuilt(parent string, uid types.UID) {
	w.Helper()
	w.parent, w.from = cluster(w.T, parent), planetest.New("rebuilt", kinds()...)
	system := planetest.Object("v1", "Namespace", "", "kube-system")
	system.SetUID(types.UID(parent))
	w.from.Put(system)
	endpoints := w.controller.Endpoints
	w.controller = w.reconciler(w.parent, w.from, parent, &Endpoints{Given: endpoints.Given, Namespace: "ropewalk-system"})
	w.placed()
	c := w.cluster()
	c.UID = uid
	require.NoError(w, w.parent.Create(w.Context(), c))
}

func TestAParentThatIsRebuiltProvisionsNothing(t *testing.T) {
	w := moved(t)
	w.rebuilt("rebuilt-uid", "pc-2")
	c := w.settle()
	require.True(t, pivoted(c))
	require.Equal(t, v1alpha1.PhaseDegraded, c.Status.Phase)
	require.Equal(t, "Done", c.Status.Pivot.Step)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", c.Status.Pivot.Tombstone)
	require.Contains(t, ready(c), "in charge of itself; its agent is not connected: change it there")
	w.bare()
	require.NotNil(t, w.from.Object(plane.Ref{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding", Name: "ropewalk-pivot-" + name}), "no engine may make it here")

	// From now on the status decides, also where the registry is away.
	w.controller.Delivery.Open = unasked
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.KubernetesVersion = "v1.40.0" })
	require.True(t, pivoted(w.settle()))
	w.bare()
}

func unasked(context.Context, *v1alpha1.Transform) (artifact.Store, error) {
	return nil, errors.New("registry.test: connection refused")
}

func TestATombstoneOfAnotherClusterStopsAUserOfItsName(t *testing.T) {
	w := moved(t)
	w.rebuilt("parent-uid", "pc-9")
	c := w.settle()
	require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase)
	stalled := apimeta.FindStatusCondition(c.Status.Conditions, "Stalled")
	require.NotNil(t, stalled)
	require.Contains(t, stalled.Message, "the tombstone of another cluster")
	require.Contains(t, stalled.Message, "this PivotCluster has UID pc-9: nothing is provisioned")
	w.bare()
}

func TestARegistryThatCannotBeAskedStopsEverything(t *testing.T) {
	w := newWorld(t)
	w.placed()
	open := w.controller.Delivery.Open
	w.controller.Delivery.Open = unasked
	_, err := w.reconcile()
	require.NoError(t, err) // The finalizer.
	c, err := w.reconcile()
	require.ErrorContains(t, err, "connection refused")
	require.Equal(t, v1alpha1.PhasePending, c.Status.Phase)
	require.Equal(t, "nothing is provisioned before it is known whether the cluster is in charge of itself already: registry.test: connection refused", ready(c))
	require.True(t, apimeta.IsStatusConditionTrue(c.Status.Conditions, "Reconciling"))
	w.bare()

	w.controller.Delivery.Open = open
	w.settle()
	require.True(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
	// What is being provisioned by this parent has none yet.
	w.controller.Delivery.Open = unasked
	w.settle()
}

func TestAFinalizerRequestsAnotherLook(t *testing.T) {
	w := newWorld(t)
	w.placed()
	out, err := w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	require.NoError(t, err)
	require.Equal(t, []string{Finalizer}, w.read().Finalizers)
	require.Positive(t, out.RequeueAfter, "a finalizer is no new generation")
	w.bare()
	_, err = w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "other"}})
	require.NoError(t, err)
}

func TestASuspendedClusterIsNotProvisioned(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Suspend = true })
	c := w.settle()
	require.Empty(t, c.Status.Conditions)
	w.bare()
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Suspend = false })
	require.Equal(t, v1alpha1.PhasePending, w.settle().Status.Phase)
	require.True(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
}

func TestARecordOfAClusterThatIsItsOwnGivesItsAgentATokenAgain(t *testing.T) {
	w := moved(t)
	w.rebuilt("rebuilt-uid", "pc-2")
	w.settle()
	w.bare()
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.Rejoin = "rebuilt" })
	c := w.settle()
	require.Equal(t, "rebuilt", c.Status.Enrolment.Rejoin)
	var s corev1.Secret
	require.True(t, w.there(&s, "rw-blue", EnrolSecret(name)))
	hash := c.Status.Enrolment.TokenHash
	require.Equal(t, hash, w.settle().Status.Enrolment.TokenHash, "made once")
	require.False(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))

	// Lost between the two writes.
	require.NoError(t, w.parent.Delete(t.Context(), &s))
	require.NotEqual(t, hash, w.settle().Status.Enrolment.TokenHash)
	require.True(t, w.there(&s, "rw-blue", EnrolSecret(name)))
}

// The parent is lost between the activation of the cluster and its own tombstone.
func TestAClusterInChargeWritesTheTombstoneThatItsParentCouldNot(t *testing.T) {
	w := newWorld(t)
	w.observe()
	w.bootstraps()
	open := w.controller.Delivery.Open
	w.controller.Delivery.Open, w.itself.Delivery.Open = unasked, unasked
	fails := func(r *Reconciler, text string) {
		require.Eventually(t, func() bool {
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
			return err != nil && err.Error() == text
		}, time.Minute, 10*time.Millisecond)
	}
	fails(w.controller, "ending the delivery by GitOps: registry.test: connection refused")
	r, err := state.Read(t.Context(), w.to.Plane(), keyOf(w.cluster()))
	require.NoError(t, err)
	require.True(t, r.InCharge())
	fails(w.itself, "a parent that is built again would provision this cluster again, as its tombstone cannot be written: registry.test: connection refused")
	w.itself.Delivery.Open = open
	c := w.until(w.itself, "the cluster has written it", func(c *v1alpha1.PivotCluster) bool { return c.Status.Pivot.Tombstone != "" })

	// The parent of before takes it for its own, and one that is rebuilt finds it.
	w.controller.Delivery.Open = open
	of := w.until(w.controller, "done", pivoted)
	require.Equal(t, c.Status.Pivot.Tombstone, of.Status.Pivot.Tombstone)
	w.rebuilt("rebuilt-uid", "pc-2")
	require.Equal(t, c.Status.Pivot.Tombstone, w.settle().Status.Pivot.Tombstone)
	w.bare()
}
