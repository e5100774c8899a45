// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/runtime/conditions"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
)

// rolledBack returns the artifact that the spec names, out of those that were published. Nothing
// else of the spec is read: a server or the module may be why the user rolls back.
func (w *work) rolledBack(ctx context.Context) (delivery.Desired, error) {
	t := w.transform
	if err := w.open(ctx); err != nil {
		return delivery.Desired{}, err
	}
	digest := t.Spec.Rollback.Digest
	i := slices.IndexFunc(t.Status.History, func(a v1alpha1.Artifact) bool { return a.Digest == digest })
	if i < 0 {
		return delivery.Desired{}, block(stalled, v1alpha1.InvalidReason,
			"spec.rollback.digest: %s is not in status.history: name a digest that is, or remove spec.rollback", digest)
	}
	want, err := w.planOf(ctx, digest)
	if err != nil {
		return want, atPublish.at(fmt.Errorf("spec.rollback.digest: %w", err))
	}
	if t.Status.Artifact == nil || t.Status.Artifact.Digest != digest {
		if at, ok := w.store.(publish.Pointer); ok {
			if err := at.Point(ctx, digest); err != nil {
				return want, atPublish.at(err)
			}
		}
		a := *t.Status.History[i].DeepCopy()
		a.Checksum = "" // With none, the spec is rendered and published when the rollback ends.
		t.Status.Artifact = &a
		w.changed = true
	}
	return want, nil
}

// preview renders what the spec gives while an earlier artifact is delivered, so that the user
// knows what comes when the rollback is taken away. It waits for the delivery, which it could hold
// up. A mistake in it does not change the state of the delivery: the condition Rendered has it.
func (w *work) preview(ctx context.Context) error {
	t := w.transform
	p := w.progress
	if t.Spec.Rollback == nil || !p.Ready && !p.Failed && !p.Stalled {
		return nil
	}
	w.setEngineConditions(ctx)
	if conditions.GetReason(t, v1alpha1.RenderedCondition) != v1alpha1.RolledBackReason {
		w.showPinned("")
	}
	// What is delivered is shown before anybody waits for a server.
	if err := w.patchStatus(ctx); err != nil {
		return err
	}

	// The result of the preview is in one condition alone.
	w.previewErr = w.renderPreview(ctx)
	switch {
	case w.previewErr == nil:
		w.showPinned("")
	case !isPostponed(w.previewErr):
		p := diagnose(w.previewErr)
		if p.kind == stalled {
			t.Status.Rendered = nil
		}
		text := message(w.previewErr)
		p.rendered = "" // The condition has the message.
		w.setStageConditions(*p, v1alpha1.RenderedCondition)
		before := conditions.GetMessage(t, v1alpha1.RenderedCondition)
		w.showPinned("; the present spec cannot be rendered: " + text)
		if conditions.GetMessage(t, v1alpha1.RenderedCondition) != before {
			w.refused = true
			w.raiseEvent(ctx, typeWarning, p.reason, text)
			w.refused = false
		}
	}
	return nil
}

// showPinned puts into the condition Rendered what is delivered instead of what is rendered.
func (w *work) showPinned(more string) {
	t := w.transform
	conditions.MarkFalse(t, v1alpha1.RenderedCondition, v1alpha1.RolledBackReason, "spec.rollback pins %s%s", t.Spec.Rollback.Digest, more)
}

// renderPreview renders what the spec gives, if that is not known.
func (w *work) renderPreview(ctx context.Context) error {
	if err := w.resolve(ctx); err != nil {
		return err
	}
	if known := w.transform.Status.Rendered; known != nil && known.Checksum == w.key && !w.isDue() && !w.isRequested() {
		return nil
	}
	return w.dryRun(ctx)
}
