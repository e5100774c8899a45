// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/diff"
)

func TestTotals(t *testing.T) {
	const mi = 1 << 20
	spec := "{containers: [{name: a, image: 'i:1', resources: {requests: {cpu: 100m, memory: 64Mi}}}, {name: b, image: 'j:1', resources: {limits: {cpu: 1, memory: 32Mi}}}]}"
	for _, tt := range []struct {
		name, objects string
		want          diff.Totals
	}{
		{"replicas", deployment("{replicas: 3, template: {spec: " + spec + "}}"), diff.Totals{Requests: diff.Requests{CPU: 3300, Memory: 288 * mi}}},
		{"a stopped workload", deployment("{replicas: 0, template: {spec: " + spec + "}}"), diff.Totals{}},
		{"an autoscaler", deployment("{template: {spec: "+spec+"}}") + "\n---\n" + of("autoscaling/v2", "HorizontalPodAutoscaler", "spec: {minReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}"),
			diff.Totals{Requests: diff.Requests{CPU: 2200, Memory: 192 * mi}}},
		{"KEDA begins with none", deployment("{template: {spec: "+spec+"}}") + "\n---\n" + of("keda.sh/v1alpha1", "ScaledObject", "spec: {scaleTargetRef: {name: x}}"), diff.Totals{}},
		{"on each node", of("apps/v1", "DaemonSet", "spec: {template: {spec: "+spec+"}}"), diff.Totals{PerNode: diff.Requests{CPU: 1100, Memory: 96 * mi}}},
		{"a job", of("batch/v1", "CronJob", "spec: {jobTemplate: {spec: {parallelism: 2, template: {spec: "+spec+"}}}}"), diff.Totals{Jobs: diff.Requests{CPU: 2200, Memory: 192 * mi}}},
		{"init containers and sidecars", of("v1", "Pod", `spec:
  initContainers:
  - {name: s, restartPolicy: Always, resources: {requests: {cpu: 50m, memory: 10Mi}}}
  - {name: i, resources: {requests: {cpu: 2, memory: 10Mi}}}
  containers: [{name: a, resources: {requests: {cpu: 100m, memory: 30Mi}}}]`), diff.Totals{Requests: diff.Requests{CPU: 2050, Memory: 40 * mi}}},
		{"a container without requests", of("v1", "Pod", "spec: {containers: [{name: a}, {name: b}]}"), diff.Totals{Requests: diff.Requests{Open: 1}}},
		{"numbers that are none", of("v1", "Pod", "spec: {containers: [{name: a, resources: {requests: {cpu: [], memory: x}}}]}"), diff.Totals{Requests: diff.Requests{Open: 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := diff.Snapshot{Items: items(t, tt.objects)}.Totals()
			got.Images, got.Objects = nil, 0
			require.Equal(t, tt.want, got)
		})
	}
	got := diff.Snapshot{Items: items(t, deployment("{template: {spec: "+spec+"}}"))}.Totals()
	require.Equal(t, 1, got.Objects)
	require.Equal(t, map[string]int{"i:1": 1, "j:1": 1}, got.Images)
}
