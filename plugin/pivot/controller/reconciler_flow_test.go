// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
)

// TestAClusterBecomesItsOwn: from a PivotCluster to a child that is in charge of itself.
func TestAClusterBecomesItsOwn(t *testing.T) {
	w := newWorld(t)
	w.serve()
	w.observe()
	w.until(w.controller, "a Transform", func(*v1alpha1.PivotCluster) bool {
		return w.parent.Get(t.Context(), types.NamespacedName{Namespace: "rw-blue", Name: name}, &v1alpha1.Transform{}) == nil
	})
	w.until(w.controller, "pending", phase(v1alpha1.PhasePending))
	w.provision()
	w.until(w.controller, "provisioning", phase(v1alpha1.PhaseProvisioning))

	w.enrols()
	c := w.until(w.controller, "connected", func(c *v1alpha1.PivotCluster) bool {
		return apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConnectedCondition)
	})
	require.Equal(t, int64(1), c.Status.Agent.Session)
	require.True(t, apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.EnrolledCondition))
	w.until(w.controller, "the bootstrap is sent", func(*v1alpha1.PivotCluster) bool {
		return w.child.Get(t.Context(), types.NamespacedName{Name: name}, &v1alpha1.PivotCluster{}) == nil
	})
	c = w.until(w.itself, "the child waits", phase(v1alpha1.PhasePivoting))
	require.Equal(t, "parent-uid/pc-1", c.Annotations[bootstrap.SelfAnnotation])
	require.Error(t, w.child.Get(t.Context(), types.NamespacedName{Namespace: "rw-blue", Name: name}, &v1alpha1.Transform{}))

	w.begins()
	c = w.until(w.controller, "in charge of itself", func(c *v1alpha1.PivotCluster) bool {
		return apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.PivotedCondition)
	})
	require.Equal(t, "Done", c.Status.Pivot.Step)

	require.NoError(t, w.child.Create(t.Context(), available(1)))
	c = w.until(w.itself, "ready", phase(v1alpha1.PhaseReady))
	transform := &v1alpha1.Transform{}
	require.NoError(t, w.child.Get(t.Context(), types.NamespacedName{Namespace: "rw-blue", Name: name}, transform))
	require.Contains(t, string(transform.Spec.Input.Raw), `"self":true`)
	require.Equal(t, int32(2), c.Status.Nodes.Ready)
}
