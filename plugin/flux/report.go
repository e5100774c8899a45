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

// outcome is the result of one reconciliation. After an error it has the results of the steps before.
type outcome struct {
	// suspended says that nothing was looked at, gone that nothing is left to write to, and
	// refused that the spec could not be rendered or published.
	suspended, gone, refused bool
	found                    resolved
	published                publication
	// progress is the progress of the engine, nil where it was not called.
	progress *delivery.Progress
	// preview is the error of the render of the spec during a rollback.
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
	// dependency is the delay before another look at changes without an event.
	dependency time.Duration
}

// finish writes the outcome of a reconciliation into the status, and returns the delay before the
// next reconciliation.
func (r reporter) finish(ctx context.Context, s *subject, out outcome) (ctrl.Result, error) {
	t := s.transform
	defer r.metrics.RecordDuration(ctx, t, s.started)

	// Some outcomes are not shown: nothing is left to write to, or another try follows soon.
	switch {
	case out.gone:
		r.attempts.Forget(t.UID)
		return ctrl.Result{}, out.err
	case ctx.Err() != nil:
		return ctrl.Result{}, ctx.Err() // The work begins again.
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

// postpone leaves a Transform to a later reconciliation, which then answers the request of the user.
// Others come before it in the queue.
func (r reporter) postpone(ctx context.Context, s *subject, out outcome) (ctrl.Result, error) {
	show := s.patchStatus
	if s.isNew(out.found.key) {
		show = func(ctx context.Context) error { return s.showBegun(ctx, out.err.Error()) }
	}
	if err := show(ctx); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}

	// An edited Transform comes before Transforms that share a change with many others: see users.
	priority := handler.LowPriority
	if t := s.transform; t.Generation != t.Status.ObservedGeneration {
		priority /= 2
	}
	return jitter.JitteredRequeueInterval(ctrl.Result{RequeueAfter: renders.Retry, Priority: &priority}), nil
}

// setConditions puts an outcome into the conditions. It returns the problem, or nil, and reports
// whether the objects that other Transforms deliver too have changed.
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

// eventsOf returns the events of a reconciliation. The argument before is the condition Ready
// before it.
func eventsOf(t *v1alpha1.Transform, before *metav1.Condition, out outcome, p *problem) []notice {
	var notices []notice
	add := func(kind, reason, text string) {
		notices = append(notices, notice{kind: kind, reason: reason, text: text, refused: out.refused, revision: out.found.revision})
	}

	// A publication and a release are news by themselves.
	switch {
	case out.published.changed:
		add(typeNormal, v1alpha1.PublishedReason, "published "+shown(t.Status.Artifact))
	case out.published.revised:
		// Nothing is pushed. The commit status is still set; no chat needs to know.
		add(typeNormal, v1alpha1.PublishedReason, "no changes with "+shown(t.Status.Artifact))
		notices[0].only = true
	}
	if out.progress != nil && len(out.progress.Changed) > 0 {
		add(typeTrace, "Released", "released "+strings.Join(out.progress.Changed, ", "))
	}

	// Every step of a layer is in the condition; as events they would hide the others.
	ready := conditions.Get(t, meta.ReadyCondition)
	isSame := ready != nil && before != nil && before.Status == ready.Status && before.Reason == ready.Reason
	isQuiet := isSame && (before.Message == ready.Message || ready.Status == metav1.ConditionUnknown)
	switch {
	case ready == nil, isQuiet:
		return notices
	case ready.Status == metav1.ConditionUnknown && ready.Reason == meta.ProgressingReason:
		return notices // It is the course of things.
	}
	kind := typeWarning
	switch {
	case ready.Status == metav1.ConditionTrue:
		kind = typeNormal
	case ready.Status == metav1.ConditionUnknown, p != nil && p.reason == v1alpha1.DependencyNotReadyReason:
		kind = typeTrace
	}
	add(kind, ready.Reason, ready.Message)
	return notices
}

// requeue returns the delay before a Transform is reconciled again. An error leaves the delay to the
// queue.
func (r reporter) requeue(ctx context.Context, t *v1alpha1.Transform, out outcome, p *problem) (ctrl.Result, error) {
	s := schedule{now: r.now(), claims: r.claims.Waiting(client.ObjectKeyFromObject(t)), dependency: r.dependency}
	delay, ok := s.next(t, out, p)
	if !ok {
		return ctrl.Result{}, p.err
	}
	if p != nil && p.kind != waiting && !p.endsWithEvent() {
		log.FromContext(ctx).Error(p.err, "reconciliation failed", "reason", p.reason)
	}
	result := ctrl.Result{RequeueAfter: delay}
	if delay == intervalOf(t) {
		result.Priority = new(handler.LowPriority) // It is for drift: changes come first.
	}
	return jitter.JitteredRequeueInterval(result), nil
}

// schedule holds the times that decide when the next reconciliation is due, beside its outcome.
type schedule struct {
	now time.Time
	// claims is the delay before the claims of the Transform are looked at again, or 0.
	claims time.Duration
	// dependency is the delay before another look at changes without an event.
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
			// Changes have events; the delay is for events that got lost.
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

// grow returns an eighth of the time for which a condition has had its reason, but not less than
// least. The delay of the queue doubles: with a server that is not available it would be about as
// long as the outage itself.
func (s schedule) grow(least time.Duration, since *metav1.Condition) time.Duration {
	const part = 8
	if since == nil {
		return least
	}
	return max(least, s.now.Sub(since.LastTransitionTime.Time)/part)
}
