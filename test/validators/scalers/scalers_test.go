// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package scalers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"

	"github.com/ropewalk/ropewalk/test/validators"
)

// build builds the scaler of a trigger. A server of Redis is not there, which is found last.
func build(t *testing.T, trigger keda.ScaleTriggers, parameters map[string]string) error {
	t.Helper()
	config := &scalersconfig.ScalerConfig{
		ScalableObjectName: "worker", ScalableObjectNamespace: "shop", ScalableObjectType: "ScaledObject",
		TriggerMetadata: trigger.Metadata, TriggerType: trigger.Type, MetricType: trigger.MetricType, AuthParams: parameters,
	}
	var scaler scalers.Scaler
	var err error
	switch trigger.Type {
	case "redis":
		if config.TriggerMetadata["address"] != "" {
			config.TriggerMetadata["address"] = "127.0.0.1:1"
		}
		_, err = scalers.NewRedisScaler(t.Context(), false, false, config)
		require.Error(t, err)
		if config.TriggerMetadata["address"] != "" && config.TriggerMetadata["listName"] != "" {
			require.ErrorContains(t, err, "connection to redis failed: dial tcp 127.0.0.1:1")
			return nil
		}
		return err
	case "cron":
		scaler, err = scalers.NewCronScaler(config)
	case "cpu", "memory":
		scaler, err = scalers.NewCPUMemoryScaler(core.ResourceName(trigger.Type), config)
	case "external-push":
		scaler, err = scalers.NewExternalPushScaler(config)
	default:
		require.Fail(t, "a trigger that the test does not know", trigger.Type)
	}
	if err != nil {
		return err
	}
	if trigger.Type != "external-push" { // Its server is asked for them.
		require.NotEmpty(t, scaler.GetMetricSpecForScaling(context.WithoutCancel(t.Context())))
	}
	return scaler.Close(context.WithoutCancel(t.Context()))
}

func TestKEDABuildsTheScalersOfAllTriggers(t *testing.T) {
	found := map[string]int{}
	for _, r := range validators.Examples(t) {
		parameters := map[string]map[string]string{}
		for _, o := range r.Of("keda.sh", "TriggerAuthentication") {
			parameters[o.GetName()] = map[string]string{}
			for _, ref := range validators.As[keda.TriggerAuthentication](t, o).Spec.SecretTargetRef {
				parameters[o.GetName()][ref.Parameter] = "x"
			}
		}
		for _, o := range r.Of("keda.sh", "ScaledObject") {
			for _, trigger := range validators.As[keda.ScaledObject](t, o).Spec.Triggers {
				own := map[string]string{}
				if trigger.AuthenticationRef != nil {
					own = parameters[trigger.AuthenticationRef.Name]
					require.NotEmpty(t, own)
				}
				require.NoError(t, build(t, trigger, own), "%s %s %s", r.Name, o.GetName(), trigger.Type)
				found[trigger.Type]++
			}
		}
	}
	require.Len(t, found, 5, "redis, cron, cpu, memory and external-push: %v", found)
}

// What KEDA does not build is refused by Ropewalk before, at the line of the author.
func TestWhatKEDADoesNotBuildIsAMistakeOfTheAuthor(t *testing.T) {
	cron := func(start, end, zone, replicas string) map[string]string {
		return map[string]string{"start": start, "end": end, "timezone": zone, "desiredReplicas": replicas}
	}
	for _, c := range []struct {
		trigger  string
		metadata map[string]string
		// replicas is what an author writes, and want what Ropewalk reports.
		replicas, want string
	}{
		{"redis", map[string]string{"address": "valkey:6379"}, `queue: {address: "valkey.shop:6379"}`, "queue.name: is missing"},
		{"redis", map[string]string{"listName": "jobs"}, `queue: {name: jobs}`, "expected one of resource and address"},
		{"cron", cron("0 0 8 * * *", "0 9 * * *", "UTC", "1"), `cron: [{start: "0 0 8 * * *", end: "0 9 * * *", replicas: 1}]`, "is not a cron expression"},
		{"cron", cron("@daily", "0 9 * * *", "UTC", "1"), `cron: [{start: "@daily", end: "0 9 * * *", replicas: 1}]`, "is not a cron expression"},
		{"cron", cron("0 8 * * *", "0 8 * * *", "UTC", "1"), `cron: [{start: "0 8 * * *", end: "0 8 * * *", replicas: 1}]`, "the window has no length"},
		{"cron", cron("0 8 * * *", "", "UTC", "1"), `cron: [{start: "0 8 * * *", replicas: 1}]`, "cron[0].end: is missing"},
		{"cron", cron("0 8 * * *", "0 9 * * *", "UTC", ""), `cron: [{start: "0 8 * * *", end: "0 9 * * *"}]`, "cron[0].replicas: is missing"},
		{"cpu", map[string]string{"value": "x"}, "cpu: x", "expected an integer"},
		{"external-push", map[string]string{"interceptorRoute": "api"}, "http: {rate: 5}", "http.hosts: is missing"},
	} {
		t.Run(c.trigger+" "+c.replicas, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "worker.yaml")
			require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: worker}\n"+
				"spec:\n  replicas: {max: 5, %s}\n  containers: {worker: {image: example.com/worker:1}}\n", c.replicas), 0o600))
			_, stderr, err := validators.Render(t, file)
			require.Error(t, err)
			require.Regexp(t, `worker.yaml:5:\d+: spec`, string(stderr))
			require.Contains(t, string(stderr), c.want)
			require.Error(t, build(t, keda.ScaleTriggers{Type: c.trigger, Metadata: c.metadata, MetricType: "Utilization"}, nil))
		})
	}
}
