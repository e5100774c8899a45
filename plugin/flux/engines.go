// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/application"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// orphan is the policy by which delivered objects stay.
const orphan = "Orphan"

// engines makes the engines that deliver, and finds their objects of a Transform.
type engines struct {
	claims *delivery.Claims
	now    func() time.Time
	// cache has metadata, and direct is the client of the controller itself.
	cache  client.Reader
	direct client.Client
	// allow says where Applications may be made.
	allow ArgoCD
	// account is the service account of Transforms that name no account.
	account string
}

// choose returns the engine of a delivery type, or nil for None.
func (e engines) choose(engine v1alpha1.Engine, with access) delivery.Engine {
	switch engine {
	case v1alpha1.EngineArgoCD:
		return e.argocd()
	case v1alpha1.EngineFlux:
		// It delivers with the rights of the Transform's account.
		return &delivery.Flux{Client: with.as, Artifacts: with.store, Claims: e.claims, DefaultServiceAccount: e.account}
	case v1alpha1.EngineNone:
	}
	return nil
}

// argocd returns the engine that delivers by Argo CD, with the rights of the controller.
func (e engines) argocd() *application.Engine {
	return &application.Engine{Client: e.direct, Now: e.now, Allow: e.allow}
}

// endOthers ends the deliveries of engines that delivered before spec.delivery.type was changed. The
// message names a delivery that is still ending, or is "".
//
// Their objects stay, for the next engine to take over. If the Transform is being deleted its policy
// counts, unless its delivery type is None.
func (e engines) endOthers(ctx context.Context, t *v1alpha1.Transform, with access) (string, error) {
	// Objects stay, unless the Transform itself is deleted.
	engine := engineOf(t)
	ending := t.DeepCopy()
	if t.DeletionTimestamp.IsZero() || engine == v1alpha1.EngineNone {
		ending.Spec.Delivery = &v1alpha1.Delivery{DeletionPolicy: orphan}
	}

	// Each other engine withdraws its objects.
	for _, other := range []v1alpha1.Engine{v1alpha1.EngineFlux, v1alpha1.EngineArgoCD} {
		if other == engine {
			continue
		}
		has, err := e.findOwned(ctx, e.cache, t, other)
		if err != nil {
			// A cache of some namespaces may not have the namespace of Argo CD.
			has, err = e.findOwned(ctx, e.direct, t, other)
		}
		if err != nil {
			return "", err
		}
		if has == "" {
			continue
		}
		done, text, err := e.choose(other, with).Withdraw(ctx, ending)
		if err != nil {
			return "", err
		}
		if !done {
			return fmt.Sprintf("ending the delivery by %s: %s", other, cmp.Or(text, has)), nil
		}
	}
	return "", nil
}

// findOwned returns the name of an object that an engine has for the Transform, or "" if it has no
// object.
func (e engines) findOwned(ctx context.Context, reader client.Reader, t *v1alpha1.Transform, engine v1alpha1.Engine) (string, error) {
	if isTooLong(t) {
		return "", nil // It is no label of anything.
	}
	labels := client.MatchingLabels{v1alpha1.LabelTransform: t.Name, v1alpha1.LabelNamespace: t.Namespace}
	if engine == v1alpha1.EngineArgoCD {
		apps, err := e.argocd().Owned(ctx, reader, t)
		if len(apps) > 0 {
			return apps[0].GetNamespace() + "/" + apps[0].GetName(), err
		}
		return "", err
	}
	for _, list := range []client.ObjectList{&kustomizev1.KustomizationList{}, &sourcev1.OCIRepositoryList{}, &sourcev1.ExternalArtifactList{}} {
		// The complete artifact has no layer, and does not depend on the engine.
		name, err := findFirst(ctx, reader, list, client.InNamespace(t.Namespace), labels, client.HasLabels{v1alpha1.LabelLayer})
		if name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}

// findFirst returns the name of the first object of a list, or "" if the list is empty or the
// cluster does not have the kind.
func findFirst(ctx context.Context, reader client.Reader, list client.ObjectList, opts ...client.ListOption) (string, error) {
	if err := reader.List(ctx, list, opts...); err != nil {
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

// isEmpty reports whether no engine has anything of the Transform, as the controller itself sees
// it. Nothing is lost then if the account may not withdraw.
func (e engines) isEmpty(ctx context.Context, t *v1alpha1.Transform) bool {
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineFlux, v1alpha1.EngineArgoCD} {
		if name, err := e.findOwned(ctx, e.direct, t, engine); name != "" || err != nil {
			return false
		}
	}
	return true
}
