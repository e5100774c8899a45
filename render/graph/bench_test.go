// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"fmt"
	"testing"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// perSpec is how many nodes workload makes for one spec.
const perSpec = 5

// workload is n nodes in specs of five, as a web service has them.
func workload(t testing.TB, n int) []*object.Node {
	t.Helper()
	var nodes []*object.Node
	add := func(spec, name, text string) {
		if len(nodes) < n {
			nodes = append(nodes, node(t, spec+"/"+name, text))
		}
	}
	for i := 0; len(nodes) < n; i++ {
		s := fmt.Sprintf("s%04d", i)
		meta := "metadata: {name: " + s + ", namespace: shop, labels: {app: " + s + "}}"
		add(s, "config", "{apiVersion: v1, kind: ConfigMap, "+meta+"}")
		add(s, "account", "{apiVersion: v1, kind: ServiceAccount, "+meta+"}")
		add(s, "service", "{apiVersion: v1, kind: Service, "+meta+", spec: {selector: {app: "+s+"}}}")
		add(s, "web", `
apiVersion: apps/v1
kind: Deployment
`+meta+`
spec:
  template:
    metadata: {labels: {app: `+s+`}}
    spec:
      serviceAccountName: `+s+`
      containers:
      - name: web
        envFrom: [{configMapRef: {name: `+s+`}}]
        env: [{name: A, valueFrom: {secretKeyRef: {name: shared, key: a}}}]
      volumes: [{name: c, configMap: {name: `+s+`}}]
`)
		add(s, "budget", "{apiVersion: policy/v1, kind: PodDisruptionBudget, "+meta+
			", spec: {selector: {matchLabels: {app: "+s+"}}}}")
	}
	return nodes
}

// workloadSpecs makes every spec of a workload of n nodes depend on the one
// before it.
func workloadSpecs(n int) []graph.Spec {
	var specs []graph.Spec
	for i := range n / perSpec {
		s := graph.Spec{Name: fmt.Sprintf("s%04d", i)}
		if i > 0 {
			s.DependsOn = []object.SpecDependency{{Name: fmt.Sprintf("s%04d", i-1)}}
		}
		specs = append(specs, s)
	}
	return specs
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		nodes, specs := workload(b, n), workloadSpecs(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := graph.Build(nodes, specs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBuildLargeSpecs has two specs of half the nodes each, one of which
// depends on the other against the direction of what is inferred.
func BenchmarkBuildLargeSpecs(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		nodes := []*object.Node{node(b, "late/ns", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")}
		for i := range n {
			text := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop}}", i)
			nodes = append(nodes, node(b, fmt.Sprintf("%s/c%d", []string{"early", "late"}[i%2], i), text))
		}
		specs := []graph.Spec{spec("late", "early"), spec("early")}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := graph.Build(nodes, specs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
