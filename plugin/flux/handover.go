// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// orphan is the policy by which what was delivered stays.
const orphan = "Orphan"

// endOtherEngines ends the deliveries of engines that delivered before spec.delivery.type was
// changed. The message says what is still under way, or is "".
//
// What they applied stays, for the next engine to take over. If the Transform is being
// deleted its policy counts, unless its delivery type is None.
func (w *work) endOtherEngines(ctx context.Context) (string, error) {
	// What is applied stays, unless the Transform itself is deleted.
	of := engineOf(w.transform)
	t := w.transform.DeepCopy()
	if t.DeletionTimestamp.IsZero() || of == v1alpha1.EngineNone {
		t.Spec.Delivery = &v1alpha1.Delivery{DeletionPolicy: orphan}
	}

	// Each other engine withdraws what it has.
	for _, other := range []v1alpha1.Engine{v1alpha1.EngineFlux, v1alpha1.EngineArgoCD} {
		if other == of {
			continue
		}
		has, err := w.findOwned(ctx, w.cache, other)
		if err != nil {
			// A cache of some namespaces knows nothing of that of Argo CD.
			has, err = w.findOwned(ctx, w.direct, other)
		}
		if err != nil {
			return "", err
		}
		if has == "" {
			continue
		}
		done, text, err := w.engineFor(other).Withdraw(ctx, t)
		if err != nil {
			return "", err
		}
		if !done {
			return fmt.Sprintf("ending the delivery by %s: %s", other, cmp.Or(text, has)), nil
		}
	}
	return "", nil
}

// findOwned returns the name of one of the objects that an engine has for the Transform, or "" if
// it has none.
func (w *work) findOwned(ctx context.Context, from client.Reader, of v1alpha1.Engine) (string, error) {
	t := w.transform
	if isTooLong(t) {
		return "", nil // It is no label of anything.
	}
	labels := client.MatchingLabels{v1alpha1.LabelTransform: t.Name, v1alpha1.LabelNamespace: t.Namespace}
	if of == v1alpha1.EngineArgoCD {
		apps, err := w.argocd().Owned(ctx, from, t)
		if len(apps) > 0 {
			return apps[0].GetNamespace() + "/" + apps[0].GetName(), err
		}
		return "", err
	}
	for _, list := range []client.ObjectList{&kustomizev1.KustomizationList{}, &sourcev1.OCIRepositoryList{}, &sourcev1.ExternalArtifactList{}} {
		// The complete artifact has no layer, and does not depend on the engine.
		name, err := findFirst(ctx, from, list, client.InNamespace(t.Namespace), labels, client.HasLabels{v1alpha1.LabelLayer})
		if name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}

// findFirst returns the name of the first object of a list, or "" if there is none, or no such
// kind.
func findFirst(ctx context.Context, from client.Reader, list client.ObjectList, opts ...client.ListOption) (string, error) {
	if err := from.List(ctx, list, opts...); err != nil {
		if apimeta.IsNoMatchError(err) {
			return "", nil
		}
		return "", err
	}
	items, err := apimeta.ExtractList(list)
	if err != nil || len(items) == 0 {
		return "", err
	}
	o, err := apimeta.Accessor(items[0])
	if err != nil {
		return "", err
	}
	return o.GetNamespace() + "/" + o.GetName(), nil
}

// claim records what the Transform wants if no delivery by Flux did: while it is suspended, or
// cannot be rendered. What it wants is settled, unless it was not rendered because of others. The
// argument changes is what the reconciliation began with.
func (w *work) claim(ctx context.Context, changes uint64, err error) {
	t := w.transform
	name := client.ObjectKeyFromObject(t)
	if w.gone {
		w.claims.Forget(t)
		return
	}
	if ctx.Err() != nil || isPostponed(err) || err != nil && diagnose(err).reason == v1alpha1.DependencyNotReadyReason {
		return
	}
	if !w.claims.Known(name) && t.Status.Artifact != nil && engineOf(t) == v1alpha1.EngineFlux && t.DeletionTimestamp.IsZero() && w.open(ctx) == nil {
		if want, err := w.planOf(ctx, t.Status.Artifact.Digest); err == nil {
			w.claims.Assume(t, want)
		}
	}
	w.claims.Settle(name, changes)
}

// isEmpty reports whether no engine has anything of the Transform, as the controller itself sees
// it. Nothing is lost then if the account may not withdraw.
func (w *work) isEmpty(ctx context.Context) bool {
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineFlux, v1alpha1.EngineArgoCD} {
		if name, err := w.findOwned(ctx, w.direct, engine); name != "" || err != nil {
			return false
		}
	}
	return true
}

// isTooLong reports whether the name of a Transform is too long for a label, which all that is
// made for it has.
func isTooLong(t *v1alpha1.Transform) bool { return len(t.Name) > validation.LabelValueMaxLength }

// checkName returns an error if a name has to be a label and cannot be one. Only an artifact in a
// registry with delivery type None needs no label.
func checkName(t *v1alpha1.Transform) error {
	if !isTooLong(t) || engineOf(t) == v1alpha1.EngineNone && t.Spec.Output != nil && t.Spec.Output.OCI != nil {
		return nil
	}
	return block(stalled, v1alpha1.InvalidReason,
		"metadata.name has %d characters; it is used as a label, which may have %d: use a shorter name",
		len(t.Name), validation.LabelValueMaxLength)
}
