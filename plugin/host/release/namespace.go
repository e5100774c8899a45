// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// OpenNamespace removes metadata.namespace from the objects of a plan, and writes it anew. Objects
// that name the namespace elsewhere, or are in another one, are errors, each with its field: the
// engine would change only metadata. The argument namespace is that of the specs, if no object
// names one.
func OpenNamespace(plan *order.Plan, opts emit.Options, namespace string) (emit.Output, error) {
	// A mistake is at the spec of the object, with a note on its module.
	nodes := plan.Graph.Nodes
	var found object.Errors
	fail := func(n *object.Node, path, format string, args ...any) {
		e := &object.Error{Stage: object.StageEmit, Pos: n.SpecPos, Node: n.ID, Path: path, Err: fmt.Errorf(format, args...)}
		switch {
		case n.SpecPos.Line == 0 && n.Pos.IsValid(): // The spec is a folder.
			e.Pos = n.Pos
		case n.Pos.IsValid() && n.Pos != n.SpecPos:
			e.Notes = []object.Note{{Pos: n.Pos, Text: "the object is made here"}}
		}
		found = append(found, e)
	}

	// All objects must be in one namespace, which no other field names.
	first := slices.IndexFunc(nodes, func(n *object.Node) bool { return n.Object.Namespace() != "" })
	if first >= 0 {
		namespace = nodes[first].Object.Namespace()
	}
	for _, n := range nodes {
		if own := n.Object.Namespace(); own != "" && own != namespace {
			fail(n, "metadata.namespace", "%s is in namespace %q and %s in %q: --namespace-at-deploy is for objects of one namespace", n.Object.Ref(), own, nodes[first].Object.Ref(), namespace)
		}
		if n.Object.Kind() == "Namespace" && n.Object.Group() == "" && n.Object.Name() == namespace {
			fail(n, "metadata.name", "%s makes the namespace that --namespace-at-deploy leaves open: leave it out", n.Object.Ref())
		}
		for _, path := range naming(n.Object, namespace) {
			fail(n, path, "%s names the namespace, which --namespace-at-deploy leaves open: leave it out", n.Object.Ref())
		}
	}
	if len(found) > 0 {
		found[len(found)-1].Hint = "or build it for its namespace, without --namespace-at-deploy"
		return emit.Output{}, found.Sorted()
	}

	// Objects that are left open are copies.
	for _, n := range nodes {
		if n.Object.Namespace() != "" {
			n.Object = n.Object.Clone()
			delete(n.Object.Map("metadata"), "namespace")
		}
	}
	return emit.Write(plan, opts)
}

// naming returns the fields of an object that name a namespace, but for metadata.namespace.
func naming(o object.Object, namespace string) (paths []string) {
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(strings.TrimPrefix(path+"."+key, "."), v[key])
			}
		case []any:
			for i, one := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), one)
			}
		case string:
			field := path[strings.LastIndexByte(path, '.')+1:]
			named := v == namespace && path != "metadata.namespace" &&
				(field == "namespace" || strings.HasPrefix(field, "namespaces[") || strings.HasSuffix(path, "kubernetes.io/metadata.name"))
			if named || inService(v, namespace) {
				paths = append(paths, path)
			}
		}
	}
	walk("", map[string]any(o))
	return paths
}

// inService reports whether text has the DNS name of a Service of a namespace.
func inService(text, namespace string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "."+namespace+".svc")
		if !ok {
			return false
		}
		if after == "" || !strings.ContainsAny(after[:1], "abcdefghijklmnopqrstuvwxyz0123456789-") {
			return true
		}
		rest = after
	}
}
