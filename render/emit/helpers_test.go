// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// node is a node of the spec shop; kind is Kind.group/version or Kind/version.
func node(name, kind, namespace string, change ...func(*object.Node)) *object.Node {
	kind, apiVersion, _ := strings.Cut(kind, "/")
	kind, group, grouped := strings.Cut(kind, ".")
	if grouped {
		apiVersion = group + "/" + apiVersion
	}
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	n := &object.Node{
		ID:      object.MakeID("shop", strings.ToLower(kind)+"-"+name),
		Object:  object.Object{"apiVersion": apiVersion, "kind": kind, "metadata": meta},
		Pos:     object.Pos{File: "module.cue", Line: 7, Column: 3},
		SpecPos: object.Pos{File: "shop.yaml", Line: 2, Column: 1},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func apply(a object.Apply) func(*object.Node) {
	return func(n *object.Node) { n.Apply = a }
}

func ready(rules ...object.Ready) func(*object.Node) {
	return func(n *object.Node) { n.ReadyWhen = rules }
}

func celRule(expr string) func(*object.Node) {
	return ready(object.Ready{Type: object.ReadyCEL, Expr: expr, Pos: object.Pos{File: "module.cue", Line: 9, Column: 5}})
}

func note(key, value string) func(*object.Node) {
	return func(n *object.Node) { n.Object.Annotate(key, value) }
}

func field(name string, value any) func(*object.Node) {
	return func(n *object.Node) { n.Object[name] = value }
}

// planOf is a plan made by hand; every node of a wave gates the next wave.
func planOf(waves ...[]*object.Node) *order.Plan {
	p := &order.Plan{Graph: &graph.Graph{}, Placements: map[object.ID]order.Placement{}, Blocking: map[object.ID]bool{}}
	for i, nodes := range waves {
		p.Waves = append(p.Waves, order.Wave{Nodes: nodes})
		for _, n := range nodes {
			p.Graph.Nodes = append(p.Graph.Nodes, n)
			p.Placements[n.ID] = order.Placement{Wave: i, Edge: -1}
			if i+1 < len(waves) && len(waves[i+1]) > 0 {
				p.Graph.Edges = append(p.Graph.Edges, graph.Edge{From: waves[i+1][0].ID, To: n.ID, Rule: graph.RuleDependsOn, Explicit: true})
				p.Gates = append(p.Gates, order.Gate{Gating: true})
				p.Blocking[n.ID] = true
			}
		}
	}
	return p
}

func one(n *object.Node) *order.Plan { return planOf([]*object.Node{n}) }

// write writes in a dialect and reads every file back.
func write(t testing.TB, p *order.Plan, d dialect.Name) (map[string]object.Object, []string) {
	t.Helper()
	out, err := emit.Write(p, emit.Options{Dialect: d, HealthConfigured: true})
	require.NoError(t, err)
	return read(t, out), warnings(out)
}

func read(t testing.TB, out emit.Output) map[string]object.Object {
	t.Helper()
	files := map[string]object.Object{}
	for _, f := range out.Files {
		require.True(t, strings.HasSuffix(string(f.Data), "\n"))
		files[f.Path] = decode(t, f.Data)
	}
	require.Len(t, files, len(out.Files))
	return files
}

func warnings(out emit.Output) []string {
	var list []string
	for _, w := range out.Warnings {
		list = append(list, w.Error())
	}
	return list
}

// only is the one object of a render.
func only(t testing.TB, files map[string]object.Object) object.Object {
	t.Helper()
	require.Len(t, files, 1)
	for _, o := range files {
		return o
	}
	return nil
}

// shop is a plan of three waves with a bit of everything.
func shop() *order.Plan {
	yes := true
	return planOf(
		[]*object.Node{
			node("shop", "Namespace/v1", ""),
			node("widgets.example.com", "CustomResourceDefinition.apiextensions.k8s.io/v1", "",
				field("spec", map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget"}})),
			node("settings", "ConfigMap/v1", "shop", field("data", map[string]any{"a": "x\ny\n", "b": "yes"})),
			node("db", "StatefulSet.apps/v1", "shop", ready(object.Ready{Type: object.ReadyCEL, Expr: "status.readyReplicas >= 1"})),
		},
		[]*object.Node{
			node("web", "Deployment.apps/v1", "shop", ready(object.Ready{Type: object.ReadyDeploymentAvailable})),
			node("api", "Deployment.apps/v1", "shop"),
			node("big", "Widget.example.com/v1", "shop", ready(object.Ready{Type: object.ReadyConditionMatch, Condition: "Ready"}, object.Ready{Type: object.ReadyExists})),
			node("cert", "Certificate.cert-manager.io/v1", "shop", apply(object.Apply{Mode: object.ModeForce, Prune: &yes, Deletion: object.DeletionOrphan})),
		},
		[]*object.Node{
			node("web", "Ingress.networking.k8s.io/v1", "shop", apply(object.Apply{Mode: object.ModeReplace})),
		},
	)
}

// shuffled is p with its nodes and waves in another order inside.
func shuffled(p *order.Plan, seed uint64) *order.Plan {
	r := rand.New(rand.NewPCG(seed, 1))
	q := *p
	q.Waves = nil
	for _, w := range p.Waves {
		nodes := slices.Clone(w.Nodes)
		r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		q.Waves = append(q.Waves, order.Wave{Nodes: nodes})
	}
	return &q
}
