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

// Alone refuses objects beside units and what these refer to: no spec would have them. It accepts
// them beside a HelmRelease or an ApplicationSet, which a render of manifests may hold.
func Alone(objects []object.Object, at []object.Pos) (units bool, err error) {
	var others []string
	var first object.Pos
	needed := false
	for n, o := range objects {
		switch {
		case isUnit(o):
			units = true
			needed = needed || o.Kind() == "Application" || o.Kind() == "Kustomization"
			continue
		case isSource(o) || slices.ContainsFunc(objects, func(unit object.Object) bool { return refersTo(unit, o) }):
			continue
		case len(others) == 0:
			first = at[n]
		}
		others = append(others, fmt.Sprintf("%s %q in line %d", o.Kind(), o.Name(), at[n].Line))
	}
	switch {
	case len(others) == 0 || !units:
		return units, nil
	case !needed:
		return false, nil
	}
	return false, mistake(first, "import them from a file of their own, into another folder",
		"units of Argo CD or Flux are imported with nothing but their sources beside them, and this file has others: %s", printable.List(others, 5))
}

// refersTo reports whether a unit of Flux takes values or variables from a ConfigMap.
func refersTo(unit, o object.Object) bool {
	for _, item := range append(unit.List("spec", "valuesFrom"), unit.List("spec", "postBuild", "substituteFrom")...) {
		ref, _ := item.(map[string]any)
		if o.Kind() == "ConfigMap" && ref["kind"] == "ConfigMap" && ref["name"] == o.Name() {
			return true
		}
	}
	return false
}

// CheckSources refuses units of Flux whose source is not among the objects.
func CheckSources(objects []object.Object, at []object.Pos) error {
	var errs object.Errors
	for n, o := range objects {
		ref := refOf(o)
		kind, name := ref.Text("kind"), ref.Text("name")
		fetched := slices.Contains([]string{"GitRepository", "HelmRepository", "OCIRepository"}, kind)
		if isUnit(o) && fetched && sourceOf(o, objects) == nil {
			errs = append(errs, mistake(at[n], "add the manifest of that "+kind, "the %s %q has the source %s %q, which is not beside it", o.Kind(), o.Name(), kind, name)...)
		}
	}
	return errs.Err()
}

// refOf returns the reference of a unit of Flux to its source; nil if it has none.
func refOf(unit object.Object) object.Object {
	for _, at := range [][]string{{"spec", "sourceRef"}, {"spec", "chartRef"}, {"spec", "chart", "spec", "sourceRef"}} {
		if ref := unit.Map(at...); ref != nil {
			return ref
		}
	}
	return nil
}

// sourceOf returns the source of a unit of Flux among objects; nil if it is not there.
func sourceOf(unit object.Object, objects []object.Object) object.Object {
	ref := refOf(unit)
	for _, o := range objects {
		if isSource(o) && o.Kind() == ref.Text("kind") && o.Name() == ref.Text("name") {
			return o
		}
	}
	return nil
}

// PullSecret returns the name of the Secret with the credentials of the source of a unit; "" if it
// needs none.
func PullSecret(unit object.Value, objects []object.Object) string {
	o, err := object.Decode(unit.JSON())
	if err != nil || refOf(o) == nil {
		return ""
	}
	return sourceOf(o, objects).Text("spec", "secretRef", "name")
}
