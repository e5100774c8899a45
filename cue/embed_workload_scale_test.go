// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneAutoscalerIsMade(t *testing.T) {
	for scaling, kind := range map[string]string{
		"{min: 1, max: 4}": "HorizontalPodAutoscaler",
		"{min: 0, max: 4, queue: {name: a, address: b}}":                                "ScaledObject",
		`{min: 0, max: 4, cron: [{start: "0 8 * * *", end: "0 9 * * *", replicas: 1}]}`: "ScaledObject",
		"{min: 0, max: 4, http: {rate: 1, hosts: [a.example], port: 80}}":               "ScaledObject",
	} {
		nodes := workloadNodes(t, with("replicas: 3", "autoscaling: "+scaling))
		require.Equal(t, kind, nodes["autoscaler"].Object.Kind(), scaling)
		require.NotContains(t, nodes["pods"].Object["spec"], "replicas", scaling)
		require.NotContains(t, nodes, "trigger-authentication", "a queue without credentials needs none")
	}
}

// KEDA asks for the route by its name when it reads the ScaledObject, and the credentials
// of a queue are no concern of the pods.
func TestWhatComesBeforeAnAutoscalerOfKEDA(t *testing.T) {
	nodes := workloadNodes(t, workloadGolden(t, "keda"))
	require.Equal(t, "web/interceptor-route null {}", said(t, nodes["autoscaler"]))
	require.Equal(t, `[{"type":"ConditionMatch","condition":"Ready","status":"True"}] {}`, said(t, nodes["secret-scaling"]))
	require.Equal(t, "null {}", said(t, nodes["pods"]))
}

// In an ambient mesh calls between pods come through the tunnel; addresses outside of the
// cluster have none.
func TestRulesOpenTheTunnelOfAnAmbientMeshToPods(t *testing.T) {
	for policy, id := range map[string]string{"kubernetes": "network-policy", "cilium": "cilium-policy"} {
		nodes := workloadNodes(t, with("network:", "  policies: ["+policy+"]", "  mesh: ambient", "  inbound: []", "  outbound: []", "  external: []",
			"  from: [{namespace: a, ports: [{port: 80, protocol: TCP}]}, {cidr: 10.0.0.0/8, ports: [{port: 80, protocol: TCP}]}]"))
		ports := func(rule any) int {
			r := rule.(map[string]any)
			if to, ok := r["toPorts"].([]any); ok {
				r = to[0].(map[string]any)
			}
			return len(r["ports"].([]any))
		}
		ingress := nodes[id].Object["spec"].(map[string]any)["ingress"].([]any)
		require.Equal(t, []int{2, 1}, []int{ports(ingress[0]), ports(ingress[1])}, policy)
	}
}
