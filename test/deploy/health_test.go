// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

const (
	healthFile = folder + "/health/argocd-cm.yaml"
	licence    = "# Copyright 2026 The Ropewalk Authors\n# SPDX-License-Identifier: Apache-2.0\n"
	// applied is how large an annotation may be, and so what kubectl apply without
	// --server-side keeps in one.
	applied = 256 << 10
)

// ruled are the kinds whose readiness modules commonly wait for: workloads, and what
// the modules that come with Ropewalk give a readyWhen.
func ruled() [][2]string {
	return [][2]string{
		{"apps/v1", "Deployment"}, {"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"}, {"batch/v1", "Job"},
		{"v1", "PersistentVolumeClaim"},
		{"external-secrets.io/v1", "ExternalSecret"}, {"external-secrets.io/v1", "SecretStore"},
		{"external-secrets.io/v1", "ClusterSecretStore"},
		{"postgresql.cnpg.io/v1", "Cluster"}, {"redis.redis.opstreelabs.in/v1beta2", "Redis"},
		{"cert-manager.io/v1", "Certificate"}, {"http.keda.sh/v1beta1", "InterceptorRoute"}, {"serving.knative.dev/v1", "Service"},
		{"gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy"}, {"gateway.envoyproxy.io/v1alpha1", "SecurityPolicy"},
	}
}

// health is the file of the component, as ropewalk render --argocd-cm writes it. It
// leaves the namespace to the installation.
func health() string {
	var nodes []*object.Node
	for _, k := range ruled() {
		nodes = append(nodes, &object.Node{
			ID:        object.MakeID("health", strings.ToLower(k[1])),
			Object:    object.Object{"apiVersion": k[0], "kind": k[1], "metadata": map[string]any{"name": "any"}},
			ReadyWhen: []object.Ready{{Type: object.ReadyExists}},
		})
	}
	text := string(emit.HealthConfig(&order.Plan{Waves: []order.Wave{{Nodes: nodes}}}))
	return licence + "\n# Written by make generate, from what \"ropewalk render --argocd-cm\" writes.\n" +
		strings.Replace(text, "\n  namespace: argocd\n", "\n", 1)
}

func TestTheHealthChecksAreThoseOfARender(t *testing.T) {
	want := health()
	require.NotContains(t, want, "namespace: argocd\n")
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(healthFile, []byte(want), 0o644)) //nolint:gosec // a file of the tree
	}
	require.Equal(t, want, read(t, healthFile), "regenerate with make generate")
	require.Less(t, len(want), applied, "kubectl apply without --server-side is to take it")
}

func healthChecksSuffice(t *testing.T, command string, _ sidecar) {
	file := filepath.Join(t.TempDir(), "argocd-cm.yaml")
	have := documents(t, healthFile, read(t, healthFile))[0]["data"].(map[string]any)
	orders := root + "/cue/examples/orders"
	for _, args := range [][]string{{root + "/cue/examples/workloads"}, {orders, "--values", "gateway:" + orders + "/targets/envoy-gateway.yaml"}} {
		run(t, command, append([]string{"render", "--env", "prod", "--dialect", "argocd", "--argocd-cm", file}, args...)...)
		want := documents(t, file, read(t, file))[0]["data"].(map[string]any)
		require.NotEmpty(t, want)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			require.Equal(t, want[key], have[key], key)
		}
	}
}
