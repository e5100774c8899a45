// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestDependenciesOnABrokenSpecAreNotJudged(t *testing.T) {
	web := &object.Node{
		ID: "web/deployment",
		Object: object.Object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
				"name":        "web",
				"annotations": map[string]any{DependsOnAnnotation: "apps/namespaces/shop/StatefulSet/db"},
			},
		},
		DependsOn: []object.Dependency{{ID: "db/statefulset"}, {ID: "db/"}},
	}
	specs := []Spec{{Name: "web", DependsOn: []object.SpecDependency{{Name: "db"}}}, {Name: "db", Broken: true}}
	_, err := Build([]*object.Node{web}, specs)
	require.NoError(t, err)

	specs[1].Broken = false
	_, err = Build([]*object.Node{web}, specs)
	require.ErrorContains(t, err, `unknown node "db/statefulset"`)
	require.ErrorContains(t, err, "StatefulSet")
}
