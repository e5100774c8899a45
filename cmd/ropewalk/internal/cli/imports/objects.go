// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package imports reads manifests that are imported: the objects in them with their places,
// and the hooks of Helm among them. It writes nothing, and no object is dropped without a name
// in what it returns.
package imports

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Objects returns the objects of documents and of the lists in them, and where each is.
func Objects(docs []spec.Manifest) (objects []object.Object, at []object.Pos, err error) {
	for _, doc := range docs {
		o, err := object.Decode(doc.Value.JSON())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", doc.Pos, err)
		}
		below, mistake := o.Expand()
		if mistake != nil {
			mistake.Stage = object.StageSpec
			mistake.Pos = doc.Pos
			return nil, nil, object.Errors{mistake}
		}
		items, _ := doc.Value.Get("items")
		for n := range below {
			pos := doc.Value.Pos
			if len(items.Items) == len(below) {
				pos = items.Items[n].Pos
			}
			at = append(at, pos)
		}
		objects = append(objects, below...)
	}
	return objects, at, nil
}

// Alone refuses objects beside those that become a component, which are the ones at used.
func Alone(objects []object.Object, at []object.Pos, used ...int) error {
	var others []string
	var first object.Pos
	for n, o := range objects {
		if slices.Contains(used, n) {
			continue
		}
		if len(others) == 0 {
			first = at[n]
		}
		others = append(others, fmt.Sprintf("%s %q in line %d", o.Kind(), o.Name(), at[n].Line))
	}
	if len(others) == 0 {
		return nil
	}
	of := objects[used[0]]
	return mistake(first, "import one file each, a Kustomization with its source, into folders of their own; other manifests as well",
		"one %s is imported from a file, and this one has others beside %q: %s", of.Kind(), of.Name(), printable.List(others, 5))
}
