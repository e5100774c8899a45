// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/application"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
)

// flux returns the engine that delivers by Flux, with the rights of the Transform's account.
func (w *work) flux() *delivery.Flux {
	return &delivery.Flux{Client: w.as, Artifacts: w.store, Claims: w.claims, DefaultServiceAccount: w.opts.DefaultServiceAccount}
}

// argocd returns the engine that delivers by Argo CD, with the rights of the controller.
func (w *work) argocd() *application.Engine {
	return &application.Engine{Client: w.direct, Now: w.now, Allow: w.opts.ArgoCD}
}

// engine returns the engine that delivers, or nil for delivery type None.
func (w *work) engine() delivery.Engine { return w.engineFor(engineOf(w.transform)) }

// engineFor returns the engine of a delivery type, or nil for None.
func (w *work) engineFor(kind v1alpha1.Engine) delivery.Engine {
	switch kind {
	case v1alpha1.EngineArgoCD:
		return w.argocd()
	case v1alpha1.EngineFlux:
		return w.flux()
	case v1alpha1.EngineNone:
	}
	return nil
}

// deliver brings the engine nearer to what is wanted.
func (w *work) deliver(ctx context.Context, want delivery.Desired) error {
	if text, err := w.endOtherEngines(ctx); err != nil || text != "" {
		w.progress = &delivery.Progress{Message: text}
		w.showLayers()
		return atDeliver.at(err)
	}
	engine := w.engine()
	if engine == nil {
		w.progress = &delivery.Progress{Ready: true}
		w.showLayers()
		return nil
	}
	progress, err := engine.Deliver(ctx, w.transform, want)
	if err != nil {
		return atDeliver.at(err)
	}
	if storage.GateMessage(progress.Message) {
		progress.Reason, progress.Message = v1alpha1.FeatureDisabledReason, progress.Message+": "+storage.GateAdvice
	}
	w.progress = &progress
	w.showLayers()
	return nil
}

// prune deletes the artifacts that are older than the history, once the cluster has nothing of
// them. If that fails, the history stays longer until it is done, and nothing else is wrong.
func (w *work) prune(ctx context.Context) {
	t := w.transform
	most := t.GetHistory()
	if !w.progress.Ready || t.Spec.Rollback != nil || len(t.Status.History) <= most {
		return
	}
	left, err := w.store.Prune(ctx, t.Status.History[:most], t.Status.History[most:])
	if err != nil {
		log.FromContext(ctx).Error(err, "pruning old artifacts")
		return
	}
	if left != "" {
		w.raiseEvent(ctx, typeTrace, "PruneFailed", left)
	}
	t.Status.History = t.Status.History[:most]
}

// withdraw removes what was delivered, or leaves it behind, and then releases the Transform.
func (w *work) withdraw(ctx context.Context) (ctrl.Result, error) {
	t := w.transform
	if !controllerutil.ContainsFinalizer(t, v1alpha1.Finalizer) {
		w.gone = true
		return ctrl.Result{}, nil
	}
	if t.Spec.Suspend {
		return w.release(ctx) // As Flux does with a Kustomization that is suspended.
	}

	// Without the rights of the account, what is left decides.
	done, text, err := w.withdrawDelivery(ctx)
	switch {
	case err == nil:
	case w.isEnding(ctx):
		log.FromContext(ctx).Info("the namespace is being deleted with the service account: removing the finalizer", "error", err.Error())
		done = true
	case w.isEmpty(ctx):
		log.FromContext(ctx).Info("nothing of the Transform is left in the cluster: removing the finalizer", "error", err.Error())
		if w.storage != nil {
			// What the controller serves is its own to take away.
			if err := w.storage.For(w.direct, t).Remove(ctx); err != nil {
				return ctrl.Result{}, atDeliver.at(err)
			}
		}
		done = true
	default:
		return ctrl.Result{}, atDeliver.at(err)
	}

	// The finalizer goes when the delivery has ended.
	if !done {
		w.progress = &delivery.Progress{Reason: v1alpha1.DeletingReason, Message: text}
		return ctrl.Result{}, nil
	}
	return w.release(ctx)
}

// release removes the finalizer, so that the API server can delete the Transform.
func (w *work) release(ctx context.Context) (ctrl.Result, error) {
	controllerutil.RemoveFinalizer(w.transform, v1alpha1.Finalizer)
	w.gone = true
	return ctrl.Result{}, client.IgnoreNotFound(w.patchMetadata(ctx))
}

// withdrawDelivery brings the engine nearer to having nothing of the Transform.
func (w *work) withdrawDelivery(ctx context.Context) (done bool, text string, err error) {
	if isTooLong(w.transform) {
		return true, "", nil // Nothing can have been made for it.
	}
	if err := w.open(ctx); err != nil {
		return false, "", err
	}
	if text, err := w.endOtherEngines(ctx); err != nil || text != "" {
		return false, text, err
	}
	if engine := w.engine(); engine != nil {
		if done, text, err := engine.Withdraw(ctx, w.transform); err != nil || !done {
			return false, text, err
		}
	}
	err = w.store.Remove(ctx)
	if err != nil {
		w.raiseEvent(ctx, typeWarning, v1alpha1.DeletingReason, "what was published stays: "+message(err))
	}
	return true, "", err
}

// isEnding reports whether the namespace of the Transform is being deleted, or
// is gone.
func (w *work) isEnding(ctx context.Context) bool {
	ns := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := w.direct.Get(ctx, client.ObjectKey{Name: w.transform.Namespace}, ns)
	return apierrors.IsNotFound(err) || err == nil && !ns.DeletionTimestamp.IsZero()
}
