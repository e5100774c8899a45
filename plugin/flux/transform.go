// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/source"
)

// subject is the Transform of one reconciliation. Each stage writes its own part of the status, and
// reads the spec and the status before.
type subject struct {
	writer    client.Client
	transform *v1alpha1.Transform
	// before is the Transform as the API server has it.
	before *v1alpha1.Transform
	// was is the condition Ready with which the reconciliation began.
	was     *metav1.Condition
	started time.Time
}

// begin returns the subject of a reconciliation that begins now.
func begin(writer client.Client, t *v1alpha1.Transform, now time.Time) *subject {
	before := t.DeepCopy()
	return &subject{
		writer:    writer,
		transform: t,
		before:    before,
		was:       conditions.Get(before, meta.ReadyCondition).DeepCopy(),
		started:   now,
	}
}

// addFinalizer adds the finalizer, so that all that is delivered is withdrawn before the Transform
// goes.
func (s *subject) addFinalizer(ctx context.Context) error {
	if !controllerutil.AddFinalizer(s.transform, v1alpha1.Finalizer) {
		return nil
	}
	return s.patchMetadata(ctx)
}

// removeFinalizer removes the finalizer, so that the API server can delete the Transform.
func (s *subject) removeFinalizer(ctx context.Context) error {
	controllerutil.RemoveFinalizer(s.transform, v1alpha1.Finalizer)
	return client.IgnoreNotFound(s.patchMetadata(ctx))
}

// patchMetadata writes the finalizers. Others may have written to the object since: the patch
// names the version that it is of, because it replaces the list.
func (s *subject) patchMetadata(ctx context.Context) error {
	patch := s.transform.DeepCopy()
	base := client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})
	if err := s.writer.Patch(ctx, patch, base, client.FieldOwner(Name)); err != nil {
		return err
	}
	s.before.ObjectMeta = *patch.ObjectMeta.DeepCopy()
	s.transform.ObjectMeta = *patch.ObjectMeta.DeepCopy()
	return nil
}

// patchStatus writes the status, in one request, and writes nothing if it has not changed.
//
// The patch helper of Flux was not taken: it writes conditions first and the rest after
// them, so that others see Ready before they see of what, and it asks for the
// object in between. Its care for conditions of others is not needed: there are none.
func (s *subject) patchStatus(ctx context.Context) error {
	patch := s.transform.DeepCopy()
	base := client.MergeFrom(s.before)
	data, err := base.Data(patch)
	if err != nil || string(data) == "{}" {
		return err
	}
	if err := s.writer.Status().Patch(ctx, patch, base, client.FieldOwner(Name)); err != nil {
		return err
	}
	s.before.Status = *s.transform.Status.DeepCopy()
	return nil
}

// showBegun shows in the status that something is being done, if that takes a while.
func (s *subject) showBegun(ctx context.Context, text string) error {
	setProgressing(s.transform, meta.ProgressingReason, text)
	return s.patchStatus(ctx)
}

// isRequested reports whether the annotation requests a reconciliation.
func (s *subject) isRequested() bool {
	request, ok := meta.ReconcileAnnotationValue(s.transform.GetAnnotations())
	return ok && request != s.before.GetLastHandledReconcileRequest()
}

// isNew reports whether inputs with this key differ from the inputs of the last render.
func (s *subject) isNew(key string) bool {
	for _, a := range []*v1alpha1.Artifact{s.transform.Status.Artifact, s.before.Status.Rendered} {
		if a != nil && a.Checksum == key {
			return false
		}
	}
	return true
}

// isRetry reports whether the last reconciliation of this spec could not publish. Its message
// stays while the next one tries.
func (s *subject) isRetry() bool {
	if s.was == nil || s.was.ObservedGeneration != s.transform.Generation {
		return false
	}
	return s.was.Reason == v1alpha1.PublishFailedReason || s.was.Reason == v1alpha1.AccessDeniedReason
}

// staysReady reports whether a Transform stays Ready despite an error of the registry, because it
// renders the same as before.
func (s *subject) staysReady(err error) bool {
	return errors.Is(err, source.ErrUnavailable) && isReady(s.before) && !s.isRequested()
}

// engineOf returns the engine of a Transform, which is Flux by default.
func engineOf(t *v1alpha1.Transform) v1alpha1.Engine {
	if t.Spec.Delivery == nil {
		return v1alpha1.EngineFlux
	}
	return cmp.Or(t.Spec.Delivery.Type, v1alpha1.EngineFlux)
}

// intervalOf returns the interval at which a Transform is reconciled without an event.
func intervalOf(t *v1alpha1.Transform) time.Duration {
	const usual = 10 * time.Minute
	return cmp.Or(t.GetRequeueAfter(), usual)
}

// isReady reports whether a Transform is Ready at its present spec.
func isReady(t *v1alpha1.Transform) bool {
	return conditions.IsReady(t) && t.Status.ObservedGeneration == t.Generation
}

// isHandingOver reports whether all that a Transform wants is applied, and it only keeps objects for
// other Transforms, which may depend on it.
func isHandingOver(t *v1alpha1.Transform) bool {
	c := conditions.Get(t, meta.ReadyCondition)
	return c != nil && c.Reason == v1alpha1.HandingOverReason && c.ObservedGeneration == t.Generation
}

// pushesOnly reports whether a Transform is an artifact in a registry, which no engine delivers.
func pushesOnly(t *v1alpha1.Transform) bool {
	return engineOf(t) == v1alpha1.EngineNone && t.Spec.Output != nil && t.Spec.Output.OCI != nil
}

// isTooLong reports whether the name of a Transform is too long for a label, which all that is
// made for it has.
func isTooLong(t *v1alpha1.Transform) bool { return len(t.Name) > validation.LabelValueMaxLength }

// checkName returns an error if a name is too long for the label that it has to be. Only an artifact
// in a registry with delivery type None needs no label.
func checkName(t *v1alpha1.Transform) error {
	if !isTooLong(t) || pushesOnly(t) {
		return nil
	}
	return block(stalled, v1alpha1.InvalidReason,
		"metadata.name has %d characters; it is used as a label, which may have %d: use a shorter name",
		len(t.Name), validation.LabelValueMaxLength)
}

// timeOf returns a time as the status has it: to the second.
func timeOf(now time.Time) metav1.Time { return metav1.NewTime(now.UTC().Truncate(time.Second)) }
