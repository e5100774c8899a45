// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// The API server takes a minimum of 0 with the feature gate HPAScaleToZero, and a metric that is not
// one of the pods.
func TestAutoscalersThatScaleToZero(t *testing.T) {
	const gate = "warning minReplicas: 0 is taken only where the cluster has the feature gate HPAScaleToZero, which is off by default"
	const metrics = `error metrics: needs a metric of type "Object" or "External" where minReplicas is 0: without pods no other has a value`
	external, cpu := map[string]any{"type": "External", "external": map[string]any{}}, map[string]any{"type": "Resource", "resource": map[string]any{}}
	for name, c := range map[string]struct {
		version string
		least   int64
		metrics []any
		want    []string
	}{
		"an external metric":     {"v2", 0, []any{cpu, external}, []string{gate}},
		"metrics of pods alone":  {"v2", 0, []any{cpu}, []string{metrics, gate}},
		"the metric by default":  {"v2", 0, nil, []string{metrics, gate}},
		"metrics in annotations": {"v1", 0, nil, []string{gate}},
		"one pod":                {"v2", 1, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := &finding.Report{Root: object.Object{"apiVersion": "autoscaling/" + c.version, "minReplicas": c.least, "maxReplicas": int64(3), "metrics": c.metrics}}
			checkAutoscaler(finding.NewValue(r))
			var got []string
			for _, f := range r.Findings {
				severity := "error"
				if f.Severity == object.SeverityWarning {
					severity = "warning"
				}
				got = append(got, severity+" "+f.Path.String()+": "+f.Message)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestFewerThanNoReplicas(t *testing.T) {
	c := &Components{}
	kind, ok := LookupKind("autoscaling/v2", "HorizontalPodAutoscaler")
	require.True(t, ok)
	r := &finding.Report{Root: object.Object{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"minReplicas": int64(-1), "maxReplicas": int64(3), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}},
	}}
	c.Check(finding.NewValue(r), kind)
	require.Len(t, r.Findings, 1)
	require.Equal(t, "expected at least 0, found -1", r.Findings[0].Message)
}
