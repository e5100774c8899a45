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

// pin returns the artifact of the history that the spec names. Nothing else of the spec is read: a
// server or the module may be the reason for the rollback.
func (p pinner) pin(ctx context.Context, t *v1alpha1.Transform) (access, publication, error) {
	opened, err := p.opener.openOnce(ctx, t, access{})
	if err != nil {
		return opened, publication{}, err
	}

	// The history must have it.
	digest := t.Spec.Rollback.Digest
	i := slices.IndexFunc(t.Status.History, func(a v1alpha1.Artifact) bool { return a.Digest == digest })
	if i < 0 {
		return opened, publication{}, block(stalled, v1alpha1.InvalidReason,
			"spec.rollback.digest: %s is not in status.history: name a digest that is, or remove spec.rollback", digest)
	}
	want, err := p.plans.find(ctx, t, opened.store, digest)
	if err != nil {
		return opened, publication{}, atPublish.at(fmt.Errorf("spec.rollback.digest: %w", err))
	}
	if t.Status.Artifact != nil && t.Status.Artifact.Digest == digest {
		return opened, publication{want: want}, nil
	}

	// It replaces the artifact that was published last.
	if err := point(ctx, opened.store, digest); err != nil {
		return opened, publication{}, err
	}
	a := *t.Status.History[i].DeepCopy()
	a.Checksum = "" // Without it, the spec is rendered and published when the rollback ends.
	t.Status.Artifact = &a
	return opened, publication{want: want, changed: true}, nil
}

// point makes the object that leads to the complete artifact lead to an earlier artifact, if the
// store has such an object.
func point(ctx context.Context, store publish.Store, digest string) error {
	if pointer, ok := store.(publish.Pointer); ok {
		return atPublish.at(pointer.Point(ctx, digest))
	}
	return nil
}

// keeper delivers the artifact that was Ready last in place of an artifact that is not Ready in
// time: spec.delivery.rollbackAfter.
type keeper struct {
	plans     plans
	deliverer deliverer
	events    events
	now       func() time.Time
}

// keep observes a delivery, and delivers the artifact that was Ready last if the time of the present
// artifact is over. It returns the progress of the delivery that goes on.
func (k keeper) keep(ctx context.Context, s *subject, opened access, progress *delivery.Progress) (*delivery.Progress, error) {
	// Objects that are kept for other Transforms do not count.
	t := s.transform
	ready := progress.Ready || progress.Reason == v1alpha1.HandingOverReason
	digest := rollout.Observe(t, s.before, ready, progress.Stalled && !progress.Failed, k.now())
	if digest == "" {
		return progress, nil
	}

	// Nothing that the spec refers to is needed.
	want, err := k.plans.find(ctx, t, opened.store, digest)
	if err != nil {
		return nil, atDeliver.at(fmt.Errorf("spec.delivery.rollbackAfter: %w", err))
	}
	if err := point(ctx, opened.store, digest); err != nil {
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
	return k.deliverer.deliver(ctx, t, opened, want)
}

// previewer renders specs while an earlier artifact is delivered.
type previewer struct {
	resolver  resolver
	renderer  renderer
	publisher publisher
	events    events
}

// preview renders the spec while an earlier artifact is delivered, so that the user knows the result
// before the rollback is removed. It waits for the delivery, which it could hold up. A mistake in it
// does not change the state of the delivery: the condition Rendered has it, and it is returned as
// failed.
func (v previewer) preview(ctx context.Context, s *subject, opened access, progress delivery.Progress) (failed, err error) {
	t := s.transform
	isUnderWay := !progress.Ready && !progress.Failed && !progress.Stalled
	if t.Spec.Rollback == nil || isUnderWay {
		return nil, nil
	}

	// The delivery is shown before the preview waits for a server.
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
	found, failed := v.render(ctx, s, opened)
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

// setPreviewFailed puts the reason of a failed preview into the conditions. It returns an event if
// the reason is new.
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

// render renders the spec, if it was not rendered yet, and returns its references.
func (v previewer) render(ctx context.Context, s *subject, opened access) (resolved, error) {
	found, err := v.resolver.resolve(ctx, s.transform, opened)
	if err != nil {
		return found, err
	}
	last := s.transform.Status.Rendered
	isKnown := last != nil && last.Checksum == found.key
	if isKnown && !v.renderer.isDue(s.transform) && !s.isRequested() {
		return found, nil
	}
	out, err := v.renderer.render(ctx, s, found)
	if err != nil {
		return found, err
	}
	return found, v.publisher.pack(ctx, s.transform, found.store, out)
}
