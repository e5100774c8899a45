// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/preview"
)

// provisionedIn returns the nodes that a provisioner made, each in a namespace if its kind is
// namespaced: in the namespace of the workload by default. Otherwise an engine would choose a
// namespace, and duplicates would not be found.
func (c *compiler) provisionedIn(namespace string, nodes []*object.Node) []*object.Node {
	return withNamespace(nodes, func(n *object.Node) string {
		if namespaced, _ := c.scopes().Namespaced(n.Object); namespaced {
			return namespace
		}
		return ""
	})
}

// withNamespaces returns all nodes of a render, each in the namespace of its spec's context if its
// kind is namespaced and its module sets no namespace. Flux rejects objects without a namespace, and
// spec.targetNamespace of a Kustomization would move all other objects too. Unless everySpec is set,
// only specs that state their namespace are changed.
func (c *compiler) withNamespaces(nodes []*object.Node, everySpec bool) []*object.Node {
	namespaceOf := c.namespaces(nodes)
	stated := map[string]bool{}
	for _, s := range c.req.Specs {
		stated[s.Evaluate.Spec] = s.StatesNamespace || c.req.Preview.ID != ""
	}
	return withNamespace(nodes, func(n *object.Node) string {
		if !everySpec && !stated[n.ID.Spec()] {
			return ""
		}
		return namespaceOf(n)
	})
}

// namespaces returns a function that returns the namespace of a node: the namespace of its spec's
// context if its kind is namespaced, and "" for others.
func (c *compiler) namespaces(nodes []*object.Node) func(n *object.Node) string {
	contexts, stated := map[string]string{}, map[string]bool{}
	for _, s := range c.req.Specs {
		contexts[s.Evaluate.Spec] = s.Evaluate.Context.Namespace
		stated[s.Evaluate.Spec] = s.StatesNamespace || c.req.Preview.ID != ""
	}
	scope := c.scopeOf(nodes)
	return func(n *object.Node) string {
		namespaced, known := scope(n)
		// A Component moves its objects into its namespace, as kustomize does. Most unknown kinds
		// are namespaced, and the names of the others begin with Cluster.
		assumed := !known && stated[n.ID.Spec()] && !strings.HasPrefix(n.Object.Kind(), "Cluster")
		if namespaced || assumed {
			return contexts[n.ID.Spec()]
		}
		return ""
	}
}

// scopeOf returns a function that reports whether the kind of a node is namespaced, and whether
// that is known.
func (c *compiler) scopeOf(nodes []*object.Node) func(n *object.Node) (namespaced, known bool) {
	rendered := scopesOf(nodes)
	return func(n *object.Node) (namespaced, known bool) {
		namespaced, known = rendered[n.Object.Ref().GroupKind()]
		if known {
			return namespaced, true
		}
		return c.scopes().Namespaced(n.Object)
	}
}

// moveToPreview returns the nodes in the preview of the request, if it is for a preview, with mistakes
// for objects that a preview cannot have. It returns an error only if the context is cancelled.
func (c *compiler) moveToPreview(ctx context.Context, nodes []*object.Node) ([]*object.Node, Errors, error) {
	if c.req.Preview.ID == "" {
		return nodes, nil, nil
	}
	scope := c.scopeOf(nodes)
	moved, errs := preview.Rewrite(c.req.Preview, nodes, func(n *object.Node) bool {
		namespaced, known := scope(n)
		return !namespaced && (known || n.Object.Namespace() == "")
	})
	if err := c.locateAll(ctx, errs, nodes); err != nil {
		return nil, nil, err
	}
	return moved, errs, nil
}

// reportTwice reports pairs of objects that are one object for an engine: one of them names the
// namespace of the context, and the other has no namespace. The graph reports all other duplicates.
func (c *compiler) reportTwice(nodes []*object.Node) Errors {
	without := func(n *object.Node) object.Ref {
		ref := n.Object.Ref()
		ref.Namespace = ""
		return ref
	}

	// Group objects that differ only in their namespace.
	byName := map[object.Ref][]*object.Node{}
	for _, n := range nodes {
		byName[without(n)] = append(byName[without(n)], n)
	}

	// An object without a namespace clashes with an object in the namespace of the context.
	namespaceOf := c.namespaces(nodes)
	var errs Errors
	for _, n := range nodes {
		if n.Object.Namespace() != "" || n.Object.Name() == "" {
			continue
		}
		for _, other := range byName[without(n)] {
			if namespace := other.Object.Namespace(); namespace != "" && namespace == namespaceOf(n) {
				errs = append(errs, &Error{
					Stage: object.StageGraph, Pos: cmp.Or(n.SpecPos, n.Pos), Node: n.ID,
					Err:  fmt.Errorf("%s is rendered twice: by %s without a namespace, and by %s in that of the context", without(n), n.ID, other.ID),
					Hint: "an engine adds the namespace: rename or remove one of them, or render for another namespace",
					Notes: []object.Note{
						{Pos: n.Pos, Text: fmt.Sprintf("the module makes %s here", n.ID)},
						{Pos: other.Pos, Text: fmt.Sprintf("the module makes %s here, in %q", other.ID, namespace)},
					},
				})
				break // The graph reports that the others are one object, too.
			}
		}
	}
	return errs
}

// scopesOf returns the kinds that the render itself defines, and whether each is namespaced.
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

// withNamespace returns nodes, in which nodes without a namespace get the result of namespaceOf. A
// node for which it returns "" is unchanged.
func withNamespace(nodes []*object.Node, namespaceOf func(n *object.Node) string) []*object.Node {
	var out []*object.Node
	for i, n := range nodes {
		if n.Object.Namespace() != "" {
			continue
		}
		namespace := namespaceOf(n)
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
