// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/readings"
)

// RequireFIPS returns an error if the program does not use the FIPS 140-3 module.
func RequireFIPS() error { return enrol.RequireFIPS() }

// SetupWithManager adds the controller of PivotClusters to a manager, and its endpoints.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	var err error
	if r.Now == nil {
		r.Now = time.Now
	}

	// Read from the API server itself, and not from the cache.
	r.client, err = client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return err
	}
	r.plane, err = plane.Connect(mgr.GetConfig(), plane.Options{Name: "parent"})
	if err != nil {
		return err
	}

	// The UID of kube-system is the identity of this parent.
	var system corev1.Namespace
	if err := r.client.Get(ctx, types.NamespacedName{Name: "kube-system"}, &system); err != nil {
		return fmt.Errorf("the identity of this cluster: %w", err)
	}
	r.uid = string(system.UID)

	// Agents are found by indexes of the cache, and metrics read the cache too.
	for field, values := range indexes() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.PivotCluster{}, field, values); err != nil {
			return err
		}
	}
	var twice prometheus.AlreadyRegisteredError
	shown := readings.New(mgr.GetClient(), r.Now)
	if err := metrics.Registry.Register(shown); err != nil && !errors.As(err, &twice) {
		return err
	}

	// Pivots and agents wake the reconciler by the name of a PivotCluster.
	woken := make(chan event.GenericEvent, concurrent)
	wake := func(name string) {
		select {
		case woken <- event.GenericEvent{Object: &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}}:
		case <-ctx.Done():
		}
	}
	r.pivots = newPivots(ctx, wake, shown.CountFailure)
	if r.Endpoints != nil {
		r.children = newChildren(&store{cache: mgr.GetCache(), direct: r.client}, r.uid, wake, r.Now)
		r.Endpoints.serving = r.serving(mgr.GetLogger().WithName("endpoints"))
		if err := mgr.Add(r.Endpoints); err != nil {
			return err
		}
	}

	// Reconcile on changes of the spec and of annotations, and of the Transform.
	return ctrl.NewControllerManagedBy(mgr).Named("pivotcluster").
		For(&v1alpha1.PivotCluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&v1alpha1.Transform{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			// No owner reference: what a record leaves behind must not be collected with it.
			if name := o.GetLabels()[ClusterLabel]; name != "" {
				return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
			}
			return nil
		})).
		WatchesRawSource(source.Channel(woken, soon())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(reconcile.Func(r.Reconcile))
}

// serving returns what endpoints serve children with.
func (r *Reconciler) serving(log logr.Logger) serving {
	return serving{
		client: r.client, children: r.children, events: r.Events, now: r.Now, log: log,
		manifest: func(ctx context.Context, c *v1alpha1.PivotCluster, token string) ([]byte, error) {
			return r.parts().manifests.machine(ctx, c, token)
		},
	}
}

// settle is how long news of a cluster are collected.
const settle = 500 * time.Millisecond

// soon returns a handler that reconciles a PivotCluster after a while, once for all events until
// then: a child may report something new 200 times in a second.
func soon() handler.EventHandler {
	return handler.Funcs{GenericFunc: func(_ context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}, settle)
	}}
}
