// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

func TestFilesAreReplacedAsAWhole(t *testing.T) {
	name := t.TempDir() + "/out.svg"
	require.NoError(t, command.WriteFile(name, []byte("one")))
	require.NoError(t, command.WriteFile(name, []byte("two")))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	require.Equal(t, command.Environment, command.ExitCode(command.WriteFile(name+"/x", nil)))
}

// testPlan is two nodes in two waves.
func testPlan() *order.Plan {
	node := func(id, kind, name string) *object.Node {
		return &object.Node{
			ID: object.ID(id), Pos: object.Pos{File: "m.cue", Line: 3, Column: 1}, SpecPos: object.Pos{File: "s.yaml", Line: 1, Column: 1},
			Object: object.Object{"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "shop"}},
		}
	}
	db, api, web := node("db/set", "StatefulSet", "db"), node("api/deployment", "Deployment", "api"), node("web/deployment", "Deployment", "web")
	edge := graph.Edge{From: api.ID, To: db.ID, Rule: graph.RuleSpec, Explicit: true, Pos: object.Pos{File: "s.yaml", Line: 5, Column: 3}}
	return &order.Plan{
		Graph: &graph.Graph{Nodes: []*object.Node{api, db, web}, Edges: []graph.Edge{edge}},
		Waves: []order.Wave{{Nodes: []*object.Node{db, web}}, {Nodes: []*object.Node{api}}},
		Placements: map[object.ID]order.Placement{
			db.ID: {Edge: -1, Reason: "needs nothing"}, web.ID: {Edge: -1, Reason: "needs nothing"},
			api.ID: {Wave: 1, Edge: 0, Reason: "wave 1 because of db/set"},
		},
		Gates: []order.Gate{{Gating: true, Reason: "db/set must be ready"}},
	}
}

func TestTheWaveTableSaysWhatAndWhy(t *testing.T) {
	require.Equal(t, `WAVE  OBJECTS  WHAT                     WHY
0     2        StatefulSet, Deployment  depends on nothing that must be ready
1     1        Deployment               api/deployment after db/set
`, waveTable(testPlan()))
}

func TestTheWaveTableBreaksLongRows(t *testing.T) {
	plan := testPlan()
	for _, kind := range []string{"HorizontalPodAutoscaler", "PodDisruptionBudget", "ConfigMap"} {
		plan.Waves[0].Nodes = append(plan.Waves[0].Nodes, &object.Node{Object: object.Object{"kind": kind}})
	}
	require.Equal(t, `WAVE  OBJECTS  WHAT                            WHY
0     5        StatefulSet, Deployment,        depends on nothing that must be ready
               HorizontalPodAutoscaler,
               PodDisruptionBudget, ConfigMap
1     1        Deployment                      api/deployment after db/set
`, waveTable(plan))
}

func TestObjectsAreFoundByAnyOfTheirNames(t *testing.T) {
	nodes := testPlan().Graph.Nodes
	for _, name := range []string{"db/set", "set", "StatefulSet/db", "statefulset/db", "statefulset.apps/db", "StatefulSet/shop/db"} {
		n, err := findNode(nodes, name)
		require.NoError(t, err, name)
		require.Equal(t, object.ID("db/set"), n.ID, name)
	}
	_, err := findNode(nodes, "deployment")
	require.EqualError(t, err, `"deployment" means 2 objects`)
	require.Equal(t, "name it by its id: api/deployment, web/deployment", command.HintOf(err))
	_, err = findNode(nodes, "StatefulSet/bd")
	require.EqualError(t, err, `no object "StatefulSet/bd" in this render`)
	require.Contains(t, command.HintOf(err), `did you mean "StatefulSet/db"?`)
	require.Equal(t, command.Usage, command.ExitCode(err))
}

func TestExplanationsNameLinesEdgesAndWave(t *testing.T) {
	plan := testPlan()
	e := explain(plan, plan.Graph.Nodes[0])
	e.Value = &valueOrigin{Path: "spec.replicas", Value: 2, Input: object.Pos{File: "s.yaml", Line: 9, Column: 2}, InputPath: "spec.input.replicas"}
	require.Equal(t, `api/deployment  Deployment.apps shop/api
  spec       s.yaml:1:1
  module     m.cue:3:1
  wave       1 of 0-1, because of db/set
  apply      mode Apply, conflict Engine, adopt TakeOwnership, deletion Delete, prune true

spec.replicas = 2
  comes from s.yaml:9:2 (spec.input.replicas)

needs
  db/set  dependsOn (s.yaml:5:3): opens a new wave: db/set must be ready
`, e.text())
	back := explain(plan, plan.Graph.Nodes[1])
	require.Len(t, back.NeededBy, 1)
	require.Equal(t, "api/deployment", back.NeededBy[0].Name)
}
