// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/rollout"
)

// pinner finds the artifacts that rollbacks name.
type pinner struct {
	opener opener
	plans  plans
}

// pin returns the artifact that the spec names, out of those that were published. Nothing
// else of the spec is read: a server or the module may be why the user rolls back.
func (p pinner) pin(ctx context.Context, t *v1alpha1.Transform) (access, publication, error) {
	with, err := p.opener.openOnce(ctx, t, access{})
	if err != nil {
		return with, publication{}, err
	}

	// It is one of the history.
	digest := t.Spec.Rollback.Digest
	i := slices.IndexFunc(t.Status.History, func(a v1alpha1.Artifact) bool { return a.Digest == digest })
	if i < 0 {
		return with, publication{}, block(stalled, v1alpha1.InvalidReason,
			"spec.rollback.digest: %s is not in status.history: name a digest that is, or remove spec.rollback", digest)
	}
	want, err := p.plans.find(ctx, t, with.store, digest)
	if err != nil {
		return with, publication{}, atPublish.at(fmt.Errorf("spec.rollback.digest: %w", err))
	}
	if t.Status.Artifact != nil && t.Status.Artifact.Digest == digest {
		return with, publication{want: want}, nil
	}

	// It takes the place of what was published last.
	if err := point(ctx, with.store, digest); err != nil {
		return with, publication{}, err
	}
	a := *t.Status.History[i].DeepCopy()
	a.Checksum = "" // With none, the spec is rendered and published when the rollback ends.
	t.Status.Artifact = &a
	return with, publication{want: want, changed: true}, nil
}

// point makes what leads to the complete artifact lead to an earlier one.
func point(ctx context.Context, store publish.Store, digest string) error {
	if at, ok := store.(publish.Pointer); ok {
		return atPublish.at(at.Point(ctx, digest))
	}
	return nil
}

// keeper delivers the artifact that was Ready last in place of one that is not Ready in time:
// spec.delivery.rollbackAfter.
type keeper struct {
	plans     plans
	deliverer deliverer
	events    events
	now       func() time.Time
}

// keep looks at how far a delivery is, and delivers the artifact that was Ready last if the
// present one had its time. It returns the progress of what is delivered then.
func (k keeper) keep(ctx context.Context, s *subject, with access, progress *delivery.Progress) (*delivery.Progress, error) {
	// Objects that are kept for other Transforms are no matter of this one.
	t := s.transform
	ready := progress.Ready || progress.Reason == v1alpha1.HandingOverReason
	digest := rollout.Observe(t, s.before, ready, progress.Stalled && !progress.Failed, k.now())
	if digest == "" {
		return progress, nil
	}

	// It needs nothing that the spec names.
	want, err := k.plans.find(ctx, t, with.store, digest)
	if err != nil {
		return nil, atDeliver.at(fmt.Errorf("spec.delivery.rollbackAfter: %w", err))
	}
	if err := point(ctx, with.store, digest); err != nil {
		return nil, err
	}
	if err := rollout.GoBack(t, digest, cut(cmp.Or(progress.Message, "no layer is applied yet"), maxLine)); err != nil {
		return nil, atDeliver.at(err)
	}

	// The status has the decision before the engine is asked for anything.
	text := conditions.GetMessage(t, v1alpha1.RolledBackCondition)
	set(t, v1alpha1.RenderedCondition, "False", v1alpha1.RolledBackReason, text)
	k.events.raise(ctx, t, notice{kind: typeWarning, reason: v1alpha1.RolledBackReason, text: text})
	if err := s.patchStatus(ctx); err != nil {
		return nil, err
	}
	return k.deliverer.deliver(ctx, t, with, want)
}

// previewer renders what a spec gives while an earlier artifact is delivered.
type previewer struct {
	resolver  resolver
	renderer  renderer
	publisher publisher
	events    events
}

// preview renders what the spec gives while an earlier artifact is delivered, so that the user
// knows what comes when the rollback is taken away. It waits for the delivery, which it could hold
// up. A mistake in it does not change the state of the delivery: the condition Rendered has it, and
// it is returned as failed.
func (v previewer) preview(ctx context.Context, s *subject, with access, progress delivery.Progress) (failed, err error) {
	t := s.transform
	if t.Spec.Rollback == nil || !progress.Ready && !progress.Failed && !progress.Stalled {
		return nil, nil
	}

	// What is delivered is shown before anybody waits for a server.
	if setEngineConditions(t, progress) {
		v.events.raise(ctx, t, sharedEvent(progress))
	}
	if conditions.GetReason(t, v1alpha1.RenderedCondition) != v1alpha1.RolledBackReason {
		setPinned(t, "")
	}
	if err := s.patchStatus(ctx); err != nil {
		return nil, err
	}

	// The result of the preview is in one condition alone.
	found, failed := v.render(ctx, s, with)
	switch {
	case failed == nil:
		setPinned(t, "")
	case !renders.IsPostponed(failed):
		if news := setPreviewFailed(t, failed); news != nil {
			news.revision = found.revision
			v.events.raise(ctx, t, *news)
		}
	}
	return failed, nil
}

// setPreviewFailed puts into the conditions why a preview failed. It returns an event if that is
// news.
func setPreviewFailed(t *v1alpha1.Transform, failed error) *notice {
	p := diagnose(failed)
	if p.kind == stalled {
		t.Status.Rendered = nil
	}
	text := message(failed)
	p.rendered = "" // The condition has the message.
	setStageConditions(t, *p, v1alpha1.RenderedCondition)
	before := conditions.GetMessage(t, v1alpha1.RenderedCondition)
	setPinned(t, "; the present spec cannot be rendered: "+text)
	if conditions.GetMessage(t, v1alpha1.RenderedCondition) == before {
		return nil
	}
	return &notice{kind: typeWarning, reason: p.reason, text: text, refused: true}
}

// render renders what the spec gives, if that is not known, and returns what it names.
func (v previewer) render(ctx context.Context, s *subject, with access) (resolved, error) {
	found, err := v.resolver.resolve(ctx, s.transform, with)
	if err != nil {
		return found, err
	}
	known := s.transform.Status.Rendered
	if known != nil && known.Checksum == found.key && !v.renderer.isDue(s.transform) && !s.isRequested() {
		return found, nil
	}
	out, err := v.renderer.render(ctx, s, found)
	if err != nil {
		return found, err
	}
	return found, v.publisher.pack(ctx, s.transform, found.store, out)
}
