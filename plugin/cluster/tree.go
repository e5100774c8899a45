// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Labels of the objects that a Transform owns, as in plugin/api.
const (
	labelTransform = "ropewalk.dev/transform"
	labelNamespace = "ropewalk.dev/transform-namespace"
)

// Node is an object of a tree or of a trace.
type Node struct {
	Ref
	// Ready is the status of its condition Ready: True, False or Unknown; Missing for an object that is
	// named and does not exist; "" if it is not known.
	Ready     string `json:"ready,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	// Message comes from the condition.
	Message string `json:"message,omitempty"`
	// Revision is the revision that it delivers or holds.
	Revision string `json:"revision,omitempty"`
	// Nodes are its sources, and then the objects that it made or applied.
	Nodes []*Node `json:"nodes,omitempty"`
}

// node returns the node of an object.
func (o *item) node() *Node {
	ready := o.ready()
	return &Node{
		Ref:       o.ref(),
		Ready:     string(ready.Status),
		Message:   ready.Message,
		Revision:  o.revision(),
		Suspended: o.Spec.Suspend,
	}
}

// Tree returns a Transform with its source and its Kustomizations, in the order of the layers, each
// with its source and the objects that it applied.
func (c *Cluster) Tree(ctx context.Context, namespace, name string) (*Node, error) {
	t, err := c.get(ctx, transformRef(namespace, name))
	if err != nil {
		return nil, err
	}
	root := t.node()
	root.Nodes, err = c.sources(ctx, t)
	if err != nil {
		return nil, err
	}

	// Add a node for each layer.
	layers, err := c.kustomizations(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, k := range layers {
		node := k.node()
		node.Nodes, err = c.sources(ctx, k)
		if err != nil {
			return nil, err
		}
		for _, e := range k.Status.Inventory.Entries {
			if r, ok := refOf(e.ID); ok {
				node.Nodes = append(node.Nodes, &Node{Ref: r})
			}
		}
		root.Nodes = append(root.Nodes, node)
	}
	return root, nil
}

// owned returns the selector of the objects that were made for a Transform.
func owned(t *item) string {
	return labelTransform + "=" + t.Metadata.Name + "," + labelNamespace + "=" + t.Metadata.Namespace
}

// kustomizations returns the Kustomizations of a Transform, in the order of its layers. Former
// layers come last.
func (c *Cluster) kustomizations(ctx context.Context, t *item) ([]*item, error) {
	out, err := c.list(ctx, "Kustomization", t.Metadata.Namespace, owned(t))
	if apierrors.IsNotFound(err) {
		return nil, nil // There is no Flux.
	}
	rank := map[string]int{}
	for i, l := range t.Status.Layers {
		rank[l.Name] = i - len(t.Status.Layers)
	}
	slices.SortStableFunc(out, func(a, b *item) int { return rank[a.Metadata.Name] - rank[b.Metadata.Name] })
	return out, err
}

// sources returns the sources of an object: the source that it names, and the modules and policies
// of a Transform.
func (c *Cluster) sources(ctx context.Context, o *item) ([]*Node, error) {
	var out []*Node
	if r, ok := o.source(); ok {
		source, err := c.get(ctx, r)
		var gone *Error
		switch {
		case errors.As(err, &gone):
			out = append(out, &Node{Ref: r, Ready: "Missing", Message: gone.Error()})
		case err != nil:
			return nil, err
		default:
			out = append(out, source.node())
		}
	}
	for _, r := range o.Status.References {
		// A source is an object, and here already.
		if r.Name != "source" {
			out = append(out, &Node{Ref: Ref{Kind: "Reference", Name: cmp.Or(r.Reference, r.Name)}, Revision: r.Revision})
		}
	}
	return out, nil
}

// refOf returns the object that an entry of an inventory of Flux names: NAMESPACE_NAME_GROUP_KIND,
// with "__" for a colon in the name (fluxcd/cli-utils, pkg/object).
func refOf(id string) (Ref, bool) {
	namespace, rest, ok := strings.Cut(id, "_")
	kind := strings.LastIndexByte(rest, '_')
	if !ok || kind < 0 {
		return Ref{}, false
	}
	group := strings.LastIndexByte(rest[:kind], '_')
	if group < 0 {
		return Ref{}, false
	}
	return Ref{Group: rest[group+1 : kind], Kind: rest[kind+1:], Namespace: namespace, Name: strings.ReplaceAll(rest[:group], "__", ":")}, true
}
