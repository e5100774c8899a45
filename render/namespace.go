// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// within is the nodes that a provisioner made, each in a namespace where its kind
// belongs to one: that of the workload where the provisioner names none. An
// engine would choose one of its own, and what is there twice would not be found.
func (j joined) within(namespace string, nodes []*object.Node) []*object.Node {
	return settle(nodes, func(n *object.Node) string {
		if namespaced, _ := j.scopes().Namespaced(n.Object); namespaced {
			return namespace
		}
		return ""
	})
}

// placed is all nodes of a render for Flux, each in the namespace of its spec's
// context where its kind belongs to one and its module names none. Argo CD and
// kubectl have a namespace for such objects, and Flux refuses them. Its
// spec.targetNamespace was not taken: it moves the other objects too.
func (j joined) placed(req Request, nodes []*object.Node) []*object.Node {
	if req.Emit.Dialect != dialect.Flux {
		return nodes
	}
	contexts := map[string]string{}
	for _, s := range req.Specs {
		contexts[s.Evaluate.Spec] = s.Evaluate.Context.Namespace
	}
	own := scopesOf(nodes)
	return settle(nodes, func(n *object.Node) string {
		namespaced, known := own[n.Object.Ref().GroupKind()]
		if !known {
			namespaced, _ = j.scopes().Namespaced(n.Object)
		}
		if namespaced {
			return contexts[n.ID.Spec()]
		}
		return ""
	})
}

// scopesOf says of the kinds that the render itself defines whether they belong to a
// namespace.
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

// settle is nodes, those without a namespace in the one that in says; "" leaves them.
func settle(nodes []*object.Node, in func(n *object.Node) string) []*object.Node {
	var out []*object.Node
	for i, n := range nodes {
		if n.Object.Namespace() != "" {
			continue
		}
		namespace := in(n)
		if namespace == "" {
			continue
		}
		placed := *n
		placed.Object = n.Object.Clone()
		meta := placed.Object.Map("metadata")
		if meta == nil {
			continue // The check says so.
		}
		if out == nil {
			out = slices.Clone(nodes) // What the evaluator gave belongs to it.
		}
		meta["namespace"] = namespace
		out[i] = &placed
	}
	if out == nil {
		return nodes
	}
	return out
}
