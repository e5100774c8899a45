// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// randomNodes is a random graph of n nodes in specs of about six: nodes depend
// on earlier ones, and workloads use ConfigMaps and accounts of their spec.
func randomNodes(r *rand.Rand, n int) ([]*object.Node, []graph.Spec) {
	kinds := []object.Ref{
		{Kind: "ConfigMap"}, {Kind: "Secret"}, {Kind: "Service"}, {Kind: "ServiceAccount"},
		{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "batch", Kind: "Job"},
		{Group: "e.example", Kind: "Thing"}, {Group: "cert-manager.io", Kind: "Certificate"},
		{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
	}
	var nodes []*object.Node
	var specs []graph.Spec
	for i := range n {
		spec := fmt.Sprintf("s%02d", i/6)
		if i%6 == 0 {
			s := graph.Spec{Name: spec}
			if i > 0 && r.IntN(2) == 0 {
				s.DependsOn = []object.SpecDependency{{Name: fmt.Sprintf("s%02d", r.IntN(i/6))}}
			}
			specs = append(specs, s)
		}
		kind := kinds[r.IntN(len(kinds))]
		version := "v1"
		if kind.Group != "" {
			version = kind.Group + "/v1"
		}
		// Names are scattered, so that the order of names is not that of edges.
		name := fmt.Sprintf("n%d", (i*7919)%1000)
		node := &object.Node{
			ID: object.MakeID(spec, fmt.Sprintf("%s%d", name, i)),
			Object: object.Object{"apiVersion": version, "kind": kind.Kind, "metadata": map[string]any{"name": name + fmt.Sprint(i), "namespace": "ns"},
				"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
					"containers": []any{map[string]any{"envFrom": randomRefs(r, nodes)}}}}}},
		}
		for range r.IntN(3) {
			if i > 0 {
				node.DependsOn = append(node.DependsOn, object.Dependency{ID: nodes[r.IntN(i)].ID})
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, specs
}

func randomRefs(r *rand.Rand, nodes []*object.Node) []any {
	var out []any
	for range r.IntN(3) {
		if len(nodes) > 0 {
			name := nodes[r.IntN(len(nodes))].Object.Name()
			out = append(out, map[string]any{"configMapRef": map[string]any{"name": name}})
			out = append(out, map[string]any{"secretRef": map[string]any{"name": name}})
		}
	}
	return out
}

func TestPlansOfRandomGraphs(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes, specs := randomNodes(r, 1+r.IntN(40))
		g, err := graph.Build(nodes, specs)
		require.NoError(t, err)
		for _, engine := range []string{"plain", "argocd", "flux"} {
			p := order.New(g, engineOf(t, engine))
			msg := fmt.Sprintf("seed %d, %s", seed, engine)
			keepsEdges(t, p, msg)
			require.Equal(t, longest(p), len(p.Waves), msg)
			sameAsPairs(t, p, nodes, specs, msg)
		}
	}
}

// keepsEdges checks that gating edges lead to an earlier wave, and all others
// but the loose ones to what comes first in the same wave.
func keepsEdges(t *testing.T, p *order.Plan, msg string) {
	t.Helper()
	at := map[object.ID]int{}
	for _, w := range p.Waves {
		require.NotEmpty(t, w.Nodes, msg)
		for _, n := range w.Nodes {
			at[n.ID] = len(at)
		}
	}
	require.Len(t, at, len(p.Graph.Nodes), msg)
	for i, e := range p.Graph.Edges {
		from, to := p.Placements[e.From].Wave, p.Placements[e.To].Wave
		require.GreaterOrEqual(t, from, to, "%s: %v", msg, e)
		if p.Gates[i].Gating {
			require.Greater(t, from, to, "%s: %v", msg, e)
		}
		if !p.Gates[i].Loose {
			require.Greater(t, at[e.From], at[e.To], "%s: %v", msg, e)
		}
	}
	for e := range p.Graph.All() {
		if e.Rule == graph.RuleSpec {
			require.Greater(t, at[e.From], at[e.To], "%s: %v", msg, e)
		}
	}
}

// longest is the number of waves that the gating edges ask for, found by
// walking back from every node.
func longest(p *order.Plan) int {
	gating := map[object.ID]map[object.ID]int{}
	put := func(from, to object.ID, cost int) {
		if gating[from] == nil {
			gating[from] = map[object.ID]int{}
		}
		gating[from][to] = max(gating[from][to], cost)
	}
	for i, e := range p.Graph.Edges {
		put(e.From, e.To, cost(p.Gates[i].Gating))
	}
	for e := range p.Graph.All() {
		if e.Rule == graph.RuleSpec {
			put(e.From, e.To, cost(p.Placements[e.From].Wave > p.Placements[e.To].Wave && pairGates(p, e)))
		}
	}
	memo := map[object.ID]int{}
	var walk func(id object.ID) int
	walk = func(id object.ID) int {
		if n, ok := memo[id]; ok {
			return n
		}
		n := 1
		for to, c := range gating[id] {
			n = max(n, walk(to)+c)
		}
		memo[id] = n
		return n
	}
	n := 0
	for _, node := range p.Graph.Nodes {
		n = max(n, walk(node.ID))
	}
	return n
}

func cost(gates bool) int {
	if gates {
		return 1
	}
	return 0
}

// pairGates asks the plan of the two nodes alone whether an edge between them
// costs a wave.
func pairGates(p *order.Plan, e graph.Edge) bool {
	var pair []*object.Node
	for _, n := range p.Graph.Nodes {
		if n.ID == e.From || n.ID == e.To {
			alone := *n
			alone.DependsOn = nil
			if n.ID == e.From {
				alone.DependsOn = []object.Dependency{{ID: e.To}}
			}
			pair = append(pair, &alone)
		}
	}
	g, err := graph.Build(pair, nil)
	return err == nil && len(order.New(g, p.Dialect).Waves) == 2
}

// sameAsPairs checks that a dependency between specs does just what the
// product of its nodes would do.
func sameAsPairs(t *testing.T, p *order.Plan, nodes []*object.Node, specs []graph.Spec, msg string) {
	t.Helper()
	var written []*object.Node
	for _, n := range nodes {
		clone := *n
		clone.DependsOn = slices.Clone(n.DependsOn)
		written = append(written, &clone)
	}
	for _, s := range specs {
		for _, d := range s.DependsOn {
			for _, from := range written {
				for _, to := range written {
					if from.ID.Spec() == s.Name && to.ID.Spec() == d.Name {
						from.DependsOn = append(from.DependsOn, object.Dependency{ID: to.ID})
					}
				}
			}
		}
	}
	g, err := graph.Build(written, nil)
	require.NoError(t, err)
	require.Equal(t, ids(p), ids(order.New(g, p.Dialect)), msg)
}

func ids(p *order.Plan) [][]object.ID {
	var out [][]object.ID
	for _, w := range p.Waves {
		var wave []object.ID
		for _, n := range w.Nodes {
			wave = append(wave, n.ID)
		}
		out = append(out, wave)
	}
	return out
}

func TestPlansDoNotDependOnTheOrderOfTheirInput(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	nodes, specs := randomNodes(r, 60)
	for _, engine := range []string{"plain", "argocd", "flux"} {
		want := plan(t, engine, nodes, specs...)
		for range 10 {
			nodes, specs := slices.Clone(nodes), slices.Clone(specs)
			r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			r.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
			require.Equal(t, want, plan(t, engine, nodes, specs...))
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		nodes, specs := randomNodes(rand.New(rand.NewPCG(1, 1)), n)
		g, err := graph.Build(nodes, specs)
		require.NoError(b, err)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				order.New(g, engineOf(b, "argocd"))
			}
		})
	}
}

// BenchmarkNewLargeSpecs has two specs of half the nodes each, one of which
// depends on the other.
func BenchmarkNewLargeSpecs(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		nodes, _ := randomNodes(rand.New(rand.NewPCG(1, 1)), n)
		for i, node := range nodes {
			node.ID = object.MakeID([]string{"a", "b"}[i%2], fmt.Sprint(i))
			node.DependsOn = nil
		}
		g, err := graph.Build(nodes, []graph.Spec{{Name: "a", DependsOn: []object.SpecDependency{{Name: "b"}}}})
		require.NoError(b, err)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				order.New(g, engineOf(b, "argocd"))
			}
		})
	}
}
