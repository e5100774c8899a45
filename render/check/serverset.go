// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/check/custom"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/kubernetes"
	"github.com/ropewalk/ropewalk/render/object"
)

// Applied returns nodes without what an engine cannot set: the metadata that the API server
// writes, and the status if a subresource keeps it. Generators write them empty
// (creationTimestamp: null, status: {}); [Checker.Check] reports the others. The nodes given are
// left as they are.
func (c *Checker) Applied(nodes []*object.Node) []*object.Node {
	// To read the definitions costs more than all else, and few custom resources come
	// with a status.
	definitions := sync.OnceValue(func() map[string]*custom.Definition { return c.defined(nodes) })
	var copied []*object.Node
	for i, n := range nodes {
		o, complete := c.applied(n.Object, definitions)
		if complete {
			continue
		}
		if copied == nil {
			copied = slices.Clone(nodes)
		}
		clone := *n
		clone.Object = o
		copied[i] = &clone
	}
	if copied == nil {
		return nodes
	}
	return copied
}

// applied returns o as an engine applies it, and whether that is all of it. What SOPS encrypted
// is left as it is, since its mark covers all fields.
func (c *Checker) applied(o object.Object, definitions func() map[string]*custom.Definition) (out object.Object, complete bool) {
	out, complete = o, true
	if isEncrypted(o) {
		return out, complete
	}
	if _, ok := o["status"]; ok && c.servesStatus(o, definitions) {
		out, complete = maps.Clone(o), false
		delete(out, "status")
	}
	meta := o.Map("metadata")
	kept := maps.Clone(meta)
	maps.DeleteFunc(kept, func(name string, _ any) bool {
		named := name == "generateName" && o.Name() != ""
		return named || serverSet(name)
	})
	if len(kept) < len(meta) {
		out, complete = maps.Clone(out), false
		out["metadata"] = kept
	}
	return out, complete
}

// serverSet reports whether a field of metadata is written by the API server alone.
func serverSet(name string) bool {
	switch name {
	case "generation", "selfLink":
		return true
	}
	return refusedByServer(name)
}

// refusedByServer reports whether the API server refuses an object that sets a field of
// metadata, at once or at its second apply: as a precondition that does not hold (uid,
// resourceVersion), as immutable (the times), or in a server-side apply (managedFields).
func refusedByServer(name string) bool {
	switch name {
	case "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "managedFields", "resourceVersion", "uid":
		return true
	}
	return false
}

// servesStatus reports whether the status of o is a subresource, so that the API server
// ignores the status of an apply: in all of its own kinds, and in custom resources that are
// defined so.
func (c *Checker) servesStatus(o object.Object, definitions func() map[string]*custom.Definition) bool {
	if kind, ok := kubernetes.LookupKind(o.APIVersion(), o.Kind()); ok {
		return c.schemas.Components.HasStatus(kind)
	}
	d := c.lookup(o.Group(), o.Kind(), definitions())
	return d != nil && d.ServesStatus(o.Version())
}

// reportServerFields reports what [Checker.Applied] leaves out. An empty field is not reported,
// because it says nothing.
func reportServerFields(a *finding.Value, applied object.Object) {
	o := a.Root()
	kept := applied.Map("metadata")
	meta := a.Field("metadata")
	for _, name := range meta.Names() {
		f := meta.Field(name)
		if _, ok := kept[name]; ok || hollow(f.Raw) {
			continue
		}
		switch {
		case name == "generateName":
			f.Warn(finding.RuleServerSet, "has no effect where name is set, and is left out")
		case refusedByServer(name):
			f.Fail(finding.RuleServerSet, "is set by the API server, which refuses to apply an object with it").Hint =
				"remove it, as all that an export from a cluster adds"
		default:
			f.Warn(finding.RuleServerSet, "is set by the API server, and is left out")
		}
	}
	if _, ok := applied["status"]; !ok && !hollow(o["status"]) {
		a.Field("status").Warn(finding.RuleServerSet, "is written by controllers, and is left out")
	}
}

// hollow reports whether a value holds nothing but empty values, as generators write
// fields that they do not know.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	case []any:
		for _, e := range v {
			if !hollow(e) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !hollow(e) {
				return false
			}
		}
	}
	return true
}
