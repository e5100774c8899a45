// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberecorder "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// owner is the field manager of what the controller writes.
const owner = client.FieldOwner("ropewalk-pivot")

// again is how long until everything is looked at again.
const (
	again      = time.Minute
	retryAfter = 5 * time.Second
)

// errChanged: the status was written on the way, and everything is to be looked at again.
var errChanged = errors.New("the status was changed")

// rejection is what a user has to put right.
type rejection struct{ text string }

func (r *rejection) Error() string { return r.text }

// reject returns an error that a user has to put right.
func reject(format string, args ...any) error { return &rejection{fmt.Sprintf(format, args...)} }

// mirror copies the receipt into the status.
func mirror(c *v1alpha1.PivotCluster, receipt *state.Receipt) {
	if receipt == nil {
		return
	}
	if c.Status.Pivot == nil {
		c.Status.Pivot = &v1alpha1.PivotStatus{}
	}
	p := c.Status.Pivot
	p.ID = receipt.ID
	p.Step = string(receipt.Step)
	p.StepTime = nil
	if at := receipt.When(receipt.Step); !at.IsZero() {
		// An API server keeps seconds: more of them would be a change at each look.
		p.StepTime = &metav1.Time{Time: at.Truncate(time.Second)}
	}
	p.Digest = receipt.Digest
	p.Objects = int32(receipt.Objects) //nolint:gosec // a count of objects
}

// set sets a condition to is. The message is used only if it is false.
func set(c *v1alpha1.PivotCluster, name string, is bool, reason, message string) {
	status := metav1.ConditionTrue
	if !is {
		status, reason = metav1.ConditionFalse, "Not"+reason
	} else {
		message = ""
	}
	setCondition(&c.Status, c.Generation, name, status, reason, message)
}

// shorten returns a message cut to a size that an API server accepts in a condition, and that a
// user reads. A message can have what a child reports, or a line for each of thousands of objects.
func shorten(message string) string {
	const most = 8 << 10
	return printable.Cut(message, most, fmt.Sprintf(" (and %d bytes more)", len(message)-most))
}

func setCondition(s *v1alpha1.PivotClusterStatus, generation int64, name string, status metav1.ConditionStatus, reason, message string) {
	message = shorten(message)
	apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: name, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}

// setProgress sets a status that needs nothing from the user: the work goes on by itself.
func setProgress(c *v1alpha1.PivotCluster, phase v1alpha1.PivotClusterPhase, message string) {
	c.Status.Phase = phase
	setCondition(&c.Status, c.Generation, meta.ReadyCondition, metav1.ConditionFalse, meta.ProgressingReason, message)
	setCondition(&c.Status, c.Generation, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.StalledCondition)
}

// setSettled sets a status at which there is nothing to do.
func setSettled(c *v1alpha1.PivotCluster, phase v1alpha1.PivotClusterPhase, message string) {
	c.Status.Phase = phase
	status := metav1.ConditionTrue
	if phase != v1alpha1.PhaseReady {
		status = metav1.ConditionFalse
	}
	setCondition(&c.Status, c.Generation, meta.ReadyCondition, status, string(phase), message)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.ReconcilingCondition)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.StalledCondition)
}

// setStalled sets a status at which a user has to change something.
func setStalled(c *v1alpha1.PivotCluster, message string) {
	c.Status.Phase = v1alpha1.PhaseFailed
	setCondition(&c.Status, c.Generation, meta.ReadyCondition, metav1.ConditionFalse, "Rejected", message)
	setCondition(&c.Status, c.Generation, meta.StalledCondition, metav1.ConditionTrue, "Rejected", message)
	apimeta.RemoveStatusCondition(&c.Status.Conditions, meta.ReconcilingCondition)
}

// setFailing sets the status after an error of a server, which is tried again.
func setFailing(c *v1alpha1.PivotCluster, err error) {
	if c.Status.Phase == "" {
		c.Status.Phase = v1alpha1.PhasePending
	}
	setCondition(&c.Status, c.Generation, meta.ReadyCondition, metav1.ConditionFalse, meta.FailedReason, err.Error())
	setCondition(&c.Status, c.Generation, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, err.Error())
}

// setError sets the status after an error, and returns the error if it is to be tried again. A
// rejection waits for the user.
func setError(c *v1alpha1.PivotCluster, err error) error {
	var rejected *rejection
	switch {
	case errors.As(err, &rejected):
		setStalled(c, rejected.text)
		return nil
	case err != nil:
		setFailing(c, err)
	}
	return err
}

// statusWriter writes the status of PivotClusters.
type statusWriter struct {
	client client.Client
	events kuberecorder.EventRecorder
}

// write writes the status if it has changed. If the phase has changed, it records an event too.
func (w statusWriter) write(ctx context.Context, before, c *v1alpha1.PivotCluster) error {
	if equality.Semantic.DeepEqual(before.Status, c.Status) {
		return nil
	}
	if before.Status.Phase != c.Status.Phase {
		kind := corev1.EventTypeNormal
		ready := apimeta.FindStatusCondition(c.Status.Conditions, meta.ReadyCondition)
		if c.Status.Phase == v1alpha1.PhaseFailed || c.Status.Phase == v1alpha1.PhaseDegraded {
			kind = corev1.EventTypeWarning
		}
		if ready != nil {
			w.events.Event(c, kind, string(c.Status.Phase), ready.Message)
		}
	}
	// What was written on the way is not in conflict with this.
	before = before.DeepCopy()
	before.ResourceVersion = c.ResourceVersion
	return w.client.Status().Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), owner)
}
