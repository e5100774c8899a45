// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

// webModule renders the six objects of a usual web service.
const webModule = `package web
ropewalk: apiVersion: "v1alpha1"
#Input: {
	name:     =~"^[a-z0-9-]+$" | *"web"
	image:    string | *"registry.example/web:1.0"
	replicas: int & >=1 & <=50 | *2
	port:     int & >0 & <65536 | *8080
	host?:    string
	env: [string]: string
	resources: {cpu: string | *"100m", memory: string | *"128Mi"}
}
input: #Input
_labels: {"app.kubernetes.io/name": input.name, "app.kubernetes.io/managed-by": "ropewalk"}
_meta: {name: input.name, labels: _labels}
graph: nodes: {
	account: object: {apiVersion: "v1", kind: "ServiceAccount", metadata: _meta, automountServiceAccountToken: false}
	service: object: {
		apiVersion: "v1", kind: "Service", metadata: _meta
		spec: {selector: _labels, ports: [{name: "http", port: 80, targetPort: input.port}]}
	}
	deployment: {
		dependsOn: ["account"]
		object: {
			apiVersion: "apps/v1", kind: "Deployment", metadata: _meta
			spec: {
				replicas: input.replicas
				selector: matchLabels: _labels
				template: {
					metadata: labels: _labels
					spec: {
						serviceAccountName: input.name
						securityContext: {runAsNonRoot: true, seccompProfile: type: "RuntimeDefault"}
						containers: [{
							name:  input.name
							image: input.image
							ports: [{name: "http", containerPort: input.port}]
							env: [for k, v in input.env {name: k, value: v}]
							resources: {requests: input.resources, limits: memory: input.resources.memory}
							readinessProbe: httpGet: {path: "/ready", port: "http"}
							livenessProbe: httpGet: {path: "/live", port: "http"}
							securityContext: {allowPrivilegeEscalation: false, capabilities: drop: ["ALL"]}
						}]
					}
				}
			}
		}
	}
	hpa: object: {
		apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler", metadata: _meta
		spec: {
			scaleTargetRef: {apiVersion: "apps/v1", kind: "Deployment", name: input.name}
			minReplicas: input.replicas
			maxReplicas: input.replicas * 4
			metrics: [{type: "Resource", resource: {name: "cpu", target: {type: "Utilization", averageUtilization: 80}}}]
		}
	}
	pdb: object: {
		apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: _meta
		spec: {minAvailable: 1, selector: matchLabels: _labels}
	}
	if input.host != _|_ {
		ingress: object: {
			apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: _meta
			spec: rules: [{host: input.host, http: paths: [{
				path: "/", pathType: "Prefix", backend: service: {name: input.name, port: name: "http"}
			}]}]
		}
	}
}
`

// webRequest is a render with values that no other number has.
func webRequest(n int) evaluate.Request {
	text := func(name, s string) object.Member {
		return object.Member{Name: name, Value: object.Value{Kind: object.KindString, Text: s}}
	}
	env := object.Value{Kind: object.KindMap, Members: []object.Member{
		text("LOG_LEVEL", "info"), text("BASE_URL", fmt.Sprintf("https://%d.example", n)), text("REGION", "eu"),
	}}
	req := ask(webModule)
	req.Input = object.Value{Kind: object.KindMap, Members: []object.Member{
		text("name", fmt.Sprintf("web-%d", n)), text("host", fmt.Sprintf("%d.example", n)), {Name: "env", Value: env},
	}}
	return req
}

func evaluateWeb(b *testing.B, e evaluate.Evaluator, n int) {
	result, err := e.Evaluate(b.Context(), webRequest(n))
	if err != nil || len(result.Nodes) != 6 {
		b.Fatal(len(result.Nodes), err)
	}
}

func BenchmarkWarm(b *testing.B) {
	p := newTestPool(b, Options{Size: 2})
	for _, c := range []struct {
		name      string
		evaluator evaluate.Evaluator
	}{{"in process", inprocess.New(inprocess.Options{})}, {"worker", p}} {
		evaluateWeb(b, c.evaluator, 0)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				evaluateWeb(b, c.evaluator, n)
			}
		})
	}
}

// BenchmarkTwoAtOnce does the same work with one goroutine and with two; the
// wall times of both tell how it scales.
func BenchmarkTwoAtOnce(b *testing.B) {
	p := newTestPool(b, Options{Size: 2})
	for _, c := range []struct {
		name      string
		evaluator evaluate.Evaluator
	}{{"in process", inprocess.New(inprocess.Options{})}, {"worker", p}} {
		for goroutines := 1; goroutines <= 2; goroutines++ {
			b.Run(fmt.Sprintf("%s/%d", c.name, goroutines), func(b *testing.B) {
				for b.Loop() {
					evaluateAtOnce(b, c.evaluator, goroutines)
				}
			})
		}
	}
}

// evaluateAtOnce does 40 evaluations.
func evaluateAtOnce(b *testing.B, e evaluate.Evaluator, goroutines int) {
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for n := g; n < 40; n += goroutines {
				if _, err := e.Evaluate(b.Context(), webRequest(n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkLiveHeap reports by how much the live heap grows from the 1,000th
// to the 20,000th evaluation with distinct values.
func BenchmarkLiveHeap(b *testing.B) {
	b.Run("in process", func(b *testing.B) {
		e := inprocess.New(inprocess.Options{})
		for b.Loop() {
			reportGrowth(b, e, func() int64 {
				runtime.GC()
				sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
				metrics.Read(sample)
				return int64(sample[0].Value.Uint64())
			})
		}
	})
	b.Run("worker", func(b *testing.B) {
		p := newTestPool(b, Options{Size: 1})
		for b.Loop() {
			// Between two collections the worker reports the same: the smallest of
			// some is free of what was born during one.
			reportGrowth(b, p, func() int64 {
				least := int64(1 << 62)
				for n := range 400 {
					evaluateWeb(b, p, n)
					least = min(least, p.Stats().LiveHeap)
				}
				return least
			})
			require.Zero(b, p.Stats().Recycled)
		}
	})
}

func reportGrowth(b *testing.B, e evaluate.Evaluator, live func() int64) {
	for n := range 1000 {
		evaluateWeb(b, e, n)
	}
	before := live()
	for n := 1000; n < 20_000; n++ {
		evaluateWeb(b, e, n)
	}
	b.ReportMetric(float64(live()-before)/1024, "KiB-growth")
	b.ReportMetric(float64(before)/1024, "KiB-live")
}
