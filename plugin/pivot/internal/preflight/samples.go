// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// maxShapes bounds how many shapes of a kind are tried: the import validates all objects.
const maxShapes = 8

// Samples returns the entries of a set for Target. The first entry of each shape of a kind keeps its
// object, at most 8 of a kind. So do entries that stay, which may be on the target already. Secrets
// and ConfigMaps never keep their objects.
func Samples(set inventory.Set) []snapshot.Entry {
	entries := set.Entries()
	seen := map[schema.GroupKind]map[string]bool{}
	for i := range entries {
		e := &entries[i]
		e.ManagedFields = nil
		kind := seen[e.Ref.GroupKind()]
		if kind == nil {
			kind = map[string]bool{}
			seen[e.Ref.GroupKind()] = kind
		}
		switch s := shape(e.Object); {
		case e.Ref.Group == "":
			e.Object = nil
		case !kind[s] && len(kind) < maxShapes:
			kind[s] = true
		case !e.Stays:
			e.Object = nil
		}
	}
	return entries
}

// shape returns the paths of the fields of an object, without its metadata.
func shape(object json.RawMessage) string {
	var o map[string]any
	if json.Unmarshal(object, &o) != nil {
		return "" // Inventory made it: it is an object.
	}
	delete(o, "metadata")
	paths := map[string]bool{}
	walk("", o, paths)
	return strings.Join(slices.Sorted(maps.Keys(paths)), "\n")
}

// walk collects the paths of all values below v.
func walk(path string, v any, paths map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, below := range v {
			walk(path+"."+k, below, paths)
		}
	case []any:
		for _, below := range v {
			walk(path+"[]", below, paths)
		}
	default:
		paths[path] = true
	}
}
