// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package scalers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/stretchr/testify/require"
	v2 "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"

	"github.com/ropewalk/ropewalk/test/validators"
)

// build builds the scaler of a trigger, for the account that KEDA has at a cloud. A server that KEDA
// connects to is not there, which is found last.
func build(t *testing.T, trigger keda.ScaleTriggers, parameters map[string]string, account keda.PodIdentityProvider) error {
	t.Helper()
	config := &scalersconfig.ScalerConfig{
		ScalableObjectName: "worker", ScalableObjectNamespace: "shop", ScalableObjectType: "ScaledObject",
		TriggerMetadata: trigger.Metadata, TriggerType: trigger.Type, MetricType: trigger.MetricType, AuthParams: parameters,
		PodIdentity: keda.AuthPodIdentity{Provider: account},
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
	case "rabbitmq":
		config.TriggerMetadata["host"] = closed.ReplaceAllString(config.TriggerMetadata["host"], "${1}127.0.0.1:1")
		_, err = scalers.NewRabbitMQScaler(config)
		return unreachable(t, err, "error establishing connection to RabbitMQ: dial tcp 127.0.0.1:1")
	case "kafka":
		if config.TriggerMetadata["bootstrapServers"] != "" {
			config.TriggerMetadata["bootstrapServers"] = "127.0.0.1:1"
		}
		_, err = scalers.NewKafkaScaler(t.Context(), config)
		return unreachable(t, err, "error creating kafka client")
	case "aws-sqs-queue":
		scaler, err = scalers.NewAwsSqsQueueScaler(t.Context(), config)
	case "gcp-pubsub":
		scaler, err = scalers.NewPubSubScaler(config)
	case "azure-servicebus":
		scaler, err = scalers.NewAzureServiceBusScaler(config)
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

// closed is the host and port of a URL of AMQP, behind its login.
var closed = regexp.MustCompile(`^(amqps?://(?:[^@/]*@)?)[^/]+`) //nolint:gochecknoglobals // a constant

// unreachable returns an error of a scaler, unless all that it found is that there is no server.
func unreachable(t *testing.T, err error, missing string) error {
	t.Helper()
	require.Error(t, err)
	if strings.Contains(err.Error(), missing) {
		return nil
	}
	return err
}

func TestKEDABuildsTheScalersOfAllTriggers(t *testing.T) {
	found := map[string]int{}
	for _, r := range validators.Examples(t) {
		parameters := map[string]map[string]string{}
		accounts := map[string]keda.PodIdentityProvider{}
		for _, o := range r.Of("keda.sh", "TriggerAuthentication") {
			parameters[o.GetName()] = map[string]string{}
			spec := validators.As[keda.TriggerAuthentication](t, o).Spec
			if spec.PodIdentity != nil {
				accounts[o.GetName()] = spec.PodIdentity.Provider
			}
			for _, ref := range spec.SecretTargetRef {
				parameters[o.GetName()][ref.Parameter] = "x"
			}
		}
		for _, o := range r.Of("keda.sh", "ScaledObject") {
			for _, trigger := range validators.As[keda.ScaledObject](t, o).Spec.Triggers {
				own := map[string]string{}
				var account keda.PodIdentityProvider
				if trigger.AuthenticationRef != nil {
					own, account = parameters[trigger.AuthenticationRef.Name], accounts[trigger.AuthenticationRef.Name]
					require.NotEqual(t, len(own) > 0, account != "")
				}
				require.NoError(t, build(t, trigger, own, account), "%s %s %s", r.Name, o.GetName(), trigger.Type)
				found[trigger.Type]++
			}
		}
	}
	require.Len(t, found, 10, "redis, rabbitmq, kafka, aws-sqs-queue, gcp-pubsub, azure-servicebus, cron, cpu, memory and external-push: %v", found)
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
		{"rabbitmq", map[string]string{"host": "amqp://q.shop:5672"}, `queue: {type: rabbitmq, address: "q.shop:5672"}`, "queue.name: is missing"},
		{"rabbitmq", map[string]string{"queueName": "jobs"}, `queue: {type: rabbitmq, name: jobs}`, "expected one of resource and address"},
		{"kafka", map[string]string{"topic": "jobs", "bootstrapServers": "q.shop:9092"}, `queue: {type: kafka, name: jobs, address: "q.shop:9092"}`, "queue.group: is missing"},
		{"kafka", map[string]string{"topic": "jobs", "consumerGroup": "g"}, `queue: {type: kafka, name: jobs, group: g}`, "expected one of resource and address"},
		{"kafka", map[string]string{"topic": "jobs", "consumerGroup": "g", "bootstrapServers": "q.shop:9092", "sasl": "plaintext"}, `queue: {type: kafka, name: jobs, group: g, address: "q.shop:9092", sasl: plaintext}`, "needs username and password"},
		{"kafka", map[string]string{"topic": "jobs", "consumerGroup": "g", "bootstrapServers": "q.shop:9092", "sasl": "scram"}, `queue: {type: kafka, name: jobs, group: g, address: "q.shop:9092", sasl: scram}`, `"scram" is not known`},
		{"aws-sqs-queue", map[string]string{"queueURL": "jobs"}, `queue: {type: sqs, name: jobs}`, "queue.region: is missing"},
		{"aws-sqs-queue", map[string]string{"queueURL": "https://sqs.r.amazonaws.com/1", "awsRegion": "r"}, `queue: {type: sqs, region: r, name: "https://sqs.r.amazonaws.com/1"}`, "is not the URL of a queue"},
		{"gcp-pubsub", map[string]string{}, `queue: {type: pubsub}`, "queue.name: is missing"},
		{"azure-servicebus", map[string]string{"queueName": "jobs"}, `queue: {type: servicebus, name: jobs}`, "expected one of resource and namespace"},
		{"azure-servicebus", map[string]string{"topicName": "t", "namespace": "acme-shop"}, `queue: {type: servicebus, topic: t, namespace: acme-shop}`, "queue.name: is missing"},
		{"cron", cron("0 0 8 * * *", "0 9 * * *", "UTC", "1"), `cron: [{start: "0 0 8 * * *", end: "0 9 * * *", replicas: 1}]`, "is not a cron expression"},
		{"cron", cron("@daily", "0 9 * * *", "UTC", "1"), `cron: [{start: "@daily", end: "0 9 * * *", replicas: 1}]`, "is not a cron expression"},
		{"cron", cron("0 8 * * *", "0 8 * * *", "UTC", "1"), `cron: [{start: "0 8 * * *", end: "0 8 * * *", replicas: 1}]`, "the window has no length"},
		{"cron", cron("0 8 * * *", "", "UTC", "1"), `cron: [{start: "0 8 * * *", replicas: 1}]`, "cron[0].end: is missing"},
		{"cron", cron("0 8 * * *", "0 9 * * *", "UTC", ""), `cron: [{start: "0 8 * * *", end: "0 9 * * *"}]`, "cron[0].replicas: is missing"},
		{"cpu", map[string]string{"value": "x"}, "cpu: x", "expected a number"},
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
			metric := v2.MetricTargetType("")
			if c.trigger == "cpu" {
				metric = v2.UtilizationMetricType
			}
			account := map[string]keda.PodIdentityProvider{"aws-sqs-queue": "aws", "gcp-pubsub": "gcp", "azure-servicebus": "azure-workload"}[c.trigger]
			require.Error(t, build(t, keda.ScaleTriggers{Type: c.trigger, Metadata: c.metadata, MetricType: metric}, nil, account))
		})
	}
}
