// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// provisionedIn is the nodes that a provisioner made, each in a namespace where its kind
// is namespaced: that of the workload where the provisioner sets none. An engine would
// choose one of its own, and duplicates would not be found.
func (c *compiler) provisionedIn(namespace string, nodes []*object.Node) []*object.Node {
	return withNamespace(nodes, func(n *object.Node) string {
		if namespaced, _ := c.scopes().Namespaced(n.Object); namespaced {
			return namespace
		}
		return ""
	})
}

// withNamespaces is all nodes of a render, each in the namespace of its spec's context
// where its kind is namespaced and its module sets none. Flux rejects such objects, and
// spec.targetNamespace of a Kustomization moves all other objects too.
func (c *compiler) withNamespaces(nodes []*object.Node) []*object.Node {
	contexts := map[string]string{}
	for _, s := range c.req.Specs {
		contexts[s.Evaluate.Spec] = s.Evaluate.Context.Namespace
	}
	own := scopesOf(nodes)
	return withNamespace(nodes, func(n *object.Node) string {
		namespaced, known := own[n.Object.Ref().GroupKind()]
		if !known {
			namespaced, _ = c.scopes().Namespaced(n.Object)
		}
		if namespaced {
			return contexts[n.ID.Spec()]
		}
		return ""
	})
}

// scopesOf reports which of the kinds that the render itself defines are namespaced.
func scopesOf(nodes []*object.Node) map[string]bool {
	out := map[string]bool{}
	for _, n := range nodes {
		if o := n.Object; o.Kind() == "CustomResourceDefinition" && o.Group() == "apiextensions.k8s.io" {
			ref := object.Ref{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")}
			out[ref.GroupKind()] = o.Text("spec", "scope") != "Cluster"
		}
	}
	return out
}

// withNamespace is nodes, those without a namespace in the one that of returns; ""
// leaves them.
func withNamespace(nodes []*object.Node, of func(n *object.Node) string) []*object.Node {
	var out []*object.Node
	for i, n := range nodes {
		if n.Object.Namespace() != "" {
			continue
		}
		namespace := of(n)
		if namespace == "" {
			continue
		}
		clone := *n
		clone.Object = n.Object.Clone()
		meta := clone.Object.Map("metadata")
		if meta == nil {
			continue // The check reports it.
		}
		if out == nil {
			out = slices.Clone(nodes) // The evaluator may share its result.
		}
		meta["namespace"] = namespace
		out[i] = &clone
	}
	if out == nil {
		return nodes
	}
	return out
}
