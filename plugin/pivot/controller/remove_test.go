// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// deleted deletes the PivotCluster of the parent as a user does.
func (w *world) deleted() {
	w.Helper()
	require.NoError(w, w.parent.Delete(w.Context(), w.read()))
}

// until the PivotCluster of the parent is gone.
func (w *world) untilGone() {
	w.Helper()
	require.Eventually(w, func() bool {
		_, err := w.controller.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
		require.NoError(w, err)
		return !w.there(&v1alpha1.PivotCluster{}, "", name)
	}, 20*time.Second, 10*time.Millisecond)
}

func TestAClusterIsDeletedBeforeItsPivot(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.settle()
	w.provision()
	w.settle()
	w.deleted()
	c := w.settle()
	require.Equal(t, "the machines are being deleted", ready(c))
	require.False(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
	w.settle()
	require.True(t, w.there(&corev1.Namespace{}, "", "rw-blue"), "the Cluster is still there")
	require.Equal(t, []string{Finalizer}, w.read().Finalizers)

	require.NoError(t, w.parent.Delete(t.Context(), available(1)))
	w.untilGone()
	require.False(t, w.there(&corev1.Namespace{}, "", "rw-blue"))
}

func TestANamespaceOfAUserIsKept(t *testing.T) {
	w := newWorld(t)
	w.placed()
	require.NoError(t, w.parent.Create(t.Context(), &corev1.Namespace{ObjectMeta: named("", "rw-blue")}))
	w.settle()
	w.deleted()
	w.untilGone()
	require.True(t, w.there(&corev1.Namespace{}, "", "rw-blue"))
}

func TestAClusterIsDeletedWithoutClusterAPI(t *testing.T) {
	w := newWorld(t)
	w.parent = without(t)
	w.controller = w.reconciler(w.parent, w.from, "parent-uid", w.controller.Endpoints)
	require.NoError(t, w.parent.Create(t.Context(), w.cluster()))
	w.placed()
	c := w.settle()
	require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase)
	require.Equal(t, "Cluster API is not installed: there is no kind Cluster.cluster.x-k8s.io", ready(c))
	w.deleted()
	w.untilGone()
	require.False(t, w.there(&corev1.Namespace{}, "", "rw-blue"))
}

// TestAPivotIsAbortedBeforeItsClusterIsDeleted: it is at its first step, as nothing sees that
// the cluster is paused.
func TestAPivotIsAbortedBeforeItsClusterIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.bootstraps()
	w.until(w.controller, "freezing", func(*v1alpha1.PivotCluster) bool { return w.step() == state.Freezing })
	w.observe()
	w.deleted()
	w.settle()
	require.Equal(t, state.Aborted, w.step())
	require.Empty(t, w.controller.pivots.all)
	require.NoError(t, w.parent.Delete(t.Context(), available(1)))
	w.untilGone()
	require.False(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
	require.Equal(t, state.Aborted, w.step())
}

func TestAClusterThatIsInChargeOfItselfIsNotDeletedByItsParent(t *testing.T) {
	w := moved(t)
	w.deleted()
	c := w.settle()
	require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase)
	require.Contains(t, ready(c), "the cluster is in charge of itself: it is not deleted from here")
	require.Contains(t, ready(c), "annotate it with pivot.ropewalk.dev/forget: blue")
	require.Equal(t, []string{Finalizer}, c.Finalizers)
	w.edit(func(c *v1alpha1.PivotCluster) { c.Annotations = map[string]string{ForgetAnnotation: "true"} })
	w.settle()
	w.read()

	server, err := w.controller.children.reach()
	require.NoError(t, err)
	require.True(t, server.Connected("pc-1"))
	w.edit(func(c *v1alpha1.PivotCluster) { c.Annotations = map[string]string{ForgetAnnotation: name} })
	w.untilGone()
	require.Eventually(t, func() bool { return !server.Connected("pc-1") }, 5*time.Second, 5*time.Millisecond)
	// The machines stay, and the tombstone does.
	require.Equal(t, state.Done, w.step())
	w.rebuilt("rebuilt-uid", "pc-2")
	require.True(t, pivoted(w.settle()))
}

func TestAClusterDoesNotDeleteItself(t *testing.T) {
	w := moved(t)
	require.NoError(t, w.child.Create(t.Context(), available(1)))
	w.until(w.itself, "ready", phase(v1alpha1.PhaseReady))
	w.parent, w.controller = w.child, w.itself
	require.NotEmpty(t, w.read().Annotations[bootstrap.SelfAnnotation])
	w.deleted()
	c := w.settle()
	require.Contains(t, ready(c), "this is the cluster itself, which cannot delete its own machines to the end")
	require.True(t, w.there(&v1alpha1.Transform{}, "rw-blue", name))
	require.Equal(t, []string{Finalizer}, c.Finalizers)
}

func TestSomeClustersAreNotDeletedFromHere(t *testing.T) {
	c := &v1alpha1.PivotCluster{ObjectMeta: named("", name)}
	require.Empty(t, refuses(c, nil))
	require.Empty(t, refuses(c, &state.Receipt{Role: state.RoleSource, Step: state.Frozen}))
	require.Empty(t, refuses(c, &state.Receipt{Role: state.RoleTarget, Step: state.Done}), "it came here by a pivot")
	require.Contains(t, refuses(c, &state.Receipt{Role: state.RoleSource, Step: state.Committed}), "the cluster is in charge of itself: it is not deleted from here")
	c.Status.Pivot = &v1alpha1.PivotStatus{Tombstone: "sha256:1"}
	require.Contains(t, refuses(c, nil), "the cluster is in charge of itself: it is not deleted from here")
	c.Annotations = map[string]string{bootstrap.SelfAnnotation: "parent/pc"}
	require.Contains(t, refuses(c, nil), "this is the cluster itself")
	require.Empty(t, parentOf(nil))
	require.Contains(t, parentOf([]string{"b", "a"}), "this cluster is the parent of a, b, whose agents call its cell")
}
