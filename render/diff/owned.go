// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// Owned returns the part of an object of a cluster that a render sets, so that a comparison of both
// shows what applying the render would change. What only the cluster has, such as defaults, the
// status, and entries that others add to a list that is merged, is left out. What the API server
// drops, such as an empty string or a null, counts as set.
//
// A live container {name: api, image: a:2, imagePullPolicy: Always} gives {name: api, image: a:2}
// for a render that sets {name: api, image: a:1}.
func Owned(live, rendered object.Object) object.Object {
	out := ownedMap(live, rendered)
	// The live object was read by the rendered kind, and without a namespace in the namespace of
	// the context.
	out["apiVersion"], out["kind"] = rendered["apiVersion"], rendered["kind"]
	if meta, ok := out["metadata"].(map[string]any); ok && rendered.Namespace() == "" {
		delete(meta, "namespace")
	}
	if status, ok := rendered["status"]; ok {
		out["status"] = status // An engine does not apply it.
	}
	// Of a Secret the metadata is all that is known.
	if isSecret(rendered) {
		for _, name := range []string{"data", "stringData", "type", "immutable"} {
			delete(out, name)
			if v, ok := rendered[name]; ok {
				out[name] = v
			}
		}
	}
	return out
}

// owned returns the part of a live value that a rendered value sets; name is the field that it is in.
func owned(name string, live, rendered any) any {
	switch rendered := rendered.(type) {
	case map[string]any:
		if live, ok := live.(map[string]any); ok {
			return ownedMap(live, rendered)
		}
	case []any:
		if live, ok := live.([]any); ok {
			return ownedList(name, live, rendered)
		}
	case int64, float64: // 1.0 may be stored as 1.
		if isNumber(live) && fmt.Sprint(live) == fmt.Sprint(rendered) {
			return rendered
		}
	}
	return live
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

func ownedMap(live, rendered map[string]any) map[string]any {
	out := map[string]any{}
	for name, want := range rendered {
		switch is, ok := live[name]; {
		case ok:
			out[name] = owned(name, is, want)
		case isDropped(name, want):
			out[name] = want
		}
	}
	return out
}

// ownedList returns the entries that a render sets. In a list that the API server merges, others may
// have added entries; every other list belongs to one owner as a whole.
func ownedList(name string, live, rendered []any) []any {
	key, ok := listKey(live, rendered)
	if !ok {
		out := slices.Clone(live)
		for i := range min(len(live), len(rendered)) {
			out[i] = owned("", live[i], rendered[i])
		}
		return out
	}

	// In a merged list the order of the render is kept, so that entries of others between them are
	// no change of the order.
	if isMerged(name) {
		var out []any
		for _, want := range rendered {
			same := func(e any) bool { return keyOf(e, key) == keyOf(want, key) }
			if i := slices.IndexFunc(live, same); i >= 0 {
				out = append(out, owned("", live[i], want))
			}
		}
		return out
	}
	out := slices.Clone(live)
	for i, is := range live {
		same := func(e any) bool { return keyOf(e, key) == keyOf(is, key) }
		if j := slices.IndexFunc(rendered, same); j >= 0 {
			out[i] = owned("", is, rendered[j])
		}
	}
	return out
}

// isMerged reports whether the API server merges the entries of several owners in a list of this
// name. Source: x-kubernetes-list-type: map in the schemas of Kubernetes 1.36.
func isMerged(name string) bool {
	return slices.Contains([]string{
		"containers", "initContainers", "ephemeralContainers", "env", "ports", "volumes", "volumeMounts", "volumeDevices",
		"imagePullSecrets", "hostAliases", "topologySpreadConstraints", "resourceClaims", "schedulingGates",
		"webhooks", "secrets", "ownerReferences", "conditions",
	}, name)
}

// isDropped reports whether the API server may not store a value: it leaves out nulls, empty texts,
// lists and maps of labels, zeros, and false, where they mean the same as nothing. An empty map is
// a choice elsewhere, such as emptyDir: {}.
func isDropped(name string, v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		plain := []string{"labels", "annotations", "nodeSelector", "matchLabels", "data", "binaryData", "limits", "requests"}
		return len(v) == 0 && slices.Contains(plain, name)
	}
	return false
}
