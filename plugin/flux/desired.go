// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

// prepareDesired returns what is to be delivered. That is what the spec renders to, which is
// rendered and published if it is not known yet, or the artifact that a rollback names.
func (w *work) prepareDesired(ctx context.Context) (delivery.Desired, error) {
	t := w.transform
	if err := checkName(t); err != nil {
		return delivery.Desired{}, err
	}
	if err := transform.CheckNames(t); err != nil {
		w.showViolations(err)
		return delivery.Desired{}, atRequest.at(err)
	}
	if t.Spec.Rollback != nil {
		return w.rolledBack(ctx)
	}
	if err := w.resolve(ctx); err != nil {
		return delivery.Desired{}, err
	}
	t.Status.Rendered = nil
	if a := t.Status.Artifact; a != nil && a.Checksum == w.key && !w.isDue() && !w.isRequested() {
		want, err := w.planOf(ctx, a.Digest)
		if err == nil {
			return want, nil
		}
		if w.applied(err) {
			return want, &outage{err}
		}
		// What was published is gone, or cannot be read: it is published again.
	}
	return w.renderAndPublish(ctx)
}

// outage is a registry that is not available, where the Transform is Ready and what is
// published would not change: the Transform stays Ready, and a later reconciliation asks
// the registry again.
type outage struct{ error }

// Unwrap returns the error of the registry.
func (o *outage) Unwrap() error { return o.error }

// applied reports whether a Transform stays Ready despite an error of the registry, because it
// renders the same as before.
func (w *work) applied(err error) bool {
	return errors.Is(err, source.ErrUnavailable) && isReady(w.before) && !w.isRequested()
}

// away returns the error of the registry for a render. It is an outage if the render is what was
// published.
func (w *work) away(ctx context.Context, out rendered, err error) error {
	if last := w.before.Status.Artifact; last != nil && w.applied(err) {
		if packed, failed := w.store.Pack(ctx, out.Render); failed == nil && packed.Tree == last.Tree {
			return &outage{err}
		}
	}
	return err
}

// resolve finds what the spec names, once all that it depends on is Ready.
func (w *work) resolve(ctx context.Context) error {
	if err := w.checkDependencies(ctx); err != nil {
		return err
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	found, err := w.loader.Resolve(ctx, w.cache, w.transform)
	if err != nil {
		return atRequest.at(err)
	}
	w.key = found.Key
	if found.Source != nil {
		w.revision = found.Source.Revision
	}
	return nil
}

// open makes the client of the account and the store.
func (w *work) open(ctx context.Context) (err error) {
	if w.as != nil {
		return nil
	}
	w.as, err = w.accounts.client(w.transform)
	if err != nil {
		return err
	}
	w.store, err = w.storeOf(ctx)
	return atPublish.at(err)
}

// storeOf returns the store that a Transform publishes to.
func (w *work) storeOf(ctx context.Context) (publish.Store, error) {
	out := w.transform.Spec.Output
	switch {
	case out != nil && out.OCI != nil:
		return w.oci.Open(ctx, w.transform, w.as)
	case w.storage == nil:
		return nil, block(stalled, v1alpha1.FeatureDisabledReason,
			"the controller has no storage for ExternalArtifacts: set spec.output.oci, or start the controller with --storage-path")
	}
	return w.storage.For(w.as, w.transform), nil
}

// checkDependencies returns an error if a Transform that this one depends on is not Ready.
func (w *work) checkDependencies(ctx context.Context) error {
	awaiting := w.claims.Awaiting(client.ObjectKeyFromObject(w.transform))
	for _, name := range w.transform.Spec.DependsOn {
		if string(name) == w.transform.Name {
			return block(stalled, v1alpha1.InvalidReason, "spec.dependsOn: the Transform depends on itself")
		}
		other := &v1alpha1.Transform{}
		err := w.Get(ctx, client.ObjectKey{Namespace: w.transform.Namespace, Name: string(name)}, other)
		switch {
		case apierrors.IsNotFound(err):
			return block(waiting, v1alpha1.DependencyNotReadyReason, "spec.dependsOn: Transform %q does not exist", name)
		case err != nil:
			return err
		case !isReady(other) && !isHandingOver(other) && !w.leadsTo(ctx, other, awaiting):
			return block(waiting, v1alpha1.DependencyNotReadyReason, "spec.dependsOn: Transform %q is not Ready", name)
		}
	}
	return nil
}

// leadsTo reports whether a Transform is, or depends on, one of those that cannot go on before
// this one hands its objects over. This one does not wait for such a Transform.
func (w *work) leadsTo(ctx context.Context, t *v1alpha1.Transform, awaiting map[string]bool) bool {
	seen := map[string]bool{}
	next := []string{t.Name}
	for len(awaiting) > 0 && len(next) > 0 {
		name := next[0]
		next = next[1:]
		if awaiting[name] {
			return true
		}
		at := &v1alpha1.Transform{}
		if seen[name] || w.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, at) != nil {
			continue
		}
		seen[name] = true
		for _, further := range at.Spec.DependsOn {
			next = append(next, string(further))
		}
	}
	return false
}

// isReady reports whether a Transform is Ready at its present spec.
func isReady(t *v1alpha1.Transform) bool {
	return conditions.IsReady(t) && t.Status.ObservedGeneration == t.Generation
}

// isHandingOver reports whether all that a Transform wants is applied, and what it keeps is for
// others, which may depend on it.
func isHandingOver(t *v1alpha1.Transform) bool {
	c := conditions.Get(t, meta.ReadyCondition)
	return c != nil && c.Reason == v1alpha1.HandingOverReason && c.ObservedGeneration == t.Generation
}

// isRequested reports whether the annotation requests a reconciliation.
func (w *work) isRequested() bool {
	at, ok := meta.ReconcileAnnotationValue(w.transform.GetAnnotations())
	return ok && at != w.before.GetLastHandledReconcileRequest()
}

// isDue reports whether it is time to resolve tags and branches again.
func (w *work) isDue() bool {
	return w.attempts.since(w.transform.UID, w.now()) >= intervalOf(w.transform)
}

// ttl returns how long the resolution of a tag or a branch stays valid.
func (w *work) ttl() time.Duration {
	if w.isRequested() {
		return -1
	}
	return min(cache.DefaultTTL, intervalOf(w.transform)/2)
}

// planOf returns the plan of a complete artifact that was published.
func (w *work) planOf(ctx context.Context, digest string) (delivery.Desired, error) {
	t := w.transform
	if engineOf(t) == v1alpha1.EngineNone && t.Spec.Output != nil && t.Spec.Output.OCI != nil {
		return delivery.Desired{Digest: digest}, nil // It is not delivered, and nothing here serves it.
	}
	if want, ok := w.plans.Get(planKey(t.UID, digest)); ok {
		return want, nil
	}
	want, err := w.store.Desired(ctx, digest)
	if err == nil {
		w.keepPlan(want)
	}
	return want, err
}

// planKey returns the key of a plan in Reconciler.plans.
func planKey(uid types.UID, digest string) string { return string(uid) + "@" + digest }

// keepPlan keeps a plan in memory.
func (w *work) keepPlan(d delivery.Desired) {
	const perObject = 512 // bytes, about
	cost := int64(perObject)
	for _, layer := range d.Layers {
		cost += perObject * int64(1+len(layer.Objects))
	}
	w.plans.Put(planKey(w.transform.UID, d.Digest), d, cost)
}

// unfinished returns what was published last, and false if it is delivered already.
func (w *work) unfinished(ctx context.Context) (delivery.Desired, bool) {
	t := w.transform
	if t.Status.Artifact == nil || w.store == nil || t.Spec.Rollback != nil {
		return delivery.Desired{}, false
	}
	done := !slices.ContainsFunc(t.Status.Layers, func(l v1alpha1.LayerStatus) bool { return l.State != v1alpha1.LayerReady })
	if done && len(t.Status.Layers) > 0 {
		return delivery.Desired{}, false
	}
	want, err := w.planOf(ctx, t.Status.Artifact.Digest)
	return want, err == nil
}

// time returns the present time as the status has it: to the second.
func (w *work) time() metav1.Time { return metav1.NewTime(w.now().UTC().Truncate(time.Second)) }
