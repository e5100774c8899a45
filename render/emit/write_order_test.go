// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// TestAnOrderedGraphIsWrittenInEveryDialect takes the plan from the stages
// before, not from a test.
func TestAnOrderedGraphIsWrittenInEveryDialect(t *testing.T) {
	after := func(id object.ID) func(*object.Node) {
		return func(n *object.Node) { n.DependsOn = append(n.DependsOn, object.Dependency{ID: id, Pos: n.Pos}) }
	}
	nodes := []*object.Node{
		node("shop", "Namespace/v1", ""), node("settings", "ConfigMap/v1", "shop"),
		node("db", "StatefulSet.apps/v1", "shop", celRule("status.readyReplicas >= spec.replicas")),
		node("migrate", "Job.batch/v1", "shop", after("shop/statefulset-db")),
		node("web", "Deployment.apps/v1", "shop", after("shop/job-migrate")),
	}
	g, err := graph.Build(nodes, []graph.Spec{{Name: "shop"}})
	require.NoError(t, err)
	for _, opts := range dialects() {
		d, err := dialect.Find(opts.Dialect)
		require.NoError(t, err)
		out, err := emit.Write(order.New(g, d), opts)
		require.NoError(t, err)
		waves := map[object.ID]int{}
		for _, f := range out.Files {
			waves[f.Node] = f.Wave
		}
		require.Less(t, waves["shop/statefulset-db"], waves["shop/job-migrate"])
		require.Less(t, waves["shop/job-migrate"], waves["shop/deployment-web"])
		if opts.Repository != "" {
			files := read(t, out)
			require.Equal(t, []string{"StatefulSet db"}, checked(files["flux/kustomization-shop-00.yaml"]))
			require.Equal(t, []string{"Job migrate"}, checked(files["flux/kustomization-shop-01.yaml"]))
		}
	}
}
