// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// renderWeb renders testdata/web with values that depend on i; the names of
// fields do not, because CUE never forgets one.
func renderWeb(t testing.TB, i int) evaluate.Request {
	t.Helper()
	return evaluate.Request{
		Spec: "web", Pos: object.Pos{File: "spec.yaml", Line: 1, Column: 1},
		Module: evaluate.Module{FS: os.DirFS("testdata/web"), Digest: "web", Label: "modules/web"},
		Input: parseYAML(t, "spec.yaml", fmt.Sprintf(`
name: web-%d
image: registry.example.com/web
tag: v%d
replicas: %d
ports:
- {name: http, port: 80, target: 8080}
- {name: metrics, port: 9090}
env: {LOG_LEVEL: debug, REGION: r%d, MODE: fast}
files: {app.conf: "a=%d"}
labels: {team: t%d}
`, i, i, 1+i%9, i, i, i)),
		InputPath: object.Fields("spec", "input"),
		Context:   testContext(),
	}
}

func BenchmarkInProcessCold(b *testing.B) {
	req := renderWeb(b, 1)
	b.ReportAllocs()
	reportCPU(b)
	for b.Loop() {
		_, err := New(Options{Schemas: testSchemas()}).Evaluate(context.Background(), req)
		require.NoError(b, err)
	}
}

// BenchmarkInProcessLoader is the cold evaluation of a module that is not plain:
// CUE's loader reads it.
func BenchmarkInProcessLoader(b *testing.B) {
	req := renderWeb(b, 1)
	b.ReportAllocs()
	reportCPU(b)
	for b.Loop() {
		p := New(Options{Schemas: testSchemas()})
		p.slowly = true
		_, err := p.Evaluate(context.Background(), req)
		require.NoError(b, err)
	}
}

func BenchmarkInProcessWarm(b *testing.B) {
	p := New(Options{Schemas: testSchemas()})
	req := renderWeb(b, 1)
	_, err := p.Evaluate(context.Background(), req)
	require.NoError(b, err)
	b.ReportAllocs()
	reportCPU(b)
	for b.Loop() {
		_, err := p.Evaluate(context.Background(), req)
		require.NoError(b, err)
	}
}

func BenchmarkInProcessParallel(b *testing.B) {
	p := New(Options{Schemas: testSchemas()})
	req := renderWeb(b, 1)
	_, err := p.Evaluate(context.Background(), req)
	require.NoError(b, err)
	b.ReportAllocs()
	reportCPU(b)
	b.SetParallelism(1)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Evaluate(context.Background(), req); err != nil {
				b.Error(err)
			}
		}
	})
}

// manyObjects is a module that makes n objects.
func manyObjects(n int) evaluate.Request {
	return inline(fmt.Sprintf(`package many

import "list"

ropewalk: apiVersion: "v1alpha1"
input: {name: string | *"x", replicas: int | *1}
graph: nodes: {
	for i in list.Range(0, %d, 1) {
		"node-\(i)": object: {
			apiVersion: "apps/v1"
			kind:       "Deployment"
			metadata: {name: "\(input.name)-\(i)", labels: app: input.name}
			spec: {
				replicas: input.replicas
				selector: matchLabels: app: input.name
				template: {
					metadata: labels: app: input.name
					spec: containers: [{name: "main", image: "registry.example.com/app:\(i)", ports: [{containerPort: 8080}]}]
				}
			}
		}
	}
}
`, n))
}

func BenchmarkInProcessObjects(b *testing.B) {
	for _, n := range []int{10, 100, 500, 1000} {
		for _, warm := range []bool{false, true} {
			b.Run(fmt.Sprintf("objects=%d/warm=%v", n, warm), func(b *testing.B) {
				req := manyObjects(n)
				p := New(Options{})
				_, err := p.Evaluate(context.Background(), req)
				require.NoError(b, err)
				b.ReportAllocs()
				reportCPU(b)
				for b.Loop() {
					if !warm {
						p = New(Options{})
					}
					_, err := p.Evaluate(context.Background(), req)
					require.NoError(b, err)
				}
			})
		}
	}
}

func BenchmarkInProcessErrors(b *testing.B) {
	p := New(Options{})
	req := renderWeb(b, 1)
	req.Input = parseYAML(b, "spec.yaml", strings.Join([]string{
		"name: WEB", "imag: x", "replicas: two", "ports: [{name: http, port: 0}, {prt: 1}]",
	}, "\n"))
	b.ReportAllocs()
	reportCPU(b)
	for b.Loop() {
		_, err := p.Evaluate(context.Background(), req)
		require.Error(b, err)
	}
}
