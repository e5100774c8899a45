// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
)

// Reconciler brings Transforms to what their specs say. Its zero value is set up by
// SetupWithManager.
type Reconciler struct {
	// Client reads Transforms from the cache of the manager and writes them.
	client.Client

	opts Options
	// cache has the metadata and the status of what Transforms name.
	cache client.Reader
	// direct is the controller's own, without a cache.
	direct   client.Client
	accounts *accounts
	loader   *request.Loader
	oci      publish.OCI
	storage  *storage.Storage
	// plans has what is delivered, by planKey, so that a step of a delivery reads no store.
	plans *lru.Cache[string, delivery.Desired]
	// claims are what Transforms want and hold.
	claims   *delivery.Claims
	attempts *attempts
	slots    *slots
	// service renders.
	service  *service.Service
	counters *counters
	now      func() time.Time
}

// Reconcile brings one Transform nearer to what its spec says.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	// The Transform is read from the cache; one that is gone has no claims.
	changes := r.claims.Begin(req.NamespacedName)
	t := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
	if err := r.Get(ctx, req.NamespacedName, t); err != nil {
		if apierrors.IsNotFound(err) {
			r.claims.Forget(t)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	// Whatever happens, what the Transform wants is recorded and its status written.
	ctx, span := tracing.Tracer(r.opts.Tracer).Start(ctx, "reconcile", trace.WithAttributes(
		attribute.String("k8s.namespace.name", req.Namespace), attribute.String("ropewalk.transform", req.Name)))
	defer func() { tracing.End(span, err) }()
	w := r.begin(t)
	defer func() {
		w.claim(ctx, changes, err)
		result, err = w.finish(ctx, result, err)
	}()
	defer func() {
		if p := recover(); p != nil {
			panicked := crash.Of(p)
			log.FromContext(ctx).Error(panicked, "reconciliation panicked", "stack", panicked.Stack)
			err = panicked
		}
	}()

	// A deletion and a suspension end the work early.
	if !t.DeletionTimestamp.IsZero() {
		return w.withdraw(ctx)
	}
	if err := w.addFinalizer(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if t.Spec.Suspend {
		w.suspended = true
		return ctrl.Result{}, nil
	}
	return w.reconcile(ctx)
}

// reconcile renders if something changed, publishes what changed, and delivers it. A mistake in a
// render does not end the delivery of the one before it.
func (w *work) reconcile(ctx context.Context) (ctrl.Result, error) {
	want, wrong := w.prepareDesired(ctx)
	if wrong != nil {
		w.refused = true
		var ok bool
		want, ok = w.unfinished(ctx)
		if !ok {
			return ctrl.Result{}, wrong
		}
	}
	delivering, end := tracing.Start(ctx, "deliver")
	err := w.deliver(delivering, want)
	end(err)
	if err != nil || wrong != nil {
		return ctrl.Result{}, cmp.Or(wrong, err)
	}
	w.prune(ctx)
	return ctrl.Result{}, w.preview(ctx)
}
