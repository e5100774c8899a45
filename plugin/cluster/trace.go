// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Labels and annotations of the engines on the objects that they apply.
const (
	labelKustomization          = "kustomize.toolkit.fluxcd.io/name"
	labelKustomizationNamespace = "kustomize.toolkit.fluxcd.io/namespace"
	annotationApplication       = "argocd.argoproj.io/tracking-id"
)

// Trace is the origin of an object.
type Trace struct {
	// Chain begins with the object. Each node was made by the next node, or from it: the owners of
	// the object, its Kustomization and the artifact, the Transform and its source.
	Chain []*Node `json:"chain"`
	// End is the reason why the chain does not reach a Transform, "" if it does.
	End string `json:"end,omitempty"`
}

// Trace follows an object back to the Transform that it comes from. Kind is any word that kubectl
// accepts; namespace is not used for a kind without namespaces.
func (c *Cluster) Trace(ctx context.Context, namespace, kind, name string) (*Trace, error) {
	out := &Trace{}
	o, err := c.add(ctx, out, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	const most = 10 // owners, such as of the pods of a database
	for range most {
		// Its labels and annotations name the engine that applied it.
		labels := o.GetLabels()
		last := out.Chain[len(out.Chain)-1].Ref
		app, _, tracked := strings.Cut(o.GetAnnotations()[annotationApplication], ":")
		owner := metav1.GetControllerOf(o)
		switch {
		case last.Group == "ropewalk.dev" && last.Kind == "Transform":
			out.Chain = out.Chain[:len(out.Chain)-1]
			return out, c.addTransform(ctx, out, last.Namespace, last.Name)
		case labels[labelTransform] != "":
			return out, c.addTransform(ctx, out, labels[labelNamespace], labels[labelTransform])
		case labels[labelKustomization] != "":
			return out, c.addKustomization(ctx, out, labels[labelKustomizationNamespace], labels[labelKustomization])
		case tracked:
			out.End = fmt.Sprintf("%s is applied by Argo CD, Application %s: look there", last, app)
			return out, nil
		case owner == nil:
			const format = "%s has no label of Flux, no annotation of Argo CD and no owner: neither of them applied it"
			out.End = fmt.Sprintf(format, last)
			return out, nil
		}

		// Only its owner is known: go on from there.
		gv, _ := schema.ParseGroupVersion(owner.APIVersion) // The server has one of that name.
		word := owner.Kind
		if gv.Group != "" {
			word += "." + gv.Group
		}
		o, err = c.add(ctx, out, word, o.GetNamespace(), owner.Name)
		if err != nil {
			return out, err
		}
	}
	out.End = "its owners have too many owners"
	return out, nil
}

// add reads the metadata of an object, and adds it to a chain.
func (c *Cluster) add(ctx context.Context, out *Trace, word, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	k, err := c.kindOf(ctx, word)
	if err != nil {
		return nil, err
	}
	r := Ref{Group: k.Group, Kind: k.name, Namespace: namespace, Name: name}
	if !k.namespaced {
		r.Namespace = ""
	}
	o, err := c.metadata.Resource(k.GroupVersionResource).Namespace(r.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, c.refused(ctx, r, err)
	}
	out.Chain = append(out.Chain, &Node{Ref: r})
	return o, nil
}

// addKustomization adds the Kustomization that applied an object, and its own origin.
func (c *Cluster) addKustomization(ctx context.Context, out *Trace, namespace, name string) error {
	k, err := c.addLink(ctx, out, Ref{Kind: "Kustomization", Namespace: namespace, Name: name})
	if err != nil {
		return err
	}
	transform := k.Metadata.Labels[labelTransform]
	if transform == "" {
		out.End = k.ref().String() + " was not made for a Transform"
		return nil
	}
	return c.addTransform(ctx, out, k.Metadata.Labels[labelNamespace], transform)
}

// addTransform adds a Transform, and its source.
func (c *Cluster) addTransform(ctx context.Context, out *Trace, namespace, name string) error {
	_, err := c.addLink(ctx, out, transformRef(namespace, name))
	return err
}

// addLink adds an object of a kind that is known by name, and the sources that it reads.
func (c *Cluster) addLink(ctx context.Context, out *Trace, r Ref) (*item, error) {
	o, err := c.get(ctx, r)
	if err != nil {
		return nil, err
	}
	sources, err := c.sources(ctx, o)
	out.Chain = append(append(out.Chain, o.node()), sources...)
	return o, err
}
