// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// made is an object of an engine, in its phase.
func made(kind, name string, phase int, phaseName string) component.Object {
	return component.Object{
		Object: object.Object{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}},
		Pos:    object.Pos{File: "a.yaml", Line: 1 + len(name)}, Phase: phase, PhaseName: phaseName,
	}
}

func TestPhasesBecomeApplySets(t *testing.T) {
	at := object.Pos{File: "spec.yaml", Line: 3}
	nodes, err := component.Nodes(component.Request{Name: "shop"}, component.Output{Objects: []component.Object{
		made("ConfigMap", "web", 0, ""), made("ConfigMap", "hook", -5, "pre-install hooks"), made("ConfigMap", "late", 2, "post-install hooks"),
	}}, at)
	require.NoError(t, err)
	sets := map[string]string{}
	numbers := map[string]int{}
	for _, n := range nodes {
		sets[n.Object.Name()], numbers[n.Object.Name()] = n.SetName, n.Set
		require.Equal(t, at, n.SpecPos)
		require.NotEmpty(t, n.ID)
	}
	require.Equal(t, map[string]string{"hook": "pre-install hooks", "web": "other objects", "late": "post-install hooks"}, sets)
	require.Equal(t, map[string]int{"hook": 1, "web": 2, "late": 3}, numbers)

	nodes, err = component.Nodes(component.Request{Name: "shop"}, component.Output{Objects: []component.Object{made("ConfigMap", "hook", -5, "hooks")}}, at)
	require.NoError(t, err)
	require.Zero(t, nodes[0].Set, "objects of one phase have no order of their own")
}

func TestAListIsExpanded(t *testing.T) {
	list := component.Object{Object: object.Object{"apiVersion": "v1", "kind": "List", "items": []any{
		map[string]any(made("ConfigMap", "a", 0, "").Object), map[string]any(made("Secret", "b", 0, "").Object),
	}}}
	nodes, err := component.Nodes(component.Request{Name: "shop"}, component.Output{Objects: []component.Object{list}}, object.Pos{})
	require.NoError(t, err)
	require.Len(t, nodes, 2)
}

func TestObjectsThatAreNone(t *testing.T) {
	_, err := component.Nodes(component.Request{Name: "shop"}, component.Output{Objects: []component.Object{
		made("ConfigMap", "good", 0, ""), made("", "web", 0, ""), made("ConfigMap", "", 0, ""),
	}}, object.Pos{})
	var all object.Errors
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 2, "all mistakes at once")
	require.ErrorContains(t, err, `a.yaml:4: evaluate: an object needs apiVersion, kind and metadata.name, got "v1", "" and "web"`)

	twice := component.Output{Objects: []component.Object{made("ConfigMap", "web", 0, ""), made("ConfigMap", "web", 0, "")}}
	_, err = component.Nodes(component.Request{Name: "shop"}, twice, object.Pos{})
	require.ErrorContains(t, err, "remove one of them")

	many := component.Output{Objects: make([]component.Object, component.MaxObjects+1)}
	for i := range many.Objects {
		many.Objects[i] = made("ConfigMap", "web", 0, "")
	}
	_, err = component.Nodes(component.Request{Name: "shop"}, many, object.Pos{})
	require.ErrorContains(t, err, "makes more than 20000 objects")
}

// The API server would name the object; its name here says so, and tells two of them apart.
func TestANameInPlaceOfAGeneratedOne(t *testing.T) {
	job := func() component.Object {
		return component.Object{Object: object.Object{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"generateName": "migrate-"}}}
	}
	out := component.Output{Objects: []component.Object{job(), job()}}
	_, err := component.Nodes(component.Request{Name: "shop"}, out, object.Pos{})
	require.ErrorContains(t, err, "metadata.name")
	nodes, err := component.Nodes(component.Request{Name: "shop", Component: spec.Component{OfUnit: true}}, out, object.Pos{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"name": "migrate-generated"}, nodes[0].Object.Map("metadata"))
	require.Equal(t, map[string]any{"name": "migrate-generated-2"}, nodes[1].Object.Map("metadata"))
	require.Equal(t, job(), out.Objects[0], "the output of the engine stays")
}
