// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// mirror copies the receipt into the status.
func mirror(c *v1alpha1.PivotCluster, receipt *state.Receipt) {
	if receipt == nil {
		return
	}
	if c.Status.Pivot == nil {
		c.Status.Pivot = &v1alpha1.PivotStatus{}
	}
	p := c.Status.Pivot
	p.ID, p.Step, p.Digest = receipt.ID, string(receipt.Step), receipt.Digest
	p.Objects = int32(receipt.Objects) //nolint:gosec // a count of objects
}

// set sets a condition; the message is that of one that is not so.
func set(c *v1alpha1.PivotCluster, name string, is bool, reason, message string) {
	status := metav1.ConditionTrue
	if !is {
		status, reason = metav1.ConditionFalse, "Not"+reason
	} else {
		message = ""
	}
	condition(&c.Status, c.Generation, name, status, reason, message)
}

// short is a message of a size that an API server takes in a condition, and that a user reads. A
// message can have what a child says, or a line for each of thousands of objects.
func short(message string) string {
	const most = 8 << 10
	return printable.Cut(message, most, fmt.Sprintf(" (and %d bytes more)", len(message)-most))
}

func condition(s *v1alpha1.PivotClusterStatus, generation int64, name string, status metav1.ConditionStatus, reason, message string) {
	message = short(message)
	apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: name, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}

// progress: it goes on by itself.
func (r *Reconciler) progress(c *v1alpha1.PivotCluster, phase v1alpha1.PivotClusterPhase, message string) {
	c.Status.Phase = phase
	condition(&c.Status, c.Generation, meta.ReadyCondition, metav1.ConditionFalse, meta.ProgressingReason, message)
	condition(&c.Status, c.Generation, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.StalledCondition)
}

// settled: there is nothing to do.
func (r *Reconciler) settled(c *v1alpha1.PivotCluster, phase v1alpha1.PivotClusterPhase, message string) {
	c.Status.Phase = phase
	status := metav1.ConditionTrue
	if phase != v1alpha1.PhaseReady {
		status = metav1.ConditionFalse
	}
	condition(&c.Status, c.Generation, meta.ReadyCondition, status, string(phase), message)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.ReconcilingCondition)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.StalledCondition)
}

// stalled: a user has to change something.
func (r *Reconciler) stalled(c *v1alpha1.PivotCluster, message string) {
	c.Status.Phase = v1alpha1.PhaseFailed
	condition(&c.Status, c.Generation, meta.ReadyCondition, metav1.ConditionFalse, "Rejected", message)
	condition(&c.Status, c.Generation, meta.StalledCondition, metav1.ConditionTrue, "Rejected", message)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.ReconcilingCondition)
}

// failing: a server did not do what it should; it is tried again.
func (r *Reconciler) failing(c *v1alpha1.PivotCluster, err error) {
	if c.Status.Phase == "" {
		c.Status.Phase = v1alpha1.PhasePending
	}
	condition(&c.Status, c.Generation, meta.ReadyCondition, metav1.ConditionFalse, meta.FailedReason, err.Error())
	condition(&c.Status, c.Generation, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, err.Error())
}

func sameStatus(before, c *v1alpha1.PivotCluster) bool {
	return equality.Semantic.DeepEqual(before.Status, c.Status)
}
