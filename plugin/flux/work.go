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
	"github.com/fluxcd/pkg/runtime/jitter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/source"
)

// work is one reconciliation of one Transform.
type work struct {
	*Reconciler
	transform *v1alpha1.Transform
	// before is the Transform as the API server has it.
	before *v1alpha1.Transform
	// was is the condition Ready with which it began.
	was     *metav1.Condition
	started time.Time
	// key is that of what was found, "" before, and revision that of the source, "" where
	// there is none.
	key, revision string
	// as is the client of the Transform's account, and store where it publishes.
	as    client.Client
	store publish.Store
	// suspended says that nothing was looked at, gone that nothing is left to write to,
	// and refused that what was found could not be published.
	suspended, gone, refused bool
	// previewErr is why what the spec gives could not be rendered during a rollback.
	previewErr error
	// progress is what the engine says, nil where it was not asked.
	progress *delivery.Progress
	// changed says that something new was published, and revised that what was
	// published already has a new revision.
	changed, revised bool
}

// begin returns the work of a reconciliation that begins now.
func (r *Reconciler) begin(t *v1alpha1.Transform) *work {
	before := t.DeepCopy()
	return &work{Reconciler: r, transform: t, before: before, was: conditions.Get(before, meta.ReadyCondition).DeepCopy(), started: r.now()}
}

// addFinalizer adds the finalizer, so that all that is delivered is withdrawn before the Transform
// goes.
func (w *work) addFinalizer(ctx context.Context) error {
	if !controllerutil.AddFinalizer(w.transform, v1alpha1.Finalizer) {
		return nil
	}
	return w.patchMetadata(ctx)
}

// patchMetadata writes the finalizers. Others may have written to the object since: the patch
// names the version that it is of, because it replaces the list.
func (w *work) patchMetadata(ctx context.Context) error {
	patch := w.transform.DeepCopy()
	base := client.MergeFromWithOptions(w.before, client.MergeFromWithOptimisticLock{})
	if err := w.Patch(ctx, patch, base, client.FieldOwner(Name)); err != nil {
		return err
	}
	w.before.ObjectMeta = *patch.ObjectMeta.DeepCopy()
	w.transform.ObjectMeta = *patch.ObjectMeta.DeepCopy()
	return nil
}

// patchStatus writes the status, in one request, and writes nothing if it has not changed.
//
// The patch helper of Flux was not taken: it writes conditions first and the rest after
// them, so that others see Ready before they see of what, and it asks for the
// object in between. Its care for conditions of others is not needed: there are none.
func (w *work) patchStatus(ctx context.Context) error {
	patch := w.transform.DeepCopy()
	base := client.MergeFrom(w.before)
	data, err := base.Data(patch)
	if err != nil || string(data) == "{}" {
		return err
	}
	if err := w.Status().Patch(ctx, patch, base, client.FieldOwner(Name)); err != nil {
		return err
	}
	w.before.Status = *w.transform.Status.DeepCopy()
	return nil
}

// finish writes the outcome of a reconciliation into the status, and returns when the next one is
// due.
func (w *work) finish(ctx context.Context, result ctrl.Result, err error) (ctrl.Result, error) {
	t := w.transform
	defer w.opts.Metrics.RecordDuration(ctx, t, w.started)

	// Some outcomes are not shown: nothing is left to write to, or another try follows soon.
	if w.gone {
		w.attempts.forget(t.UID)
		return result, err
	}
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // What was not finished is begun again.
	}
	if isPostponed(err) {
		return w.postpone(ctx, err)
	}
	if errors.As(err, new(*outage)) {
		log.FromContext(ctx).Info("the registry is not available: what is applied stays", "error", err.Error())
		return jitter.JitteredRequeueInterval(ctrl.Result{RequeueAfter: w.opts.DependencyRequeue}), nil
	}

	// The conditions have either the problem or the progress of the engine.
	if at, ok := meta.ReconcileAnnotationValue(t.GetAnnotations()); ok {
		t.SetLastHandledReconcileAt(at)
	}
	var p *problem
	if err != nil {
		p = diagnose(err)
		w.setProblem(*p)
	} else if !w.suspended {
		w.setEngineConditions(ctx)
	}

	// Events compare the conditions with those before, and then the status is written.
	w.raiseEvents(ctx, p)
	if failed := w.patchStatus(ctx); client.IgnoreNotFound(failed) != nil {
		return ctrl.Result{}, failed
	}
	if w.suspended {
		return ctrl.Result{}, nil
	}
	return w.requeue(ctx, p)
}

// postpone leaves a Transform to a later reconciliation, which handles the requests of
// this one. Others come before it in the queue.
func (w *work) postpone(ctx context.Context, why error) (ctrl.Result, error) {
	show := w.patchStatus
	if w.isNew() {
		show = func(ctx context.Context) error { return w.showBegun(ctx, why.Error()) }
	}
	if err := show(ctx); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	low := handler.LowPriority
	return jitter.JitteredRequeueInterval(ctrl.Result{RequeueAfter: slotRetry, Priority: &low}), nil
}

// requeue returns when a Transform is reconciled next.
func (w *work) requeue(ctx context.Context, p *problem) (ctrl.Result, error) {
	interval := intervalOf(w.transform)
	if next := w.claims.Waiting(client.ObjectKeyFromObject(w.transform)); next > 0 {
		interval = min(interval, next)
	}
	switch {
	case p == nil && w.progress != nil && !w.progress.Ready && !w.progress.Stalled:
		// Events tell of changes; this is for those that got lost.
		interval = min(interval, w.opts.DependencyRequeue)
	case p == nil && w.progress != nil && w.progress.Stalled && w.progress.Reason == v1alpha1.ForeignObjectsReason:
		interval = min(interval, w.foreignDelay())
	case p == nil && w.previewErr != nil:
		interval = min(interval, w.previewDelay())
	case p == nil || p.kind == stalled && !p.unwatched:
	case p.kind == waiting && !p.watched:
		interval = min(interval, cmp.Or(w.transform.GetRetryInterval(), w.opts.DependencyRequeue))
	case p.kind == waiting:
	case w.transform.GetRetryInterval() > 0:
		log.FromContext(ctx).Error(p.err, "reconciliation failed", "reason", p.reason)
		interval = w.transform.GetRetryInterval()
	case errors.Is(p.err, source.ErrUnavailable):
		log.FromContext(ctx).Error(p.err, "reconciliation failed", "reason", p.reason)
		interval = min(interval, w.outageDelay())
	default:
		return ctrl.Result{}, p.err
	}
	return jitter.JitteredRequeueInterval(ctrl.Result{RequeueAfter: interval}), nil
}

// outageDelay returns the delay before the next request to a server that is not available: an
// eighth of the time since the first failure. The delay of the queue doubles: it would be about as
// long as the outage itself.
func (w *work) outageDelay() time.Duration {
	const part = 8
	delay := time.Second
	if failed := conditions.Get(w.transform, v1alpha1.RenderedCondition); failed != nil {
		delay = max(delay, w.now().Sub(failed.LastTransitionTime.Time)/part)
	}
	return delay
}

// foreignDelay returns the delay before objects of other owners are looked for again: their kinds
// are not watched. It grows with the time that they have been there.
func (w *work) foreignDelay() time.Duration {
	const part = 8
	delay := w.opts.DependencyRequeue
	if ready := conditions.Get(w.transform, meta.ReadyCondition); ready != nil {
		delay = max(delay, w.now().Sub(ready.LastTransitionTime.Time)/part)
	}
	return delay
}

// previewDelay returns the delay before a preview that failed is tried again.
func (w *work) previewDelay() time.Duration {
	if isPostponed(w.previewErr) {
		return slotRetry
	}
	switch p := diagnose(w.previewErr); {
	case p.kind == stalled && !p.unwatched, p.kind == waiting && p.watched:
		return intervalOf(w.transform)
	}
	return cmp.Or(w.transform.GetRetryInterval(), w.opts.DependencyRequeue)
}

// intervalOf returns how often a Transform is reconciled without an event.
func intervalOf(t *v1alpha1.Transform) time.Duration {
	const usual = 10 * time.Minute
	return cmp.Or(t.GetRequeueAfter(), usual)
}
