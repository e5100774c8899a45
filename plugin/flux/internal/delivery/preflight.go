// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const (
	adoptNever = "Never"
	// elsewhere is the message for objects with adopt Never in a cluster that only Flux can read.
	elsewhere = "adopt: Never cannot be checked in the cluster of spec.delivery.flux.kubeConfig, which only Flux can read: set adopt: TakeOwnership"

	// Labels of kustomize-controller on what it applies.
	labelKustomization          = "kustomize.toolkit.fluxcd.io/name"
	labelKustomizationNamespace = "kustomize.toolkit.fluxcd.io/namespace"

	// StateForeign is the state of a node whose object has another owner.
	StateForeign = "Foreign"

	// concurrentReads limits the objects that are read at the same time.
	concurrentReads = 8
)

// preflight looks for objects of other owners before a layer that applies them is released. The
// Progress names them, and nothing may be written then. If a module declares for an object whether
// to adopt it, that counts, and spec.adopt counts for the others.
//
// Whenever something is released, the objects of layers that still wait are looked for too: the user
// sees all conflicts at once, and not layer by layer.
func (d *delivery) preflight(ctx context.Context, goals []goal) (Progress, error) {
	// The objects of Flux come first, because they would prune.
	if refused, err := d.checkNames(ctx, goals); err != nil || refused.Reason != "" {
		return refused, err
	}
	if !slices.ContainsFunc(goals, func(g goal) bool { return d.layers[g.layer] != nil && g.released && !g.keep }) {
		return Progress{}, nil
	}

	// Objects that a layer has applied already belong to this Transform.
	applied := map[key]bool{}
	for _, s := range d.states {
		for k := range s.inventory {
			applied[k] = true
		}
	}

	// Every other object is looked up, unless it may be adopted.
	var refused []v1alpha1.NodeStatus
	for _, g := range goals {
		u := d.layers[g.layer]
		if u == nil {
			continue
		}
		fresh := slices.DeleteFunc(slices.Clone(u.Objects), func(r ObjectRef) bool {
			return cmp.Or(r.Adopt, d.t.Spec.Adopt) != adoptNever || applied[r.key()]
		})
		if len(fresh) > 0 && d.template().KubeConfig != nil {
			return Progress{Stalled: true, Reason: v1alpha1.ForeignObjectsReason, Message: elsewhere}, nil
		}
		found, err := d.findForeign(ctx, u.Name, fresh)
		if err != nil {
			return Progress{}, err
		}
		refused = append(refused, found...)
	}
	if len(refused) == 0 {
		return Progress{}, nil
	}
	return Progress{Stalled: true, Nodes: refused, Reason: v1alpha1.ForeignObjectsReason, Message: foreignMessage(refused)}, nil
}

// checkNames returns a Progress that refuses if an object of Flux of a new layer has another owner.
// It may belong to a user who migrates to Ropewalk: the objects in its inventory would be pruned.
func (d *delivery) checkNames(ctx context.Context, goals []goal) (Progress, error) {
	// Only layers that are released and not in the cluster get new objects.
	for _, g := range goals {
		if d.states[g.layer] != nil || !g.released {
			continue
		}
		source, _, err := d.Artifacts.Source(d.t, g.layer, d.layers[g.layer].Digest)
		if err != nil {
			return Progress{}, err
		}
		names := client.ObjectKey{Namespace: d.t.Namespace, Name: objectName(d.t, g.layer)}

		// Neither a Kustomization nor a source may exist.
		for _, gvk := range []schema.GroupVersionKind{
			kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind), sourcev1.GroupVersion.WithKind(kindOf(source)),
		} {
			o := &metav1.PartialObjectMetadata{}
			o.SetGroupVersionKind(gvk)
			err := d.Client.Get(ctx, names, o)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return Progress{}, err
			}
			if o.Labels[v1alpha1.LabelTransform] == d.t.Name && o.Labels[v1alpha1.LabelNamespace] == d.t.Namespace {
				continue
			}
			message := fmt.Sprintf("%s %q exists and is not of this Transform: delete it "+
				"(a Kustomization with deletionPolicy: Orphan, so that its objects stay), or rename the Transform", gvk.Kind, names.Name)
			return Progress{Stalled: true, Reason: v1alpha1.ForeignObjectsReason, Message: message}, nil
		}
	}
	return Progress{}, nil
}

// foreignMessage returns the message for objects of other owners.
func foreignMessage(foreign []v1alpha1.NodeStatus) string {
	const most = 3
	var names []string
	for _, n := range foreign {
		names = append(names, n.Object)
	}
	return fmt.Sprintf("already in the cluster with another owner, and adopt is Never: %s; nothing is applied: "+
		"delete or rename them, or set adopt: TakeOwnership", printable.List(names, most))
}

// findForeign reads the metadata of objects, and returns the objects that exist without the labels
// of a Kustomization of this Transform.
func (d *delivery) findForeign(ctx context.Context, layer string, refs []ObjectRef) ([]v1alpha1.NodeStatus, error) {
	// Former layers count too: objects move between layers.
	ours := map[string]bool{}
	for name := range d.layers {
		ours[objectName(d.t, name)] = true
	}
	for name := range d.live.kustomizations {
		ours[objectName(d.t, name)] = true
	}

	// An API server answers one request for each object, so several are sent at once.
	var mu sync.Mutex
	var foreign []v1alpha1.NodeStatus
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentReads)
	for _, r := range refs {
		group.Go(func() error {
			o := &metav1.PartialObjectMetadata{}
			o.SetGroupVersionKind(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind})
			err := d.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, o)
			switch {
			case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err):
				return nil
			case err != nil:
				return err
			}
			if o.Labels[labelKustomizationNamespace] == d.t.Namespace && ours[o.Labels[labelKustomization]] {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			foreign = append(foreign, v1alpha1.NodeStatus{
				ID: r.Node, Object: r.String(), Layer: objectName(d.t, layer), State: StateForeign, Message: ownerOf(o),
			})
			return nil
		})
	}

	// The order of the answers must not show.
	err := group.Wait()
	slices.SortFunc(foreign, func(a, b v1alpha1.NodeStatus) int { return strings.Compare(a.Object, b.Object) })
	return foreign, err
}

// ownerOf returns the probable owner of an object, for messages.
func ownerOf(o *metav1.PartialObjectMetadata) string {
	if name := o.Labels[labelKustomization]; name != "" {
		return "applied by Kustomization " + o.Labels[labelKustomizationNamespace] + "/" + name
	}
	if app, _, ok := strings.Cut(o.Annotations["argocd.argoproj.io/tracking-id"], ":"); ok {
		return "applied by Application " + app
	}
	if release := o.Annotations["meta.helm.sh/release-name"]; release != "" {
		return "installed by Helm as " + o.Annotations["meta.helm.sh/release-namespace"] + "/" + release
	}
	managers := map[string]bool{}
	for _, f := range o.ManagedFields {
		managers[f.Manager] = true
	}
	if len(managers) == 0 {
		return "not applied by this Transform"
	}
	return "written by " + strings.Join(ordered(managers), ", ")
}

// String returns group/kind namespace/name, as the status shows objects.
func (r ObjectRef) String() string {
	s := r.Kind
	if r.Group != "" {
		s = r.Group + "/" + s
	}
	if r.Namespace != "" {
		return s + " " + r.Namespace + "/" + r.Name
	}
	return s + " " + r.Name
}
