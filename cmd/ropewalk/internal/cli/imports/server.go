// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// WithoutExport returns text without what an export from a cluster adds to its objects, and
// what that is: paths, each with how many objects had it. Only the parts of the text that have
// some of it are written anew, without their comments.
func WithoutExport(text []byte, docs []spec.Manifest) (kept []byte, left []string) {
	counts := map[string]int{}
	for _, p := range parts(text, docs) {
		objects, _, _ := Objects(p.docs) // They have been decoded before.
		var plain []byte
		changed := false
		for _, o := range objects {
			o, paths := withoutExport(o)
			for _, path := range paths {
				counts[path]++
			}
			changed = changed || len(paths) > 0
			plain = append(append(plain, "---\n"...), emit.YAML(map[string]any(o))...)
		}
		if !changed {
			plain = p.text
		}
		kept = append(kept, plain...)
	}
	for _, path := range slices.Sorted(maps.Keys(counts)) {
		what := "1 object"
		if n := counts[path]; n > 1 {
			what = fmt.Sprintf("%d objects", n)
		}
		left = append(left, fmt.Sprintf("%s of %s: a cluster writes it", path, what))
	}
	return kept, left
}

// withoutExport returns an object without what an export adds, which an API server, kubectl and the
// controllers of Kubernetes write, and the paths of the removed fields. The addresses of a Service,
// and a status that is not empty, are removed only if the object comes from a cluster, which its
// uid shows.
func withoutExport(o object.Object) (object.Object, []string) {
	// Copy only what changes: the object belongs to the caller.
	out, paths := maps.Clone(o), []string(nil)
	cut := func(in map[string]any, at string, names ...string) map[string]any {
		in = maps.Clone(in)
		for _, name := range names {
			if _, ok := in[name]; ok {
				delete(in, name)
				paths = append(paths, at+name)
			}
		}
		return in
	}

	// A uid shows that the object comes from a cluster.
	meta := o.Map("metadata")
	_, live := meta["uid"]
	if below, ok := meta["annotations"].(map[string]any); ok && len(below) > 0 {
		rest := cut(below, "metadata.annotations.", "deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration")
		meta = maps.Clone(meta)
		meta["annotations"] = rest
		if len(rest) == 0 {
			delete(meta, "annotations")
		}
	}
	out["metadata"] = cut(meta, "metadata.", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
		"resourceVersion", "selfLink", "uid")
	if live || hollow(o["status"]) {
		out = cut(out, "", "status")
	}
	if own := o.Map("spec"); live && o.Kind() == "Service" && own["clusterIP"] != "None" {
		out["spec"] = cut(own, "spec.", "clusterIP", "clusterIPs")
	}
	if len(paths) == 0 {
		return o, nil
	}
	return out, paths
}

// hollow reports whether a value holds nothing but maps and lists.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(v any) bool { return !hollow(v) })
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !hollow(v) })
	}
	return false
}
