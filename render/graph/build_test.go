// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// node reads an object from YAML; its id is given, its lines are counted up.
func node(t testing.TB, id, text string) *object.Node {
	t.Helper()
	var o map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &o))
	return &object.Node{
		ID: object.ID(id), Object: o,
		Pos:     object.Pos{File: "module.cue", Line: 7},
		SpecPos: object.Pos{File: object.ID(id).Spec() + ".yaml", Line: 1},
	}
}

// config is a node with a ConfigMap, which nothing is inferred from.
func config(t testing.TB, id string, deps ...string) *object.Node {
	t.Helper()
	name := strings.ReplaceAll(id, "/", "-")
	n := node(t, id, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
	for i, d := range deps {
		n.DependsOn = append(n.DependsOn, object.Dependency{
			ID: object.ID(d), Pos: object.Pos{File: n.SpecPos.File, Line: 10 + i, Column: 5},
		})
	}
	return n
}

func spec(name string, deps ...string) graph.Spec {
	s := graph.Spec{Name: name, Pos: object.Pos{File: name + ".yaml", Line: 1}}
	for i, d := range deps {
		s.DependsOn = append(s.DependsOn, object.SpecDependency{
			Name: d, Pos: object.Pos{File: name + ".yaml", Line: 20 + i, Column: 3},
		})
	}
	return s
}

// lines writes edges and joins for comparison.
func lines(g *graph.Graph) []string {
	var out []string
	for _, e := range g.Edges {
		out = append(out, fmt.Sprintf("%s -> %s %s", e.From, e.To, e.Rule))
	}
	for _, j := range g.Joins {
		out = append(out, fmt.Sprintf("%s => %s %s", j.FromName, j.ToName, j.Rule))
	}
	return out
}

func TestBuildExplicit(t *testing.T) {
	inSet := func(id string, set int) *object.Node {
		n := config(t, id)
		n.Set, n.SetName = set, fmt.Sprintf("s%d", set)
		return n
	}
	annotated := config(t, "a/x")
	annotated.Object.Annotate(graph.DependsOnAnnotation, "/namespaces/prod/ConfigMap/y, rbac.authorization.k8s.io/ClusterRole/r")
	cases := map[string]struct {
		nodes []*object.Node
		specs []graph.Spec
		want  []string
	}{
		"a node depends on a node of its own spec and of another": {
			nodes: []*object.Node{config(t, "a/x", "a/y", "b/z"), config(t, "a/y"), config(t, "b/z")},
			want:  []string{"a/x -> a/y dependsOn", "a/x -> b/z dependsOn"},
		},
		"a dependency that is said twice is one edge": {
			nodes: []*object.Node{config(t, "a/x", "a/y", "a/y"), config(t, "a/y")},
			want:  []string{"a/x -> a/y dependsOn"},
		},
		"a node depends on a complete spec": {
			nodes: []*object.Node{config(t, "a/x", "b/"), config(t, "b/y"), config(t, "b/z")},
			want:  []string{"a/x => b dependsOn"},
		},
		"a spec depends on a spec": {
			nodes: []*object.Node{config(t, "a/x"), config(t, "b/y")},
			specs: []graph.Spec{spec("a", "b"), spec("b")},
			want:  []string{"a => b spec"},
		},
		"a spec without nodes passes its dependencies on": {
			nodes: []*object.Node{config(t, "a/x"), config(t, "c/y")},
			specs: []graph.Spec{spec("a", "b"), spec("b", "c"), spec("c")},
			want:  []string{"a => c spec"},
		},
		"sets follow each other, whatever their numbers": {
			nodes: []*object.Node{inSet("a/x", 1), inSet("a/y", 4), inSet("a/z", 4), inSet("b/x", 2)},
			want:  []string{"a[s4] => a[s1] set"},
		},
		"the annotation names objects of a namespace and of the cluster": {
			nodes: []*object.Node{
				annotated,
				node(t, "a/y", "{apiVersion: v1, kind: ConfigMap, metadata: {name: y, namespace: prod}}"),
				node(t, "a/r", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}"),
			},
			want: []string{"a/x -> a/r annotation", "a/x -> a/y annotation"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g, err := graph.Build(c.nodes, c.specs)
			require.NoError(t, err)
			require.Equal(t, c.want, lines(g))
		})
	}
}

func TestJoinsGiveEveryPair(t *testing.T) {
	nodes := []*object.Node{config(t, "a/x"), config(t, "a/y"), config(t, "b/u"), config(t, "b/v")}
	g, err := graph.Build(nodes, []graph.Spec{spec("a", "b"), spec("b")})
	require.NoError(t, err)
	all := slices.Collect(g.All())
	require.Len(t, all, 4)
	require.Equal(t, graph.Edge{
		From: "a/x", To: "b/u", Rule: graph.RuleSpec, Explicit: true,
		Pos: object.Pos{File: "a.yaml", Line: 20, Column: 3},
	}, all[0])
}

func TestBuildErrors(t *testing.T) {
	cases := map[string]struct {
		nodes []*object.Node
		specs []graph.Spec
		want  []string
	}{
		"an unknown node suggests the nearest": {
			nodes: []*object.Node{config(t, "a/web", "a/confg"), config(t, "a/config")},
			want: []string{`a.yaml:10:5: graph: a/web: depends on unknown node "a/confg" ` +
				`(did you mean "config"?)`},
		},
		"an unknown node of another spec suggests it with its spec": {
			nodes: []*object.Node{config(t, "nightly/job", "ledger/pod"), config(t, "ledger/pods")},
			want: []string{`nightly.yaml:10:5: graph: nightly/job: depends on unknown node "ledger/pod" ` +
				`(did you mean "ledger/pods"?)`},
		},
		"a node of an unknown spec": {
			nodes: []*object.Node{config(t, "a/web", "dbx/main"), config(t, "db/main")},
			want: []string{`a.yaml:10:5: graph: a/web: depends on "dbx/main", but there is no spec "dbx" ` +
				`(did you mean "db"?)`},
		},
		"a bare name that is a spec": {
			nodes: []*object.Node{config(t, "a/web", "a/db"), config(t, "db/main")},
			want:  []string{`a.yaml:10:5: graph: a/web: depends on unknown node "a/db" (db is a spec; write "db/" for all of its nodes)`},
		},
		"an unknown spec of a spec and of a node": {
			nodes: []*object.Node{config(t, "a/web", "x/")},
			specs: []graph.Spec{spec("a", "dbb")},
			want: []string{
				`a.yaml:10:5: graph: a/web depends on unknown spec "x" (known: a)`,
				`a.yaml:20:3: graph: spec a depends on unknown spec "dbb" (there is no other spec)`,
			},
		},
		"a node and a spec that depend on themselves": {
			nodes: []*object.Node{config(t, "a/web", "a/web"), config(t, "a/x", "a/")},
			specs: []graph.Spec{spec("a", "a")},
			want: []string{
				"a.yaml:10:5: graph: a/web: a/web depends on itself (remove the dependency)",
				"a.yaml:10:5: graph: a/x: a/x depends on itself (remove the dependency)",
				"a.yaml:20:3: graph: spec a depends on itself (remove the dependency)",
			},
		},
		"two nodes with one id": {
			nodes: []*object.Node{config(t, "a/web"), node(t, "a/web", "{apiVersion: v1, kind: Service, metadata: {name: s}}")},
			want:  []string{`a.yaml:1: graph: a/web: two nodes have the id "a/web" (give one of them another name)`},
		},
		"one object from two nodes, whatever its version": {
			nodes: []*object.Node{
				node(t, "a/web", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: p}}"),
				node(t, "b/web", "{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: web, namespace: p}}"),
			},
			want: []string{"b.yaml:1: graph: b/web: Deployment.apps p/web is rendered twice: by a/web and by b/web " +
				"(an object belongs to one node: rename or remove one of them)"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := graph.Build(c.nodes, c.specs)
			var all object.Errors
			require.ErrorAs(t, err, &all)
			require.Equal(t, strings.Join(c.want, "\n"), err.Error())
		})
	}
}

func TestAnnotationErrors(t *testing.T) {
	n := config(t, "a/x")
	n.Object.Annotate(graph.DependsOnAnnotation, "nonsense,/namespaces/p/ConfigMap/conf,batch/namespaces/p/Job/j,/ConfigMap/a-x")
	other := node(t, "a/y", "{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: p}}")
	_, err := graph.Build([]*object.Node{n, other}, nil)
	require.Error(t, err)
	got := strings.Split(err.Error(), "\n")
	require.Len(t, got, 4)
	prefix := `a.yaml:1: graph: a/x: metadata.annotations["config.kubernetes.io/depends-on"]: `
	require.Equal(t, prefix+`"nonsense" is not an object reference `+
		`(write group/namespaces/namespace/kind/name or group/kind/name; the core group is empty)`, got[0])
	require.Equal(t, prefix+`a/x depends on itself (remove the dependency)`, got[1])
	require.Equal(t, prefix+`depends on ConfigMap p/conf, which is not in the render `+
		`(did you mean "p/config"?)`, got[2])
	require.Equal(t, prefix+`depends on Job.batch p/j, which is not in the render (the render has no Job.batch)`, got[3])
}

// cycleCase is nodes and specs in a circle, and what is said of them.
type cycleCase struct {
	nodes []*object.Node
	specs []graph.Spec
	want  []string
	notes []string
}

func cycleCases(t *testing.T) map[string]cycleCase {
	return map[string]cycleCase{
		"the shortest cycle is printed with the line of each edge": {
			nodes: []*object.Node{
				config(t, "a/x", "a/y"), config(t, "a/y", "b/z"), config(t, "b/z", "a/x"),
				config(t, "b/long", "b/z"),
			},
			want: []string{"a.yaml:10:5: graph: cycle: a/x -> a/y -> b/z -> a/x (remove one of these dependencies)"},
			notes: []string{
				"a.yaml:10:5 a/x depends on a/y (dependsOn)",
				"a.yaml:10:5 a/y depends on b/z (dependsOn)",
				"b.yaml:10:5 b/z depends on a/x (dependsOn)",
			},
		},
		"a cycle of specs names specs": {
			nodes: []*object.Node{config(t, "a/x"), config(t, "b/y"), config(t, "c/z")},
			specs: []graph.Spec{spec("a", "b"), spec("b", "c"), spec("c", "a")},
			want:  []string{"a.yaml:20:3: graph: cycle: a -> b -> c -> a (remove one of these dependencies)"},
			notes: []string{
				"a.yaml:20:3 a depends on b (spec)", "b.yaml:20:3 b depends on c (spec)", "c.yaml:20:3 c depends on a (spec)",
			},
		},
		"a cycle of a spec and a node names nodes": {
			nodes: []*object.Node{config(t, "a/x", "b/y"), config(t, "b/y")},
			specs: []graph.Spec{spec("b", "a"), spec("a")},
			want:  []string{"a.yaml:10:5: graph: cycle: a/x -> b/y -> a/x (remove one of these dependencies)"},
			notes: []string{"a.yaml:10:5 a/x depends on b/y (dependsOn)", "b.yaml:20:3 b/y depends on a/x (spec)"},
		},
		"two separate cycles are two errors": {
			nodes: []*object.Node{
				config(t, "a/x", "a/y"), config(t, "a/y", "a/x"), config(t, "b/x", "b/y"), config(t, "b/y", "b/x"),
			},
			want: []string{
				"a.yaml:10:5: graph: cycle: a/x -> a/y -> a/x (remove one of these dependencies)",
				"b.yaml:10:5: graph: cycle: b/x -> b/y -> b/x (remove one of these dependencies)",
			},
		},
		"specs in a circle through one without nodes": {
			nodes: []*object.Node{config(t, "a/x")},
			specs: []graph.Spec{spec("a", "empty"), spec("empty", "a")},
			want:  []string{"a.yaml:20:3: graph: cycle: a -> empty -> a (remove one of these dependencies)"},
		},
	}
}

func TestCycles(t *testing.T) {
	for name, c := range cycleCases(t) {
		t.Run(name, func(t *testing.T) {
			_, err := graph.Build(c.nodes, c.specs)
			var all object.Errors
			require.ErrorAs(t, err, &all)
			require.Equal(t, strings.Join(c.want, "\n"), err.Error())
			if c.notes == nil {
				return
			}
			var notes []string
			for _, n := range all[0].Notes {
				notes = append(notes, n.Pos.String()+" "+n.Text)
			}
			require.Equal(t, c.notes, notes)
			var cycle *graph.CycleError
			require.True(t, errors.As(err, &cycle))
			require.Len(t, cycle.Edges, len(cycle.Names))
		})
	}
}

func TestEmptyGraph(t *testing.T) {
	g, err := graph.Build(nil, nil)
	require.NoError(t, err)
	require.Empty(t, g.Nodes)
}

func TestBuildDoesNotDependOnTheOrderOfItsInput(t *testing.T) {
	nodes := workload(t, 60)
	specs := workloadSpecs(60)
	want, err := graph.Build(nodes, specs)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		nodes, specs := slices.Clone(nodes), slices.Clone(specs)
		r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		r.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
		got, err := graph.Build(nodes, specs)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
