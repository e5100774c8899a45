// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/cluster/quota"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/rollout"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/windows"
)

// deliverer brings the engines nearer to what is wanted.
type deliverer struct {
	engines engines
	events  events
}

// deliver brings the engine nearer to what is wanted. It returns the progress of the engine, or
// nil if the engine failed.
func (d deliverer) deliver(ctx context.Context, t *v1alpha1.Transform, with access, want delivery.Desired) (*delivery.Progress, error) {
	// An earlier engine lets go first.
	text, err := d.engines.endOthers(ctx, t, with)
	if err != nil || text != "" {
		progress := delivery.Progress{Message: text}
		showProgress(t, progress)
		return &progress, atDeliver.at(err)
	}

	// Without an engine it is done when it is published.
	progress := delivery.Progress{Ready: true}
	if engine := d.engines.choose(engineOf(t), with); engine != nil {
		progress, err = engine.Deliver(ctx, t, want)
		if err != nil {
			return nil, atDeliver.at(err)
		}
	}
	if storage.GateMessage(progress.Message) {
		progress.Reason, progress.Message = v1alpha1.FeatureDisabledReason, progress.Message+": "+storage.GateAdvice
	}
	showProgress(t, progress)
	return &progress, nil
}

// warnOfQuotas puts into a condition what the namespaces of a render do not allow its pods, and
// raises an event if that is news. Pods that are refused are no reason to publish nothing: a quota
// may be raised, and others may leave room.
func (d deliverer) warnOfQuotas(ctx context.Context, t *v1alpha1.Transform, with access, out rendered) {
	// Another engine, and another cluster, have quotas that are not read here.
	elsewhere := t.Spec.Delivery != nil && t.Spec.Delivery.Flux != nil && t.Spec.Delivery.Flux.KubeConfig != nil
	var over []string
	if engineOf(t) == v1alpha1.EngineFlux && !elsewhere {
		found, err := quota.Warn(ctx, boundsOf(with.as), out.Files)
		if err != nil {
			log.FromContext(ctx).Error(err, "reading quotas")
			return
		}
		over = found.Over
	}
	if len(over) == 0 {
		conditions.Delete(t, v1alpha1.OverQuotaCondition)
		return
	}
	before := conditions.GetMessage(t, v1alpha1.OverQuotaCondition)
	conditions.MarkTrue(t, v1alpha1.OverQuotaCondition, v1alpha1.OverQuotaReason, "%s", cut(strings.Join(over, "\n"), maxMessage))
	if text := conditions.GetMessage(t, v1alpha1.OverQuotaCondition); text != before {
		d.events.raise(ctx, t, notice{kind: typeWarning, reason: v1alpha1.OverQuotaReason, text: text})
	}
}

// boundsOf returns what reads the quotas of a namespace by a client. What the client may not list
// is left out.
func boundsOf(as client.Reader) quota.Reader {
	return func(ctx context.Context, namespace string) (out quota.Bounds, err error) {
		var quotas corev1.ResourceQuotaList
		var ranges corev1.LimitRangeList
		for _, list := range []client.ObjectList{&quotas, &ranges} {
			err := as.List(ctx, list, client.InNamespace(namespace))
			out.Hidden = out.Hidden || apierrors.IsForbidden(err)
			if err != nil && !apierrors.IsForbidden(err) {
				return out, err
			}
		}
		out.Quotas, out.Ranges = quotas.Items, ranges.Items
		return out, nil
	}
}

// admitter holds back what may not be delivered now.
type admitter struct {
	plans  plans
	events events
	now    func() time.Time
}

// admit makes want what may be delivered now. The argument is what was published last. The message
// says what waits for a window, or is ""; known is false if nothing may be delivered at all.
func (a admitter) admit(ctx context.Context, s *subject, store publish.Store, want *delivery.Desired) (waits string, known bool, err error) {
	t := s.transform
	windows.Begin(t)
	before := t.Status.Window.DeepCopy()
	admitted, err := windows.Admit(t, want.Digest, a.now())
	if err != nil {
		return "", false, block(stalled, v1alpha1.InvalidReason, "%w", err)
	}
	if before != nil && before.Admitted != t.Status.Window.Admitted {
		// A process that is killed later finds that the delivery has begun.
		if err := s.patchStatus(ctx); err != nil {
			return "", false, err
		}
	}
	if admitted.Overridden != "" {
		a.events.raise(ctx, t, notice{kind: typeNormal, reason: "WindowOverridden", text: "delivering outside of its windows: " + admitted.Overridden})
	}
	if admitted.Waiting == "" {
		return "", true, nil
	}

	// What was admitted before may be gone, if nobody has had the history for long.
	if admitted.Digest == "" {
		return admitted.Waiting, false, nil
	}
	*want, err = a.plans.find(ctx, t, store, admitted.Digest)
	if errors.Is(err, delivery.ErrGone) {
		return admitted.Waiting, false, nil
	}
	return admitted.Waiting, true, atPublish.at(err)
}

// prune deletes the artifacts that are older than the history, once the cluster has nothing of
// them. If that fails, the history stays longer until it is done, and nothing else is wrong.
func (d deliverer) prune(ctx context.Context, t *v1alpha1.Transform, with access, progress *delivery.Progress) {
	most := t.GetHistory()
	if !progress.Ready || len(t.Status.History) <= most {
		return
	}
	if t.Spec.Rollback != nil || rollout.Failed(t) != "" {
		return // What is delivered may be older.
	}
	left, err := with.store.Prune(ctx, t.Status.History[:most], t.Status.History[most:])
	if err != nil {
		log.FromContext(ctx).Error(err, "pruning old artifacts")
		return
	}
	if left != "" {
		d.events.raise(ctx, t, notice{kind: typeTrace, reason: "PruneFailed", text: left})
	}
	t.Status.History = t.Status.History[:most]
}

// withdrawer ends what was delivered of a Transform that is deleted.
type withdrawer struct {
	engines engines
	opener  opener
	events  events
}

// withdrawal is how far the end of a delivery is.
type withdrawal struct {
	// gone says that nothing is left to write to: the finalizer is removed.
	gone bool
	// waiting says what is still under way.
	waiting string
}

// withdraw removes what was delivered, or leaves it behind, and then releases the Transform.
func (w withdrawer) withdraw(ctx context.Context, s *subject) (withdrawal, error) {
	t := s.transform
	if !controllerutil.ContainsFinalizer(t, v1alpha1.Finalizer) {
		return withdrawal{gone: true}, nil
	}
	if t.Spec.Suspend {
		// As Flux does with a Kustomization that is suspended.
		return withdrawal{gone: true}, s.removeFinalizer(ctx)
	}

	// Without the rights of the account, what is left decides.
	done, text, err := w.withdrawDelivery(ctx, t)
	switch {
	case err == nil:
	case w.isEnding(ctx, t):
		log.FromContext(ctx).Info("the namespace is being deleted with the service account: removing the finalizer", "error", err.Error())
		done = true
	case w.engines.isEmpty(ctx, t):
		log.FromContext(ctx).Info("nothing of the Transform is left in the cluster: removing the finalizer", "error", err.Error())
		if w.opener.storage != nil {
			// What the controller serves is its own to take away.
			if err := w.opener.storage.For(w.engines.direct, t).Remove(ctx); err != nil {
				return withdrawal{}, atDeliver.at(err)
			}
		}
		done = true
	default:
		return withdrawal{}, atDeliver.at(err)
	}

	// The finalizer goes when the delivery has ended.
	if !done {
		return withdrawal{waiting: text}, nil
	}
	return withdrawal{gone: true}, s.removeFinalizer(ctx)
}

// withdrawDelivery brings the engine nearer to having nothing of the Transform.
func (w withdrawer) withdrawDelivery(ctx context.Context, t *v1alpha1.Transform) (done bool, text string, err error) {
	if isTooLong(t) {
		return true, "", nil // Nothing can have been made for it.
	}

	// Each engine withdraws what it has, with the rights of the account.
	with, err := w.opener.openOnce(ctx, t, access{})
	if err != nil {
		return false, "", err
	}
	if text, err := w.engines.endOthers(ctx, t, with); err != nil || text != "" {
		return false, text, err
	}
	if engine := w.engines.choose(engineOf(t), with); engine != nil {
		if done, text, err := engine.Withdraw(ctx, t); err != nil || !done {
			return false, text, err
		}
	}

	// What was published goes last, because nothing reads it any more.
	err = with.store.Remove(ctx)
	if err != nil {
		w.events.raise(ctx, t, notice{kind: typeWarning, reason: v1alpha1.DeletingReason, text: "what was published stays: " + message(err)})
	}
	return true, "", err
}

// isEnding reports whether the namespace of the Transform is being deleted, or
// is gone.
func (w withdrawer) isEnding(ctx context.Context, t *v1alpha1.Transform) bool {
	ns := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := w.engines.direct.Get(ctx, client.ObjectKey{Name: t.Namespace}, ns)
	return apierrors.IsNotFound(err) || err == nil && !ns.DeletionTimestamp.IsZero()
}
