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

// deliverer makes engines deliver.
type deliverer struct {
	engines engines
	events  events
}

// deliver brings the engine nearer to want. It returns the progress of the engine, or nil if the
// engine failed.
func (d deliverer) deliver(ctx context.Context, t *v1alpha1.Transform, with access, want delivery.Desired) (*delivery.Progress, error) {
	// An earlier engine lets go first.
	text, err := d.engines.endOthers(ctx, t, with)
	if err != nil || text != "" {
		progress := delivery.Progress{Message: text}
		showProgress(t, progress)
		return &progress, atDeliver.at(err)
	}

	// Without an engine, the delivery is done when the artifact is published.
	progress := delivery.Progress{Ready: true}
	if engine := d.engines.choose(engineOf(t), with); engine != nil {
		progress, err = engine.Deliver(ctx, t, want)
		if err != nil {
			return nil, atDeliver.at(err)
		}
	}
	if storage.GateMessage(progress.Message) {
		progress.Reason = v1alpha1.FeatureDisabledReason
		progress.Message += ": " + storage.GateAdvice
	}
	showProgress(t, progress)
	return &progress, nil
}

// warnOfQuotas puts into a condition the bounds of namespaces that the pods of a render exceed, and
// raises an event if they are new. Such pods are no reason to publish nothing: a quota may be
// raised, and others may leave room.
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

	// The event is raised only when the message changes.
	before := conditions.GetMessage(t, v1alpha1.OverQuotaCondition)
	conditions.MarkTrue(t, v1alpha1.OverQuotaCondition, v1alpha1.OverQuotaReason, "%s", cut(strings.Join(over, "\n"), maxMessage))
	if text := conditions.GetMessage(t, v1alpha1.OverQuotaCondition); text != before {
		d.events.raise(ctx, t, notice{kind: typeWarning, reason: v1alpha1.OverQuotaReason, text: text})
	}
}

// boundsOf returns a reader of the quotas of a namespace by a client. Kinds that the client may not
// list are left out.
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

// admitter holds back artifacts that may not be delivered now.
type admitter struct {
	plans  plans
	events events
	now    func() time.Time
}

// admit replaces want, the artifact that was published last, by the artifact that may be delivered
// now. The message is about an artifact that waits for a window, or is ""; known is false if nothing
// may be delivered at all.
func (a admitter) admit(ctx context.Context, s *subject, store publish.Store, want *delivery.Desired) (waits string, known bool, err error) {
	t := s.transform
	windows.Begin(t)
	before := t.Status.Window.DeepCopy()
	admitted, err := windows.Admit(t, want.Digest, a.now())
	if err != nil {
		return "", false, block(stalled, v1alpha1.InvalidReason, "%w", err)
	}

	// A process that is killed later finds that the delivery has begun.
	if before != nil && before.Admitted != t.Status.Window.Admitted {
		if err := s.patchStatus(ctx); err != nil {
			return "", false, err
		}
	}
	if admitted.Overridden != "" {
		text := "delivering outside of its windows: " + admitted.Overridden
		a.events.raise(ctx, t, notice{kind: typeNormal, reason: "WindowOverridden", text: text})
	}
	if admitted.Waiting == "" {
		return "", true, nil
	}

	// The artifact that was admitted before may be gone from the store.
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
		return // The delivered artifact may be older.
	}
	obstacle, err := with.store.Prune(ctx, t.Status.History[:most], t.Status.History[most:])
	if err != nil {
		log.FromContext(ctx).Error(err, "pruning old artifacts")
		return
	}
	if obstacle != "" {
		d.events.raise(ctx, t, notice{kind: typeTrace, reason: "PruneFailed", text: obstacle})
	}
	t.Status.History = t.Status.History[:most]
}

// withdrawer ends the delivery of a Transform that is deleted.
type withdrawer struct {
	engines engines
	opener  opener
	events  events
}

// withdrawal is the state of a delivery that ends.
type withdrawal struct {
	// gone says that nothing is left to write to: the finalizer is removed.
	gone bool
	// waiting is a message about objects that are still being deleted.
	waiting string
}

// withdraw deletes the delivered objects, or leaves them behind, and then releases the Transform.
func (w withdrawer) withdraw(ctx context.Context, s *subject) (withdrawal, error) {
	t := s.transform
	if !controllerutil.ContainsFinalizer(t, v1alpha1.Finalizer) {
		return withdrawal{gone: true}, nil
	}
	if t.Spec.Suspend {
		// Flux treats a suspended Kustomization in the same way.
		return withdrawal{gone: true}, s.removeFinalizer(ctx)
	}

	// If the account has no rights, it is enough that nothing is left in the cluster.
	done, text, err := w.withdrawDelivery(ctx, t)
	switch {
	case err == nil:
	case w.isEnding(ctx, t):
		log.FromContext(ctx).Info("the namespace is being deleted with the service account: removing the finalizer", "error", err.Error())
		done = true
	case w.engines.isEmpty(ctx, t):
		log.FromContext(ctx).Info("nothing of the Transform is left in the cluster: removing the finalizer", "error", err.Error())
		if w.opener.storage != nil {
			// The controller itself deletes the artifacts that it serves.
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

	// Each engine withdraws its objects, with the rights of the account.
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

	// The artifacts go last, because nothing reads them any more.
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
