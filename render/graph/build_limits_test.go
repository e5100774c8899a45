// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// afterAll are n specs of a node each, and each depends on all before it.
func afterAll(t *testing.T, n int) (nodes []*object.Node, specs []graph.Spec) {
	t.Helper()
	var before []string
	for i := range n {
		name := fmt.Sprintf("s%03d", i)
		nodes = append(nodes, config(t, name+"/config"))
		specs = append(specs, spec(name, before...))
		before = append(before, name)
	}
	return nodes, specs
}

func TestDependenciesBetweenSpecsAreLimited(t *testing.T) {
	t.Parallel()
	nodes, specs := afterAll(t, 200)
	g, err := graph.Build(nodes, specs)
	require.NoError(t, err)
	require.Len(t, g.Joins, 199*100)

	_, err = graph.Build(afterAll(t, 700))
	var errs object.Errors
	require.ErrorAs(t, err, &errs)
	require.Len(t, errs, 1)
	require.ErrorContains(t, err, "s200.yaml:120:3: graph: s200 after s100: the project has more than 20000 dependencies on complete specs")
	require.ErrorContains(t, err, "name the last one only")
}

// Each binding names each account, and each Pod waits for all bindings of its account.
func TestInferredEdgesAreLimited(t *testing.T) {
	t.Parallel()
	var nodes []*object.Node
	for i := range 600 {
		nodes = append(nodes, node(t, fmt.Sprintf("rbac/b%03d", i), fmt.Sprintf(
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b%03d, namespace: a}, "+
				"roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: x, namespace: a}]}", i)))
		nodes = append(nodes, node(t, fmt.Sprintf("web/p%03d", i), fmt.Sprintf(
			"{apiVersion: v1, kind: Pod, metadata: {name: p%03d, namespace: a}, spec: {serviceAccountName: x, containers: []}}", i)))
	}
	_, err := graph.Build(nodes, nil)
	require.ErrorContains(t, err, "web.yaml:1: graph: web/p500: the objects depend on each other in more than 300000 ways")
	var errs object.Errors
	require.ErrorAs(t, err, &errs)
	require.Len(t, errs, 1)
}

func TestEdgesOfAuthorsAreLimited(t *testing.T) {
	t.Parallel()
	var nodes []*object.Node
	for i := range 800 {
		n := config(t, fmt.Sprintf("a/n%03d", i))
		for j := range i {
			n.DependsOn = append(n.DependsOn, object.Dependency{ID: object.ID(fmt.Sprintf("a/n%03d", j)), Pos: object.Pos{File: "m.cue", Line: i, Column: 1}})
		}
		nodes = append(nodes, n)
	}
	_, err := graph.Build(nodes, nil)
	require.ErrorContains(t, err, "m.cue:775:1: graph: a/n775: the objects depend on each other in more than 300000 ways")
}

// Specs without nodes pass their dependencies on: along every way through 40 of them,
// each after all before it, that would be 2^39 ways.
func TestSpecsWithoutNodesArePassedOnce(t *testing.T) {
	t.Parallel()
	_, specs := afterAll(t, 40)
	g, err := graph.Build([]*object.Node{config(t, "s000/config"), config(t, "web/config")}, append(specs, spec("web", "s039")))
	require.NoError(t, err)
	require.Equal(t, []string{"web => s000 spec"}, lines(g))
}

// A ring of owners is not searched for ever: what the search does not come to is left
// out, and the result is the same in any order of the nodes.
func TestALargeRingOfInferredEdgesEnds(t *testing.T) {
	t.Parallel()
	const n = 10_000
	var nodes []*object.Node
	for i := range n {
		nodes = append(nodes, &object.Node{
			ID: object.ID(fmt.Sprintf("ring/n%05d", i)), SpecPos: object.Pos{File: "ring.yaml", Line: 1},
			Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{
					"name": fmt.Sprintf("n%05d", i), "namespace": "a",
					"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": fmt.Sprintf("n%05d", (i+1)%n), "uid": "u"}},
				},
			},
		})
	}
	g, err := graph.Build(nodes, nil)
	require.NoError(t, err)
	require.Len(t, append(g.Edges, g.Dropped...), n)
	require.NotEmpty(t, g.Dropped)
	slices.Reverse(nodes)
	again, err := graph.Build(nodes, nil)
	require.NoError(t, err)
	require.Equal(t, g.Dropped, again.Dropped)
}

// So is a ring that authors wrote: it is reported, whole.
func TestALargeRingOfExplicitEdgesIsReported(t *testing.T) {
	t.Parallel()
	const n = 3_000
	var nodes []*object.Node
	for i := range n {
		nodes = append(nodes, config(t, fmt.Sprintf("ring/n%05d", i), fmt.Sprintf("ring/n%05d", (i+1)%n)))
	}
	_, err := graph.Build(nodes, nil)
	var cycle *graph.CycleError
	require.ErrorAs(t, err, &cycle)
	require.Len(t, cycle.Edges, n)
	require.Less(t, len(err.Error()), 500)
	var errs object.Errors
	require.ErrorAs(t, err, &errs)
	require.Len(t, errs[0].Notes, 21)
	require.Equal(t, "and 2980 more", errs[0].Notes[20].Text)
}
