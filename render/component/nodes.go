// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// Nodes returns the nodes of the output of an engine; pos is the position of the spec.
func Nodes(req Request, output Output, pos object.Pos) ([]*object.Node, error) {
	// Make a node of each object, and of each item of a List.
	var errs object.Errors
	var nodes []*object.Node
	sets := phases(output.Objects)
	generated := generatedNames{}
	for _, item := range output.Objects {
		objects, mistake := item.Object.Expand()
		if mistake != nil {
			mistake.Stage, mistake.Pos = object.StageEvaluate, item.Pos
			errs = append(errs, mistake)
		}
		for _, o := range objects {
			if req.Component.OfUnit {
				o = generated.named(o)
			}
			if o.APIVersion() == "" || o.Kind() == "" || o.Name() == "" {
				errs = append(errs, &object.Error{
					Stage: object.StageEvaluate, Pos: item.Pos, Hint: o.NameHint(),
					Err: fmt.Errorf("an object needs apiVersion, kind and metadata.name, got %q, %q and %q", o.APIVersion(), o.Kind(), o.Name()),
				})
				continue
			}
			nodes = append(nodes, &object.Node{
				Object:    o,
				Pos:       item.Pos,
				SpecPos:   pos,
				Set:       sets[item.Phase],
				SetName:   cmp.Or(item.PhaseName, "other objects"),
				ReadyWhen: item.ReadyWhen,
				Apply:     item.Apply,
			})

			// The bound holds for what Lists expand to.
		}
		if len(nodes) > MaxObjects {
			const hint = "make several components of it"
			return nil, object.Errors{Fail(req.Component.Pos, req.Component.Path, hint, "makes more than %d objects", MaxObjects)}
		}
	}

	// All objects are good, and their names tell them apart.
	if err := errs.Sorted().Err(); err != nil {
		return nil, err
	}
	if err := object.NameNodes(req.Name, nodes, "remove one of them"); err != nil {
		return nil, err
	}
	object.SortNodes(nodes)
	return nodes, nil
}

// generatedNames counts the objects of each name that the API server would generate.
type generatedNames map[object.Ref]int

// named returns an object with a name in place of the name that the API server would generate:
// migrate-generated for generateName: migrate-, and migrate-generated-2 for the next. Other objects
// stay.
func (g generatedNames) named(o object.Object) object.Object {
	prefix := o.Text("metadata", "generateName")
	if prefix == "" || o.Map("metadata")["name"] != nil {
		return o
	}
	meta := maps.Clone(o.Map("metadata"))
	delete(meta, "generateName")
	meta["name"] = prefix + "generated"
	o = maps.Clone(o)
	o["metadata"] = meta
	ref := o.Ref()
	g[ref]++
	if g[ref] > 1 {
		meta["name"] = fmt.Sprintf("%sgenerated-%d", prefix, g[ref])
	}
	return o
}

// phases returns the numbers of apply sets, from 1, by phase. It is empty if all objects have
// the same phase.
func phases(objects []Object) map[int]int {
	var sorted []int
	for _, o := range objects {
		sorted = append(sorted, o.Phase)
	}
	slices.SortFunc(sorted, cmp.Compare[int])
	sorted = slices.Compact(sorted)
	sets := map[int]int{}
	for i, phase := range sorted {
		if len(sorted) > 1 {
			sets[phase] = i + 1
		}
	}
	return sets
}
