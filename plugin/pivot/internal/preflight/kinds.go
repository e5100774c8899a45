// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Common returns the kinds of the source. Each is at a version that the target serves as well, if
// there is one.
func Common(source, target plane.Kinds) plane.Kinds {
	out := maps.Clone(source)
	for gk, k := range source {
		if common, ok := k.Common(target[gk]); ok {
			out[gk] = common
		}
	}
	return out
}

// Kinds returns Common, and findings for the kinds of the set.
func Kinds(source, target plane.Kinds, set inventory.Set) (plane.Kinds, inventory.Findings) {
	// Count the objects of each kind of the set.
	var out inventory.Findings
	count := map[schema.GroupKind]int{}
	var used []plane.Kind
	for _, item := range set.Items {
		gk := item.Ref.GroupKind()
		count[gk]++
		if count[gk] == 1 {
			used = append(used, source[gk])
		}
	}

	// Compare the definitions of both planes.
	slices.SortFunc(used, plane.Kind.Compare)
	for _, from := range used {
		to, ok := target[from.GroupKind()]
		definition := plane.Ref{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: from.Resource + "." + from.Group}
		_, common := from.Common(to)
		switch {
		case !ok:
			out = append(out, inventory.Finding{
				Ref:     definition,
				Problem: fmt.Sprintf("is not on the target plane, and %d objects of kind %s are to be moved", count[from.GroupKind()], from.Kind),
				Advice:  "install the CustomResourceDefinition there, with the provider that it belongs to, in the version of the source plane",
			})
		case from.Resource != to.Resource || from.Namespaced != to.Namespaced:
			out = append(out, inventory.Finding{
				Ref:     definition,
				Problem: "has another scope, or another plural name, on the target plane",
				Advice:  "install the same provider in the same version on both planes",
			})
		case !common:
			const format = "has no version that both planes serve: the source plane serves %s, the target plane %s"
			out = append(out, inventory.Finding{
				Ref:     definition,
				Problem: fmt.Sprintf(format, strings.Join(from.Served, ", "), strings.Join(to.Served, ", ")),
				Advice:  "upgrade the provider on the plane that has the older one",
			})
		}
	}
	return Common(source, target), out
}
