// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/predicates"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/application"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
)

// Indexes of Transforms.
const (
	bySource     = ".metadata.source"
	byConfigMap  = ".metadata.configMap"
	byDependency = ".metadata.dependency"
)

// indexed returns the indexes of Transforms, and the function that returns the keys of a Transform
// in each.
func indexed() map[string]func(*v1alpha1.Transform) []string {
	return map[string]func(*v1alpha1.Transform) []string{
		bySource:    request.Sources,
		byConfigMap: request.ConfigMaps,
		byDependency: func(t *v1alpha1.Transform) []string {
			var out []string
			for _, name := range t.Spec.DependsOn {
				out = append(out, string(name))
			}
			return out
		},
	}
}

// watch adds the indexes and the controller with its watches.
func (r *Reconciler) watch(ctx context.Context, mgr ctrl.Manager, lost <-chan event.GenericEvent) error {
	// Objects find their Transforms by indexes.
	for field, values := range indexed() {
		err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Transform{}, field, func(o client.Object) []string {
			return values(o.(*v1alpha1.Transform)) //nolint:forcetypeassert // the index is of Transforms
		})
		if err != nil {
			return err
		}
	}

	// Transforms themselves, and the objects that they read.
	edited := predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{}, windowOverridden())
	b := ctrl.NewControllerManagedBy(mgr).Named("transform").
		For(&v1alpha1.Transform{}, builder.WithPredicates(r.superseded(), edited)).
		Watches(&v1alpha1.Transform{}, r.dependants(), builder.WithPredicates(readyChanged())).
		WatchesMetadata(&corev1.ConfigMap{}, r.users(byConfigMap, client.Object.GetName)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2 * r.opts.Concurrent, RateLimiter: r.opts.RateLimiter})
	for _, kind := range request.SourceKinds() {
		if !isKnown(mgr, request.NewSource(kind)) {
			log.FromContext(ctx).Info("this kind of source is not installed in the cluster, so that Transforms cannot use it", "kind", kind)
			continue
		}
		name := func(o client.Object) string { return kind + "/" + o.GetNamespace() + "/" + o.GetName() }
		b = b.Watches(request.NewSource(kind), r.users(bySource, name), builder.WithPredicates(artifactChanged()))
	}

	// Objects of the engines, if the cluster has their kinds.
	for _, object := range []client.Object{&kustomizev1.Kustomization{}, &sourcev1.OCIRepository{}, &sourcev1.ExternalArtifact{}} {
		if isKnown(mgr, object) {
			b = b.Watches(object, owner(), builder.WithPredicates(isOurs(), stateChanged()))
		}
	}
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(application.GroupVersionKind())
	if len(r.opts.ArgoCD.Namespaces) > 0 && isKnown(mgr, app) {
		b = b.Watches(app, owner(), builder.WithPredicates(isOurs()))
	}
	return b.WatchesRawSource(source.Channel(lost, &handler.EnqueueRequestForObject{})).Complete(r)
}

// isKnown reports whether the cluster has a kind.
func isKnown(mgr ctrl.Manager, o client.Object) bool {
	gvk, err := mgr.GetClient().GroupVersionKindFor(o)
	if err != nil {
		return false
	}
	_, err = mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil
}

// users returns a handler that maps an object to the Transforms that name it. If they cannot all be
// rendered at once, they come behind others in the queue: an edit of a Transform does not wait until
// all Transforms that share a source with it are rendered.
func (r *Reconciler) users(index string, key func(client.Object) string) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, o client.Object, q queue) {
		opts := []client.ListOption{client.MatchingFields{index: key(o)}}
		if index != bySource {
			opts = append(opts, client.InNamespace(o.GetNamespace()))
		}
		requests := r.findRequests(ctx, opts...)
		low := handler.LowPriority
		if byPriority, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok && len(requests) > r.opts.Concurrent {
			byPriority.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, requests...)
			return
		}
		for _, request := range requests {
			q.Add(request)
		}
	}

	// The name of an object, which is its key, is the same before and after an update.
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}

// dependants returns a handler that maps a Transform to the Transforms that depend on it.
func (r *Reconciler) dependants() handler.EventHandler {
	return r.users(byDependency, client.Object.GetName)
}

// findRequests finds the Transforms of an index, records that they may have changed, and returns
// their requests.
func (r *Reconciler) findRequests(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	var list v1alpha1.TransformList
	if err := r.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil { // They are only read.
		log.FromContext(ctx).Error(err, "finding the Transforms of an object")
		return nil
	}
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
		r.claims.Changed(&list.Items[i])
	}
	return out
}

// owner returns a handler that maps an object to the Transform that it was made for.
func owner() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		labels := o.GetLabels()
		name := types.NamespacedName{Namespace: labels[v1alpha1.LabelNamespace], Name: labels[v1alpha1.LabelTransform]}
		if name.Name == "" || name.Namespace == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: name}}
	})
}

// isOurs returns a predicate that lets through objects that were made for a Transform.
func isOurs() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[v1alpha1.LabelTransform] != "" })
}

// windowOverridden returns a predicate that lets a Transform through when it has another reason to
// be delivered outside of its windows.
func windowOverridden() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			const reason = v1alpha1.AnnotationOverrideWindow
			return e.ObjectOld.GetAnnotations()[reason] != e.ObjectNew.GetAnnotations()[reason]
		},
	}
}

// readyChanged returns a predicate that lets through a Transform that became Ready: others may
// depend on it. A Transform that is no longer Ready changes nothing that is delivered.
func readyChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isDone(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return !isDone(e.ObjectOld) && isDone(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// isDone reports whether a Transform that another one depends on is done.
func isDone(o client.Object) bool {
	t, ok := o.(*v1alpha1.Transform)
	return ok && (isReady(t) || isHandingOver(t))
}

// artifactChanged returns a predicate that lets a source through when it has another artifact, or
// another reason why it has no artifact of its present spec.
func artifactChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before := artifactOf(e.ObjectOld)
		after := artifactOf(e.ObjectNew)
		isMissing := after == nil || !isCurrent(e.ObjectNew)
		if isMissing && !slices.Equal(stateOf(e.ObjectOld), stateOf(e.ObjectNew)) {
			return true
		}
		if before == nil || after == nil {
			return before != after
		}
		isSame := before.Digest == after.Digest && before.Revision == after.Revision
		return !isSame || isCurrent(e.ObjectOld) != isCurrent(e.ObjectNew)
	}}
}

// artifactOf returns the artifact of a source, or nil.
func artifactOf(o client.Object) *meta.Artifact {
	if s, ok := o.(sourcev1.Source); ok {
		return s.GetArtifact()
	}
	return nil
}

// isCurrent reports whether the status of a source is of its present spec.
func isCurrent(o client.Object) bool {
	switch s := o.(type) {
	case *sourcev1.GitRepository:
		return s.Status.ObservedGeneration == s.Generation
	case *sourcev1.OCIRepository:
		return s.Status.ObservedGeneration == s.Generation
	case *sourcev1.Bucket:
		return s.Status.ObservedGeneration == s.Generation
	}
	return true
}

// stateChanged returns a predicate that lets an object of Flux through when its state or its spec
// has changed, and not when its controller only repeats it.
func stateChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		isSameSpec := before.GetGeneration() == after.GetGeneration() &&
			before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero()
		// The last step of a hand-over writes only annotations.
		isSameMetadata := equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) &&
			equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations())
		return !isSameSpec || !isSameMetadata || !slices.Equal(stateOf(before), stateOf(after))
	}}
}

// stateOf returns the fields of the status of an object of Flux that a delivery depends on.
func stateOf(o client.Object) []string {
	var out []string
	if c, ok := o.(conditions.Getter); ok {
		for _, kind := range []string{meta.ReadyCondition, meta.StalledCondition, meta.ReconcilingCondition} {
			if condition := conditions.Get(c, kind); condition != nil {
				out = append(out, kind, string(condition.Status), condition.Reason, condition.Message)
			}
		}
	}
	if a := artifactOf(o); a != nil {
		out = append(out, a.Digest, a.Revision)
	}
	if k, ok := o.(*kustomizev1.Kustomization); ok {
		out = append(out, k.Status.LastAppliedRevision, k.Status.LastAttemptedRevision)
	}
	return out
}

// superseded returns a predicate that ends the render of a spec that has changed, records the
// change, and lets every event pass. A Transform is reconciled once at a time, so that a rollback,
// or a corrected reference, would otherwise wait for a server that does not answer.
func (r *Reconciler) superseded() predicate.Predicate {
	changed := func(o client.Object) bool {
		if t, ok := o.(*v1alpha1.Transform); ok {
			r.claims.Changed(t)
		}
		return true
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return changed(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			if e.ObjectNew == nil {
				return true
			}
			r.slots.Supersede(e.ObjectNew.GetUID(), e.ObjectNew.GetGeneration())
			return e.ObjectOld == nil || e.ObjectOld.GetGeneration() == e.ObjectNew.GetGeneration() || changed(e.ObjectNew)
		},
	}
}
