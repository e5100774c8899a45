// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// serverless is a KnativeService with two containers.
func serverless() Resolved {
	r := plain()
	s := &r.Workload
	s.Kind = says(score.KindKnativeService, 60)
	s.Ports = []score.Port{{Name: "http", Pos: at(61), Port: 80, Target: 8080, Protocol: "TCP"}}
	s.Serving = fields(m{"min": 0, "max": 10, "metric": "concurrency", "target": 20, "timeout": 60})
	r.Containers[0].Variables = nil
	second := worker()
	second.Spec.Order = 1
	r.Containers = append(r.Containers, second)
	r.Config.Policies = []string{"kubernetes"}
	r.Config.Network.RoutesFrom = "kourier-system"
	r.Network = network.Network{Inbound: []network.Peer{{Name: "web", Namespace: "shop"}}, Knative: true}
	return r
}

func TestKnativeRefusals(t *testing.T) {
	const flag = " (set the flag, or remove the field)"
	for _, tt := range []badWorkload{
		{"fields of a pod", func(r *Resolved) {
			r.Workload.Pod = fields(m{"nodeSelector": m{"a": "b"}, "imagePullSecrets": []any{}, "terminationGracePeriodSeconds": 5})
			r.Workload.Passed = fields(m{"securityContext": m{"fsGroup": 1}})
		}, []string{
			`warning score.yaml:90:5: spec: metadata.pod.nodeSelector: Knative refuses nodeSelector, unless the flag kubernetes.podspec-nodeselector of its ConfigMap config-features is set` + flag,
			`spec: metadata.pod.terminationGracePeriodSeconds: Knative refuses terminationGracePeriodSeconds (remove it, or write kind: Deployment)`,
			`warning score.yaml:90:5: spec: metadata.securityContext: Knative refuses securityContext, unless the flag kubernetes.podspec-securitycontext of its ConfigMap config-features is set` + flag,
		}},
		{"volumes", func(r *Resolved) {
			r.Containers[0].Mounts = []Mount{
				{Spec: score.Mount{Target: "/dev/", Pos: at(40), Source: says("a", 41)}, Resource: "a", Volume: fields(m{"emptyDir": m{}})},
				{Spec: score.Mount{Target: "/b", Pos: at(42), Source: says("b", 43)}, Resource: "b", Volume: fields(m{"persistentVolumeClaim": m{"claimName": "b"}})},
				{Spec: score.Mount{Target: "/c", Pos: at(44), Source: says("c", 45)}, Resource: "c", Volume: fields(m{"nfs": m{"server": "x", "path": "/"}})},
			}
			r.Containers[0].Spec.Volumes = []score.Mount{r.Containers[0].Mounts[0].Spec}
		}, []string{
			`warning score.yaml:90:5: spec: resources.b.persistentVolumeClaim: Knative refuses persistentVolumeClaim, unless the flag kubernetes.podspec-persistent-volume-claim of its ConfigMap config-features is set` + flag,
			`spec: resources.c.nfs: Knative refuses nfs (remove it, or write kind: Deployment)`,
			`spec: containers.web.volumes./dev/: Knative mounts nothing at "/dev/" (write another path)`,
		}},
		{"fields of a container", func(r *Resolved) {
			c := &r.Containers[0].Spec
			c.Further = fields(m{"lifecycle": m{}, "imagePullPolicy": "Always"})
			c.SecurityContext = fields(m{"procMount": "Default", "privileged": true, "runAsUser": 5, "capabilities": m{"drop": []any{"ALL"}, "add": []any{"CHOWN"}}})
			c.StartupProbe = fields(m{"httpGet": m{"port": "http"}})
			r.Containers[1].Spec.LivenessProbe = fields(m{"httpGet": m{"port": 9000}})
			r.Containers[0].Variables = []Variable{{Name: "K_SERVICE", NamePos: at(9), Value: write(9, lit("x"))}, {Name: "PORT", NamePos: at(9), Value: write(9, lit("x"))}}
			r.Containers[1].Variables = []Variable{{Name: "PORT", NamePos: at(9), Value: write(9, lit("x"))}}
		}, []string{
			`score.yaml:9:5: spec: containers.web.variables.K_SERVICE: Knative sets K_SERVICE itself (remove it)`,
			`score.yaml:9:5: spec: containers.web.variables.PORT: Knative sets PORT itself (remove it)`,
			`spec: containers.web.lifecycle: Knative refuses lifecycle (remove it, or write kind: Deployment)`,
			`spec: containers.web.securityContext.procMount: Knative refuses procMount (remove it, or write kind: Deployment)`,
			`spec: containers.web.securityContext.privileged: Knative runs no privileged containers (remove it, or write kind: Deployment)`,
			`warning score.yaml:90:5: spec: containers.web.securityContext.capabilities.add: Knative refuses it, unless the flag kubernetes.containerspec-addcapabilities of its ConfigMap config-features is set` + flag,
			`spec: containers.web.startupProbe.httpGet.port: Knative knows no port "http" (write its number)`,
			`warning score.yaml:90:5: spec: containers.worker.livenessProbe: Knative refuses probes of containers beside the one that serves ("web"), unless the flag multi-container-probing of its ConfigMap config-features is set (set the flag, or remove the probe)`,
		}},
		{"containers that come first", func(r *Resolved) {
			r.Containers[1].Spec.Name = "queue-proxy"
			r.Containers[1].Spec.Before = []score.Before{{Container: "web", Pos: at(70), Ready: score.ReadyStarted}}
		}, []string{
			`score.yaml:70:5: spec: containers.queue-proxy.before: Knative has no sidecars that start first (remove before, or write ready: complete)`,
			`the container "queue-proxy" is Knative's own (write another name)`,
		}},
		{"a container that ends first", func(r *Resolved) {
			r.Containers[1].Spec.Before = []score.Before{{Container: "web", Pos: at(70), Ready: score.ReadyComplete}}
		}, []string{`warning score.yaml:70:5: spec: containers.worker.before: Knative refuses initContainers, unless the flag kubernetes.podspec-init-containers of its ConfigMap config-features is set` + flag}},
		{"a route", func(r *Resolved) {
			r.Workload.Resources = []score.Resource{{Name: "way", Pos: at(80), Type: says("route", 80)}}
		}, []string{`score.yaml:80:5: spec: resources.way: Knative makes the routes of a KnativeService, whose Service leads to its own gateway (remove the route, or write kind: Deployment)`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := serverless()
			tt.change(&r)
			_, errs := Input(r)
			var got string
			for _, e := range errs {
				if e.Severity != 0 {
					got += e.Severity.String() + " "
				}
				got += e.Error() + "\n"
			}
			for _, want := range tt.want {
				require.Contains(t, got, want)
			}
			require.Len(t, errs, len(tt.want), got)
		})
	}
}
