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
// namespaced: that of the workload if the provisioner sets none. An engine would choose one of its
// own, and duplicates would not be found.
func (c *compiler) provisionedIn(namespace string, nodes []*object.Node) []*object.Node {
	return withNamespace(nodes, func(n *object.Node) string {
		if namespaced, _ := c.scopes().Namespaced(n.Object); namespaced {
			return namespace
		}
		return ""
	})
}

// withNamespaces returns all nodes of a render, each in the namespace of its spec's context if its
// kind is namespaced and its module sets none. Flux rejects such objects, and spec.targetNamespace
// of a Kustomization moves all other objects too. If all is false, that is done only for specs that
// state their namespace.
func (c *compiler) withNamespaces(nodes []*object.Node, all bool) []*object.Node {
	of := c.namespaces(nodes)
	stated := map[string]bool{}
	for _, s := range c.req.Specs {
		stated[s.Evaluate.Spec] = s.StatesNamespace || c.req.Preview.ID != ""
	}
	return withNamespace(nodes, func(n *object.Node) string {
		if !all && !stated[n.ID.Spec()] {
			return ""
		}
		return of(n)
	})
}

// namespaces returns a function with the namespace of a node: that of its spec's context if its
// kind is namespaced, and "" for others.
func (c *compiler) namespaces(nodes []*object.Node) func(n *object.Node) string {
	contexts, stated := map[string]string{}, map[string]bool{}
	for _, s := range c.req.Specs {
		contexts[s.Evaluate.Spec] = s.Evaluate.Context.Namespace
		stated[s.Evaluate.Spec] = s.StatesNamespace || c.req.Preview.ID != ""
	}
	scope := c.scopeOf(nodes)
	return func(n *object.Node) string {
		namespaced, known := scope(n)
		// A Component moves its objects into its namespace, as kustomize does: of kinds that are
		// not known most have one, and the others say by their names that they do not.
		if namespaced || !known && stated[n.ID.Spec()] && !strings.HasPrefix(n.Object.Kind(), "Cluster") {
			return contexts[n.ID.Spec()]
		}
		return ""
	}
}

// scopeOf returns a function that reports whether the kind of a node is namespaced, and whether
// that is known.
func (c *compiler) scopeOf(nodes []*object.Node) func(n *object.Node) (namespaced, known bool) {
	own := scopesOf(nodes)
	return func(n *object.Node) (namespaced, known bool) {
		namespaced, known = own[n.Object.Ref().GroupKind()]
		if known {
			return namespaced, true
		}
		return c.scopes().Namespaced(n.Object)
	}
}

// moveToPreview returns the nodes in the preview of the request, if it is for one, with the
// mistakes in what a preview cannot have. The error is only that of a cancelled context.
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

// reportTwice reports objects that an engine takes for one: one names the namespace of the context,
// and the other leaves it to the engine. If both name it, or neither does, the graph reports them.
func (c *compiler) reportTwice(nodes []*object.Node) Errors {
	without := func(n *object.Node) object.Ref {
		ref := n.Object.Ref()
		ref.Namespace = ""
		return ref
	}

	// Objects are the same but for their namespace.
	byName := map[object.Ref][]*object.Node{}
	for _, n := range nodes {
		byName[without(n)] = append(byName[without(n)], n)
	}

	// One without a namespace clashes with one in that of the context.
	of := c.namespaces(nodes)
	var errs Errors
	for _, n := range nodes {
		if n.Object.Namespace() != "" || n.Object.Name() == "" {
			continue
		}
		for _, other := range byName[without(n)] {
			if namespace := other.Object.Namespace(); namespace != "" && namespace == of(n) {
				errs = append(errs, &Error{
					Stage: object.StageGraph, Pos: cmp.Or(n.SpecPos, n.Pos), Node: n.ID,
					Err:  fmt.Errorf("%s is rendered twice: by %s without a namespace, and by %s in that of the context", without(n), n.ID, other.ID),
					Hint: "an engine adds the namespace: rename or remove one of them, or render for another namespace",
					Notes: []object.Note{{Pos: n.Pos, Text: fmt.Sprintf("the module makes %s here", n.ID)},
						{Pos: other.Pos, Text: fmt.Sprintf("the module makes %s here, in %q", other.ID, namespace)}},
				})
				break // The graph reports that the others are one object, too.
			}
		}
	}
	return errs
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

// withNamespace returns nodes, those without a namespace in the one that of returns. A node for
// which it returns "" stays as it is.
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
