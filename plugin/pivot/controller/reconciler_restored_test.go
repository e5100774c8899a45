// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// backup is a parent that was restored from a backup of before the pivot: it has the Transform
// and the Cluster. With a backup of etcd it has the status too.
func (w *world) backup(parent string, uid types.UID, status bool) {
	w.Helper()
	w.rebuilt(parent, uid)
	transform, err := transformOf(w.cluster(), false)
	require.NoError(w, err)
	require.NoError(w, w.parent.Create(w.Context(), transform))
	w.provision()
	w.edit(func(c *v1alpha1.PivotCluster) { c.Finalizers = []string{Finalizer} })
	if status {
		c := w.read()
		_, c.Status.Enrolment = enrol.Mint("", w.now())
		c.Status.Enrolment.PublicKey = strings.Repeat("0", 64)
		c.Status.Phase = v1alpha1.PhaseProvisioning
		require.NoError(w, w.parent.Status().Update(w.Context(), c))
	}
}

// The worst that a parent could do: the child is in charge of the machines.
func TestAParentThatWasRestoredDeletesNoMachines(t *testing.T) {
	w := moved(t)
	for _, of := range []struct {
		what, parent string
		uid          types.UID
		status       bool
		says         string
	}{
		{"a backup of etcd", "parent-uid", "pc-1", true, "this parent has objects of it all the same: it was restored from a backup of before the pivot"},
		{"a backup of objects, on another parent", "other-uid", "pc-2", false, "it was restored from a backup of before the pivot"},
		{"a backup of objects, on the same parent", "parent-uid", "pc-2", false, "the tombstone of another cluster"},
	} {
		w.backup(of.parent, of.uid, of.status)
		if !of.status {
			c := w.settle()
			require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase, of.what)
			require.Contains(t, ready(c), of.says)
		}
		w.deleted()
		open := w.controller.Delivery.Open
		w.controller.Delivery.Open = unasked
		c, err := w.reconcile()
		require.ErrorContains(t, err, "nothing is deleted before it is known whether the cluster is in charge of itself", of.what)
		require.Contains(t, ready(c), "connection refused", "a user has to see it")
		w.controller.Delivery.Open = open
		c = w.settle()
		require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase)
		require.Contains(t, ready(c), of.says)
		require.Contains(t, ready(c), "annotate it with pivot.ropewalk.dev/forget: blue")
		require.True(t, w.there(&v1alpha1.Transform{}, "rw-blue", name), of.what)
		w.edit(func(c *v1alpha1.PivotCluster) { c.Annotations = map[string]string{ForgetAnnotation: name} })
		w.untilGone()
		require.True(t, w.there(&v1alpha1.Transform{}, "rw-blue", name), of.what)
	}
}

// A user, or a client that writes the status, takes away all that the parent knows.
func TestAClusterInChargeIsNotMadeAgainWhereTheParentForgotIt(t *testing.T) {
	w := moved(t)
	// The pivot has deleted that of the other server.
	require.NoError(t, w.parent.Delete(t.Context(), &v1alpha1.Transform{ObjectMeta: named("rw-blue", name)}))
	receipt := plane.Ref{Kind: "ConfigMap", Namespace: "rw-blue", Name: state.ReceiptName(name)}
	for _, loses := range []struct{ status, receipt bool }{{true, false}, {true, true}} {
		if loses.receipt {
			w.from.Remove(receipt)
		}
		c := w.read()
		c.Status = v1alpha1.PivotClusterStatus{}
		require.NoError(t, w.parent.Status().Update(t.Context(), c))
		c = w.until(w.controller, "in charge of itself", pivoted)
		require.NotEmpty(t, c.Status.Pivot.Tombstone)
		require.False(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
	}
	w.deleted()
	require.Contains(t, ready(w.settle()), "the cluster is in charge of itself: it is not deleted from here")
}

// On the cluster itself the receipt is an ordinary ConfigMap once the pivot is done.
func TestAClusterKeepsItselfWithoutItsReceipt(t *testing.T) {
	w := moved(t)
	require.NoError(t, w.child.Create(t.Context(), available(1)))
	w.until(w.itself, "ready", phase(v1alpha1.PhaseReady))
	w.to.Remove(plane.Ref{Kind: "ConfigMap", Namespace: "rw-blue", Name: state.ReceiptName(name)})
	w.parent, w.controller = w.child, w.itself
	require.NotEmpty(t, w.read().Annotations[bootstrap.SelfAnnotation])
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.KubernetesVersion = "v1.37.0" })
	require.Equal(t, v1alpha1.PhaseReady, w.settle().Status.Phase)
	transform := &v1alpha1.Transform{}
	require.True(t, w.there(transform, "rw-blue", name))
	require.Contains(t, string(transform.Spec.Input.Raw), "v1.37.0")
}

func TestWhatKeepsAClusterFromBeingDeletedIsShown(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.settle()
	w.provision()
	w.deleted()
	require.Equal(t, "the machines are being deleted", ready(w.settle()))
	require.Contains(t, ready(w.settle()), "Cluster rw-blue/blue is still there: where its delivery was suspended nothing deletes it")

	none := planetest.Object("v1", "ConfigMap", "rw-blue", state.ReceiptName(name))
	w.from.Put(none)
	_, err := w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	require.Error(t, err)
	require.Contains(t, ready(w.read()), "is not a receipt of a pivot")
}

func TestMachinesThatAreToStayDoNotKeepTheirPivotCluster(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Delivery = &v1alpha1.Delivery{DeletionPolicy: "Orphan"} })
	w.settle()
	w.provision()
	w.deleted()
	w.untilGone()
	require.True(t, w.there(available(1), "rw-blue", name))
}

func TestAMessageOfAChildFitsIntoACondition(t *testing.T) {
	w := newWorld(t)
	c := w.cluster()
	setFailing(c, &rejection{strings.Repeat("ü", 20<<10)})
	require.Less(t, len(ready(c)), 9<<10)
	require.True(t, strings.HasSuffix(ready(c), "ü (and 32768 bytes more)"))
}

// The registry may have lost the tombstone as well: the agent is there.
func TestAParentThatWasRestoredBelievesTheAgent(t *testing.T) {
	w := moved(t)
	w.from.Remove(plane.Ref{Kind: "ConfigMap", Namespace: "rw-blue", Name: state.ReceiptName(name)})
	c := w.read()
	c.Status.Pivot = nil
	require.NoError(t, w.parent.Status().Update(t.Context(), c))
	w.controller.Delivery.Open = unasked
	require.True(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
	says := "the cluster is in charge of itself, as its agent with pivot "
	c = w.settle()
	require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase)
	require.Contains(t, ready(c), says)
	w.deleted()
	require.Contains(t, ready(w.settle()), says)
	require.True(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
}

// A worker of the controller must not wait for it.
func TestAPivotIsNotAbortedWithoutItsAgent(t *testing.T) {
	w := newWorld(t)
	w.bootstraps()
	w.until(w.controller, "freezing", func(*v1alpha1.PivotCluster) bool { return w.step() == state.Freezing })
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.BlockedKeys = []string{c.Status.Enrolment.PublicKey} })
	w.deleted()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	require.Eventually(t, func() bool {
		_, err := w.controller.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
		return err != nil && strings.Contains(err.Error(), "its agent is not connected: see why it is away")
	}, 20*time.Second, 10*time.Millisecond)
	require.Contains(t, ready(w.read()), "its agent is not connected")
	require.Equal(t, state.Freezing, w.step())
}
