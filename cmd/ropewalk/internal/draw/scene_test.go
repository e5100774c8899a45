// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

type drawer func(*order.Plan) []byte

func drawers() map[string]drawer {
	return map[string]drawer{
		"txt": draw.Text, "json": document,
		"dot": func(p *order.Plan) []byte { return draw.Picture{Plan: p}.Dot() },
		"mmd": func(p *order.Plan) []byte { return draw.Picture{Plan: p}.Mermaid() },
		"svg": func(p *order.Plan) []byte { return draw.Picture{Plan: p}.SVG() },
	}
}

func document(p *order.Plan) []byte {
	data, err := p.Document().JSON()
	if err != nil {
		return nil
	}
	return data
}

func TestShopIsDrawnAsTheGoldensShow(t *testing.T) {
	for ext, d := range drawers() {
		t.Run(ext, func(t *testing.T) {
			got := d(shop(t, "argocd"))
			file := filepath.Join("testdata", "shop."+ext)
			if os.Getenv("ROPEWALK_UPDATE") != "" {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(file, got, 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

func TestDrawingsDoNotDependOnTheOrderOfTheInput(t *testing.T) {
	want := shop(t, "flux")
	r := rand.New(rand.NewPCG(5, 6))
	nodes := append([]*object.Node(nil), want.Graph.Nodes...)
	r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	var specs []graph.Spec
	for _, j := range want.Graph.Joins {
		specs = append(specs, graph.Spec{Name: j.FromName, DependsOn: []object.SpecDependency{{Name: j.ToName, Pos: j.Pos}}})
	}
	merged := map[string]graph.Spec{}
	for _, s := range specs {
		m := merged[s.Name]
		m.Name = s.Name
		m.DependsOn = append(m.DependsOn, s.DependsOn...)
		merged[s.Name] = m
	}
	specs = nil
	for _, s := range merged {
		specs = append(specs, s)
	}
	g, err := graph.Build(nodes, specs)
	require.NoError(t, err)
	got := order.New(g, engine(t, dialect.Flux))
	for ext, d := range drawers() {
		require.Equal(t, string(d(want)), string(d(got)), ext)
	}
}

func engine(t testing.TB, name dialect.Name) dialect.Dialect {
	t.Helper()
	d, err := dialect.Find(name)
	require.NoError(t, err)
	return d
}

// strange is a plan whose names try to break out of every format.
func strange(t testing.TB, name string) *order.Plan {
	t.Helper()
	node := func(id, kind string, deps ...string) *object.Node {
		n := &object.Node{ID: object.ID(id), Object: object.Object{
			"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": name + id},
		}}
		for _, d := range deps {
			n.DependsOn = append(n.DependsOn, object.Dependency{ID: object.ID(d), Pos: object.Pos{File: name, Line: 1}})
		}
		return n
	}
	g, err := graph.Build([]*object.Node{node("a/x", "Deployment", "b/y"), node("b/y", "StatefulSet")}, nil)
	require.NoError(t, err)
	return order.New(g, engine(t, dialect.Plain))
}

func TestStrangeNamesAreEscaped(t *testing.T) {
	p := strange(t, "</text><script>\"'&]]>\n\x00\xff#;`|\\")
	svg := draw.Picture{Plan: p}.SVG()
	requireXML(t, svg)
	require.NotContains(t, string(svg), "<script>")
	require.True(t, json.Valid(document(p)))
	require.NotContains(t, string(draw.Picture{Plan: p}.Mermaid()), "<script>")
	require.Contains(t, string(draw.Picture{Plan: p}.Mermaid()), "#quot;")
	require.NotContains(t, string(draw.Text(p)), "\x00")
	require.Contains(t, string(draw.Picture{Plan: p}.Dot()), `\"`)
}

func requireXML(t testing.TB, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestEmptyPlansCanBeDrawn(t *testing.T) {
	g, err := graph.Build(nil, nil)
	require.NoError(t, err)
	for ext, d := range drawers() {
		require.NotPanics(t, func() { d(order.New(g, engine(t, dialect.Plain))) }, ext)
	}
}

func TestJSONHoldsEveryEdge(t *testing.T) {
	p := shop(t, "argocd")
	var d order.Document
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(string(document(p)), `"warnings"`, `"-"`, 1)), &d))
	require.Len(t, d.Nodes, len(p.Graph.Nodes))
	require.Len(t, d.Edges, len(p.Graph.Edges))
	require.Len(t, d.Joins, len(p.Graph.Joins))
	require.Equal(t, 3, d.Waves)
}

func FuzzSVG(f *testing.F) {
	f.Add("name")
	f.Add("</svg>")
	f.Add("\xff\x00")
	f.Fuzz(func(t *testing.T, name string) {
		requireXML(t, draw.Picture{Plan: strange(t, name)}.SVG())
	})
}

func BenchmarkSVG(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		var nodes []*object.Node
		for i := range n {
			node := &object.Node{ID: object.MakeID(fmt.Sprintf("s%d", i/5), fmt.Sprint(i)), Object: object.Object{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": fmt.Sprint(i)},
			}}
			if i >= 20 {
				node.DependsOn = []object.Dependency{{ID: nodes[i-20].ID}}
			}
			nodes = append(nodes, node)
		}
		g, err := graph.Build(nodes, nil)
		require.NoError(b, err)
		p := order.New(g, engine(b, dialect.Plain))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				draw.Picture{Plan: p}.SVG()
			}
		})
	}
}
