// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/jitter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/rollout"
	"github.com/ropewalk/ropewalk/source"
)

// outcome is what one reconciliation came to. After an error it has what was done before it.
type outcome struct {
	// suspended says that nothing was looked at, gone that nothing is left to write to,
	// and refused that what was found could not be published.
	suspended, gone, refused bool
	found                    resolved
	published                publication
	// progress is what the engine says, nil where it was not asked.
	progress *delivery.Progress
	// preview is why what the spec gives could not be rendered during a rollback.
	preview error
	err     error
}

// reporter reports outcomes.
type reporter struct {
	metrics  controller.Metrics
	events   events
	claims   *delivery.Claims
	attempts *renders.Attempts
	now      func() time.Time
	// dependency is how long to wait for what no event tells of.
	dependency time.Duration
}

// finish writes the outcome of a reconciliation into the status, and returns when the next one is
// due.
func (r reporter) finish(ctx context.Context, s *subject, out outcome) (ctrl.Result, error) {
	t := s.transform
	defer r.metrics.RecordDuration(ctx, t, s.started)

	// Some outcomes are not shown: nothing is left to write to, or another try follows soon.
	switch {
	case out.gone:
		r.attempts.Forget(t.UID)
		return ctrl.Result{}, out.err
	case ctx.Err() != nil:
		return ctrl.Result{}, ctx.Err() // What was not finished is begun again.
	case renders.IsPostponed(out.err):
		return r.postpone(ctx, s, out)
	case errors.As(out.err, new(*outage)):
		log.FromContext(ctx).Info("the registry is not available: what is applied stays", "error", out.err.Error())
		return jitter.JitteredRequeueInterval(ctrl.Result{RequeueAfter: r.dependency}), nil
	}

	// The conditions have either the problem or the progress of the engine.
	if at, ok := meta.ReconcileAnnotationValue(t.GetAnnotations()); ok {
		t.SetLastHandledReconcileAt(at)
	}
	p, shared := setConditions(t, out)
	if shared {
		r.events.raise(ctx, t, sharedEvent(*out.progress))
	}

	// Events compare the conditions with those before, and then the status is written.
	for _, what := range eventsOf(t, s.was, out, p) {
		r.events.raise(ctx, t, what)
	}
	if failed := s.patchStatus(ctx); client.IgnoreNotFound(failed) != nil {
		return ctrl.Result{}, failed
	}
	if out.suspended {
		return ctrl.Result{}, nil
	}
	return r.requeue(ctx, t, out, p)
}

// postpone leaves a Transform to a later reconciliation, which handles the requests of
// this one. Others come before it in the queue.
func (r reporter) postpone(ctx context.Context, s *subject, out outcome) (ctrl.Result, error) {
	show := s.patchStatus
	if s.isNew(out.found.key) {
		show = func(ctx context.Context) error { return s.showBegun(ctx, out.err.Error()) }
	}
	if err := show(ctx); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	// One that was edited comes before those that many share a change with: see users.
	priority := handler.LowPriority
	if t := s.transform; t.Generation != t.Status.ObservedGeneration {
		priority /= 2
	}
	return jitter.JitteredRequeueInterval(ctrl.Result{RequeueAfter: renders.Retry, Priority: &priority}), nil
}

// setConditions puts an outcome into the conditions. It returns the problem, or nil if there is
// none, and whether it is news which objects other Transforms deliver too.
func setConditions(t *v1alpha1.Transform, out outcome) (p *problem, shared bool) {
	switch {
	case out.err != nil:
		p = diagnose(out.err)
		setProblem(t, *p)
	case out.progress != nil:
		shared = setEngineConditions(t, *out.progress)
	}
	return p, shared
}

// eventsOf returns the events for what changed. The argument was is the condition Ready before.
func eventsOf(t *v1alpha1.Transform, was *metav1.Condition, out outcome, p *problem) []notice {
	var all []notice
	add := func(kind, reason, text string) {
		all = append(all, notice{kind: kind, reason: reason, text: text, refused: out.refused, revision: out.found.revision})
	}

	// What was published and released is news by itself.
	switch {
	case out.published.changed:
		add(typeNormal, v1alpha1.PublishedReason, "published "+shown(t.Status.Artifact))
	case out.published.revised:
		// Nothing is pushed. The commit status is still set; no chat needs to know.
		add(typeNormal, v1alpha1.PublishedReason, "no changes with "+shown(t.Status.Artifact))
		all[0].only = true
	}
	if out.progress != nil && len(out.progress.Changed) > 0 {
		add(typeTrace, "Released", "released "+strings.Join(out.progress.Changed, ", "))
	}

	// Every step of a layer is in the condition; as events they would hide the others.
	now := conditions.Get(t, meta.ReadyCondition)
	same := now != nil && was != nil && was.Status == now.Status && was.Reason == now.Reason
	switch {
	case now == nil, same && (was.Message == now.Message || now.Status == metav1.ConditionUnknown):
		return all
	case now.Status == metav1.ConditionUnknown && now.Reason == meta.ProgressingReason:
		return all // It is the course of things.
	}
	kind := typeWarning
	switch {
	case now.Status == metav1.ConditionTrue:
		kind = typeNormal
	case now.Status == metav1.ConditionUnknown, p != nil && p.reason == v1alpha1.DependencyNotReadyReason:
		kind = typeTrace
	}
	add(kind, now.Reason, now.Message)
	return all
}

// requeue returns when a Transform is reconciled next. The error leaves that to the queue.
func (r reporter) requeue(ctx context.Context, t *v1alpha1.Transform, out outcome, p *problem) (ctrl.Result, error) {
	at := schedule{now: r.now(), claims: r.claims.Waiting(client.ObjectKeyFromObject(t)), dependency: r.dependency}
	delay, ok := at.next(t, out, p)
	if !ok {
		return ctrl.Result{}, p.err
	}
	if p != nil && p.kind != waiting && !p.endsWithEvent() {
		log.FromContext(ctx).Error(p.err, "reconciliation failed", "reason", p.reason)
	}
	result := ctrl.Result{RequeueAfter: delay}
	if delay == intervalOf(t) {
		result.Priority = new(handler.LowPriority) // It is for drift: what changed comes first.
	}
	return jitter.JitteredRequeueInterval(result), nil
}

// schedule is what the time of the next reconciliation depends on, beside the outcome of this one.
type schedule struct {
	now time.Time
	// claims is when a claim of the Transform has to be looked at again, 0 if it has not.
	claims time.Duration
	// dependency is how long to wait for what no event tells of.
	dependency time.Duration
}

// next returns the delay before a Transform is reconciled next, and false if the queue has to back
// off.
func (s schedule) next(t *v1alpha1.Transform, out outcome, p *problem) (time.Duration, bool) {
	interval := intervalOf(t)
	for _, other := range []time.Duration{s.claims, rollout.Wait(t, s.now)} {
		if other > 0 {
			interval = min(interval, other)
		}
	}
	switch {
	case p == nil:
		return min(interval, s.afterDelivery(t, out)), true
	case p.endsWithEvent():
		return interval, true
	case p.kind == waiting:
		return min(interval, cmp.Or(t.GetRetryInterval(), s.dependency)), true
	case t.GetRetryInterval() > 0:
		return t.GetRetryInterval(), true
	case errors.Is(p.err, source.ErrUnavailable):
		return min(interval, s.grow(time.Second, conditions.Get(t, v1alpha1.RenderedCondition))), true
	}
	return 0, false
}

// afterDelivery returns the delay after a reconciliation without a problem.
func (s schedule) afterDelivery(t *v1alpha1.Transform, out outcome) time.Duration {
	if p := out.progress; p != nil {
		switch {
		case p.Reason == v1alpha1.OutsideWindowReason:
			return s.untilWindow(t)
		case !p.Ready && !p.Stalled:
			// Events tell of changes; this is for those that got lost.
			return s.dependency
		case p.Stalled && p.Reason == v1alpha1.ForeignObjectsReason:
			// The kinds of objects of other owners are not watched.
			return s.grow(s.dependency, conditions.Get(t, meta.ReadyCondition))
		}
	}
	switch {
	case out.preview == nil:
	case renders.IsPostponed(out.preview):
		return renders.Retry
	case !diagnose(out.preview).endsWithEvent():
		return cmp.Or(t.GetRetryInterval(), s.dependency)
	}
	return intervalOf(t)
}

// untilWindow returns the delay until the next window of a Transform opens.
func (s schedule) untilWindow(t *v1alpha1.Transform) time.Duration {
	if w := t.Status.Window; w != nil && w.Until != nil {
		return max(time.Second, w.Until.Sub(s.now))
	}
	return intervalOf(t)
}

// grow returns a delay that is an eighth of the time that a condition has its reason, and at
// least this long. The delay of the queue doubles: with a server that is not available it would be
// about as long as the outage itself.
func (s schedule) grow(least time.Duration, since *metav1.Condition) time.Duration {
	const part = 8
	if since == nil {
		return least
	}
	return max(least, s.now.Sub(since.LastTransitionTime.Time)/part)
}
