// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// many is a plan of specs with five objects each; needs says which others a spec depends on.
func many(t testing.TB, names []string, needs func(i int) []int) *order.Plan {
	t.Helper()
	var nodes []*object.Node
	var specs []graph.Spec
	for i, name := range names {
		for _, kind := range []string{"ServiceAccount", "Service", "ConfigMap", "Secret"} {
			nodes = append(nodes, &object.Node{ID: object.MakeID(name, strings.ToLower(kind)), Object: object.Object{
				"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "shop"},
			}})
		}
		nodes = append(nodes, &object.Node{ID: object.MakeID(name, "main"), Object: object.Object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": "shop"},
		}})
		s := graph.Spec{Name: name}
		for _, j := range needs(i) {
			s.DependsOn = append(s.DependsOn, object.SpecDependency{Name: names[j]})
		}
		specs = append(specs, s)
	}
	g, err := graph.Build(nodes, specs)
	require.NoError(t, err)
	d, err := dialect.Find(dialect.ArgoCD)
	require.NoError(t, err)
	return order.New(g, d)
}

func numbered(n int, format string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// teams are specs named by team and part.
func teams(n, parts int) (out []string) {
	for i := range n {
		for j := range parts {
			out = append(out, fmt.Sprintf("team%02d-part%d", i, j))
		}
	}
	return out
}

func none(int) []int { return nil }

func chain(i int) []int { return []int{i - 1}[:min(i, 1)] }

func TestMoreThanSixtyObjectsAreDrawnBySpec(t *testing.T) {
	few, above := many(t, numbered(12, "s%02d"), none), many(t, numbered(13, "s%02d"), none)
	require.Len(t, Picture{Plan: few}.scene(true).marks, 60)
	s := Picture{Plan: above}.scene(true)
	require.Len(t, s.marks, 13)
	require.Equal(t, []string{"s00", "5 objects", "Deployment, ConfigMap +3"}, s.marks[0].text())
	require.Equal(t, "65 objects of 13 specs in 1 wave", s.summary())
	require.Len(t, Picture{Plan: above, Unfolded: true}.scene(true).marks, 65)
	for name, data := range map[string][]byte{"svg": Picture{Plan: above}.SVG(), "dot": Picture{Plan: above}.Dot(), "mermaid": Picture{Plan: above}.Mermaid()} {
		require.Contains(t, string(data), "s12", name)
		require.NotContains(t, string(data), "s12/main", name)
	}
}

func TestASpecOfSeveralWavesSaysSo(t *testing.T) {
	plan := many(t, numbered(13, "s%02d"), none)
	for _, n := range plan.Graph.Nodes {
		if n.ID == "s03/main" {
			n.DependsOn = []object.Dependency{{ID: "s04/main"}}
		}
	}
	g, err := graph.Build(plan.Graph.Nodes, nil)
	require.NoError(t, err)
	s := Picture{Plan: order.New(g, plan.Dialect)}.scene(true)
	require.Equal(t, "5 objects, waves 0–1", s.marks[3].kind)
}

func TestThereAreAtMostSixtyBoxes(t *testing.T) {
	for name, c := range map[string]struct {
		specs []string
		needs func(int) []int
		want  int
	}{
		"words before the last one":                     {teams(20, 10), none, 20},
		"the first word where waves make too many":      {teams(20, 10), func(i int) []int { return []int{i - 1}[:min(i%10, 1)] }, 20},
		"a box for a wave where names have no words":    {numbered(200, "svc%03d"), func(i int) []int { return []int{i - 100}[:i/100] }, 2},
		"several waves in one box where there are many": {numbered(100, "svc%03d"), chain, 50},
	} {
		s := Picture{Plan: many(t, c.specs, c.needs)}.scene(true)
		require.Len(t, s.marks, c.want, name)
		var specs []string
		for _, m := range s.marks {
			specs = append(specs, m.specs...)
		}
		slices.Sort(specs)
		require.Equal(t, slices.Sorted(slices.Values(c.specs)), specs, name)
	}
}

func TestOneSpecOfManyObjectsIsDrawnByKind(t *testing.T) {
	var nodes []*object.Node
	for i := range 70 {
		kind := []string{"ConfigMap", "Secret"}[i%2]
		nodes = append(nodes, &object.Node{ID: object.MakeID("chart", fmt.Sprint(i)), Object: object.Object{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": fmt.Sprint(i), "namespace": "shop"},
		}})
	}
	g, err := graph.Build(nodes, nil)
	require.NoError(t, err)
	d, err := dialect.Find(dialect.Plain)
	require.NoError(t, err)
	s := Picture{Plan: order.New(g, d)}.scene(true)
	require.Len(t, s.marks, 2)
	require.Equal(t, []string{"ConfigMap", "35 objects", "of chart"}, s.marks[0].text())
}

func TestAPictureHasTheShapeOfAScreen(t *testing.T) {
	pairs := func(i int) []int { return []int{i - 28}[:i/28] }
	for name, plan := range map[string]*order.Plan{
		"279 objects of one wave": many(t, numbered(56, "s%02d"), none), "of two waves": many(t, numbered(56, "s%02d"), pairs),
		"5,000 objects": many(t, teams(50, 20), none),
	} {
		p := compose(Picture{Plan: plan, Title: "shop"}.scene(true))
		p.arrange()
		require.LessOrEqual(t, len(p.marks), MaxBoxes, name)
		require.Less(t, p.width, 2000, name)
		require.Less(t, p.height, 1500, name)
		for i, a := range p.areas() {
			require.LessOrEqual(t, a.right, p.width, name)
			require.LessOrEqual(t, a.bottom, p.height-p.bottom, name)
			for _, b := range p.areas()[:i] {
				require.False(t, a.overlaps(b), "%s: %v %v", name, a, b)
			}
		}
	}
}

func TestSeveralEdgesBetweenTwoBoxesAreOneLine(t *testing.T) {
	node := func(id string, o object.Object, needs ...object.Dependency) *object.Node {
		return &object.Node{ID: object.ID(id), Object: o, DependsOn: needs}
	}
	g, err := graph.Build([]*object.Node{
		node("a/settings", object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c", "namespace": "x"}}),
		node("a/main", object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "m", "namespace": "x"}, "spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "m", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "c"}}}}},
		}}}}, object.Dependency{ID: "a/settings"}),
	}, nil)
	require.NoError(t, err)
	require.Len(t, g.Edges, 2)
	d, err := dialect.Find(dialect.Plain)
	require.NoError(t, err)
	p := Picture{Plan: order.New(g, d)}
	s := p.scene(true)
	require.Len(t, s.strokes, 1)
	require.Equal(t, "dependsOn, configMap", s.strokes[0].label())
	require.Equal(t, 1, strings.Count(string(p.Dot()), "->"))
	require.Equal(t, 1, strings.Count(string(p.Mermaid()), "-->"))
}

func TestTheLegendSaysWhatIsThereAndNothingElse(t *testing.T) {
	legend := func(p Picture) (out []string) {
		for _, e := range compose(p.scene(true)).legend {
			out = append(out, e.class)
		}
		return out
	}
	two := numbered(2, "s%d")
	require.Equal(t, []string{"box work", "box"}, legend(Picture{Plan: many(t, two, none)}))
	calls := []render.Call{{From: "s0", To: "s1"}, {From: "elsewhere", To: "s1"}, {From: "s1", To: "s0"}}
	p := Picture{Plan: many(t, two, chain), Calls: calls, Title: "shop, prod"}
	require.Equal(t, []string{"note", "gate", "call", "box work", "box"}, legend(p))
	require.Equal(t, 3, strings.Count(string(p.SVG()), `class="line call"`), "two calls, and the legend")
	require.Contains(t, string(p.SVG()), `class="title">shop, prod<`)
	require.Contains(t, string(p.Mermaid()), `-.->|"calls"|`)
}

func TestAroundAnObjectIsWhatItWaitsForAndWhatWaitsForIt(t *testing.T) {
	plan := many(t, numbered(5, "s%d"), chain)
	near, related := Around(plan, "s2/main", MaxBoxes)
	require.Equal(t, 5, related)
	require.Equal(t, map[object.ID]bool{"s0/main": true, "s1/main": true, "s2/main": true, "s3/main": true, "s4/main": true}, mains(near))
	near, related = Around(plan, "s2/main", 4)
	require.Equal(t, 5, related)
	require.Equal(t, map[object.ID]bool{"s1/main": true, "s2/main": true, "s3/main": true}, mains(near))
}

// mains are the ids with what the first of a side is called made the same.
func mains(near map[object.ID]bool) map[object.ID]bool {
	out := map[object.ID]bool{}
	for id := range near {
		out[object.MakeID(id.Spec(), "main")] = true
	}
	return out
}
