// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// What KEDA's scalers refuse is a mistake at its line.
func TestMessagesOnQueuesOfBrokers(t *testing.T) {
	const queue = own + "  replicas: {max: 2, queue: {name: jobs, type: "
	told(t, []message{
		{"a type that is not known", queue + "rabbit, address: \"a.b:1\", group: x}}\n", `s.yaml:6:48: spec: spec.replicas.queue.type: "rabbit" is not known: expected redis, rabbitmq, kafka, sqs, pubsub, servicebus (did you mean "rabbitmq"?)`},
		{"kafka without a group", queue + "kafka, address: \"a.b:1\"}}\n", `s.yaml:6:29: spec: spec.replicas.queue.group: is missing (write group beside type: kafka)`},
		{"kafka with a login and no resource", queue + "kafka, address: \"a.b:1\", group: g, sasl: plaintext}}\n", `s.yaml:6:89: spec: spec.replicas.queue.sasl: needs username and password, which only a resource has (write resource: NAME in place of address)`},
		{"sqs without a region", queue + "sqs}}\n", `s.yaml:6:29: spec: spec.replicas.queue.region: is missing (write region beside type: sqs)`},
		{"sqs with an address", queue + "sqs, region: r, address: \"a.b:1\"}}\n", `s.yaml:6:64: spec: spec.replicas.queue.address: a queue of type sqs has no address (remove it; it is a field of type: redis, rabbitmq, kafka)`},
		{"a group of redis", queue + "redis, address: \"a.b:1\", group: g}}\n", `s.yaml:6:73: spec: spec.replicas.queue.group: a queue of type redis has no group (remove it; it is a field of type: kafka)`},
		{"a database of rabbitmq", queue + "rabbitmq, address: \"a.b:1\", database: 1}}\n", `s.yaml:6:76: spec: spec.replicas.queue.database: a queue of type rabbitmq has no database (remove it; it is a field of type: redis)`},
		{"rabbitmq without a server", queue + "rabbitmq}}\n", `s.yaml:6:29: spec: spec.replicas.queue: expected one of resource and address, got 0 (write resource: NAME, or address: host:port)`},
		{"servicebus without a namespace", queue + "servicebus}}\n", `s.yaml:6:29: spec: spec.replicas.queue: expected one of resource and namespace, got 0 (write namespace: NAME, or resource: NAME of one with an output connection_string)`},
		{"servicebus with the domain of a namespace", queue + "servicebus, namespace: acme.servicebus.windows.net}}\n", `s.yaml:6:71: spec: spec.replicas.queue.namespace: "acme.servicebus.windows.net" is not a namespace of Service Bus: expected letters, digits and -, without .servicebus.windows.net`},
		{"a region of pubsub", queue + "pubsub, region: eu}}\n", `s.yaml:6:56: spec: spec.replicas.queue.region: a queue of type pubsub has no region (remove it; it is a field of type: sqs)`},
	})
	const sqs = own + "  replicas: {max: 2, queue: {type: sqs, region: r, name: "
	const bad = `s.yaml:6:58: spec: spec.replicas.queue.name: is not the URL of a queue of SQS (write https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, or the name alone)`
	told(t, []message{
		{"the URL of an account", sqs + "\"https://sqs.r.amazonaws.com/1/\"}}\n", bad},
		{"the URL of a host", sqs + "\"https://sqs.r.amazonaws.com\"}}\n", bad},
		{"a longer URL", sqs + "\"https://sqs.r.amazonaws.com/1/a/b\"}}\n", bad},
		{"a path", sqs + "/jobs}}\n", bad},
	})
	for _, good := range []string{
		queue + "rabbitmq, address: \"a.b:1\", vhost: shop, tls: true}}\n", queue + "kafka, address: \"a.b:1\", group: g, tls: true}}\n",
		queue + "pubsub}}\n", queue + "servicebus, namespace: acme-shop, topic: t}}\n", sqs + "jobs}}\n", sqs + "\"https://sqs.r.amazonaws.com/1/jobs\"}}\n",
	} {
		_, errs := decode(t, good)
		require.Empty(t, said(errs), good)
	}
}

// Every type of the schema has a broker, and every field of a queue is one of some type.
func TestTheSchemaOfQueuesNamesTheBrokers(t *testing.T) {
	field := kinds.Workload().Root
	for _, name := range []string{"spec", "replicas", "queue"} {
		fields := field.Fields
		for _, or := range field.Or {
			fields = append(fields, or.Fields...)
		}
		for _, f := range fields {
			if f.Name == name {
				field = f
			}
		}
	}
	has := map[string]bool{"type": true, "name": true, "length": true, "activation": true, "resource": true}
	var types []string
	for _, b := range score.Brokers() {
		types = append(types, b.Type)
		for _, name := range b.Has {
			has[name] = true
		}
	}
	var values []string
	for _, c := range field.Fields[0].Values {
		values = append(values, c.Name)
	}
	require.Equal(t, types, values)
	for _, f := range field.Fields {
		require.True(t, has[f.Name], f.Name)
		delete(has, f.Name)
	}
	require.Empty(t, has)
}
