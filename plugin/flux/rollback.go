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

// rolledBack is the artifact that the spec names, out of those that were published. Nothing
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
	want, err := w.plan(ctx, digest)
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

// preview renders what the spec gives while an earlier artifact is delivered, so that it
// is known what will come when the rollback is taken away. It waits for the delivery, which
// it could hold up, and what is wrong with it makes nothing of the delivery wrong: the
// condition Rendered says it.
func (w *work) preview(ctx context.Context) error {
	t, p := w.transform, w.progress
	if t.Spec.Rollback == nil || !p.Ready && !p.Failed && !p.Stalled {
		return nil
	}
	w.conditionOf(ctx)
	if conditions.GetReason(t, v1alpha1.RenderedCondition) != v1alpha1.RolledBackReason {
		w.pinned("")
	}
	// What is delivered is shown before anybody waits for a server.
	if err := w.patchStatus(ctx); err != nil {
		return err
	}
	w.previewErr = w.previewed(ctx)
	switch {
	case w.previewErr == nil:
		w.pinned("")
	case !isPostponed(w.previewErr):
		p := diagnose(w.previewErr)
		if p.kind == stalled {
			t.Status.Rendered = nil
		}
		text := message(w.previewErr)
		p.rendered = "" // The condition has the message.
		w.judged(*p, v1alpha1.RenderedCondition)
		before := conditions.GetMessage(t, v1alpha1.RenderedCondition)
		w.pinned("; the present spec cannot be rendered: " + text)
		if conditions.GetMessage(t, v1alpha1.RenderedCondition) != before {
			w.refused = true
			w.event(ctx, typeWarning, p.reason, text)
			w.refused = false
		}
	}
	return nil
}

// pinned says in the condition Rendered what is delivered instead of what is rendered.
func (w *work) pinned(more string) {
	t := w.transform
	conditions.MarkFalse(t, v1alpha1.RenderedCondition, v1alpha1.RolledBackReason, "spec.rollback pins %s%s", t.Spec.Rollback.Digest, more)
}

// previewed renders what the spec gives, where that is not known.
func (w *work) previewed(ctx context.Context) error {
	if err := w.resolve(ctx); err != nil {
		return err
	}
	if known := w.transform.Status.Rendered; known != nil && known.Checksum == w.key && !w.due() && !w.asked() {
		return nil
	}
	return w.dryRun(ctx)
}
