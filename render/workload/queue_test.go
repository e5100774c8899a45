// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// scaled is a workload that is scaled by the queue of its resource jobs.
const scaled = `
metadata: {name: api, replicas: {min: 0, max: 5, queue: {name: jobs, resource: jobs}}}
resources: {jobs: {type: redis}}
`

// queueOf is what becomes of the queue where the resource has this result, and what is said.
func queueOf(t *testing.T, config spec.Workloads, doc, result string) (queue, said string) {
	t.Helper()
	p, errs := Join(sources(t, doc), config, testCatalog())
	require.Empty(t, errs)
	c := p.Compile("api")
	_, errs = run(t, c, map[string]resource.Answer{"jobs": answerOf(result)})
	require.Empty(t, errs)
	compiled, errs := c.Finish()
	v, _ := compiled.Input.Lookup(object.Fields("autoscaling", "queue"))
	return string(v.JSON()), messages(errs)
}

const atStore = `"sensitive": {"username": {"key": "db", "property": "user"}, "password": {"key": "db", "property": "pass", "version": "7"}}`

func TestTheCredentialsOfAQueueAreReferences(t *testing.T) {
	config := testConfig()
	config.Secrets = spec.Secrets{Backend: spec.BackendExternalSecrets, StoreName: "vault", StoreKind: "ClusterSecretStore", RefreshInterval: "1h", StorePos: object.Pos{File: "p", Line: 1, Column: 1}}
	inCluster := config
	inCluster.Secrets.Backend = spec.BackendKubernetes
	joined := inCluster
	joined.Secrets.Backend, joined.Secrets.KubernetesStore = spec.BackendExternalSecrets, "cluster"
	for _, c := range []struct {
		name, result, queue, said string
		config                    spec.Workloads
	}{
		{
			"from the store", `{"outputs": {"host": "q.prod", "port": 6379}, ` + atStore + `}`,
			`{"name":"jobs","address":"q.prod:6379","auth":[` +
				`{"parameter":"username","name":"api-scaling","key":"username"},{"parameter":"password","name":"api-scaling","key":"password"}],` +
				`"secret":{"data":[{"secretKey":"jobs__password","remoteRef":{"key":"db","property":"pass","version":"7"}},` +
				`{"secretKey":"jobs__username","remoteRef":{"key":"db","property":"user"}}],` +
				`"template":{"username":"{{ .jobs__username }}","password":"{{ .jobs__password }}"},"refreshInterval":"1h"}}`, "", config,
		},
		{
			"from the Secret that an operator makes", `{"outputs": {"host": "q.prod", "port": 6379, "username": "default"}, "sensitive": {"password": {"store": "kubernetes", "key": "q", "property": "password"}}}`,
			`{"name":"jobs","address":"q.prod:6379","username":"default","auth":[{"parameter":"password","name":"q","key":"password"}]}`, "", config,
		},
		{
			"from Secrets of the backend", `{"outputs": {"host": "q.prod", "port": 6379}, "sensitive": {"password": {"key": "q", "property": "password"}}}`,
			`{"name":"jobs","address":"q.prod:6379","auth":[{"parameter":"password","name":"q","key":"password"}]}`, "", inCluster,
		},
		{
			"none", `{"outputs": {"host": "q.prod", "port": 6379}}`, `{"name":"jobs","address":"q.prod:6379"}`, "", config,
		},
		{
			"an address that is secret", `{"outputs": {"port": 6379}, "sensitive": {"host": {"key": "db", "property": "host"}}}`,
			`{"name":"jobs","auth":[{"parameter":"address","name":"api-scaling","key":"address"}],` +
				`"secret":{"data":[{"secretKey":"jobs__host","remoteRef":{"key":"db","property":"host"}}],"template":{"address":"{{ .jobs__host }}:6379"},"refreshInterval":"1h"}}`, "", config,
		},
		{
			"an address that is a Secret of the cluster", `{"outputs": {"port": 6379}, "sensitive": {"host": {"store": "kubernetes", "key": "q", "property": "host"}}}`,
			`{"name":"jobs"}`,
			`api.yaml:2:80: spec: metadata.replicas.queue: the address of the resource "jobs" is made of Secrets of the cluster, which KEDA cannot join (name a SecretStore of the provider kubernetes in spec.workloads.secrets.kubernetesStore of the Project)` + "\n", config,
		},
		{
			"a password that is empty is none", `{"outputs": {"host": "q.prod", "port": 6379, "username": "default", "password": ""}}`,
			`{"name":"jobs","address":"q.prod:6379"}`, "", config,
		},
		{
			"a password in plain text is not shown", `{"outputs": {"host": "q.prod", "port": 6379, "password": "canary-7f3a"}}`, `{"name":"jobs","address":"q.prod:6379"}`,
			`api.yaml:2:80: spec: metadata.replicas.queue: the resource "jobs" gives its password as plain text, which the ScaledObject would show (the provisioner must give it as a sensitive output)` + "\n", config,
		},
		{
			"a host without its namespace", `{"outputs": {"host": "cache", "port": 6379}}`, `{"name":"jobs","address":"cache:6379"}`,
			`warning: api.yaml:2:80: spec: metadata.replicas.queue: "cache" has no namespace: KEDA looks it up in its own (write cache.NAMESPACE.svc.cluster.local)` + "\n", config,
		},
		{
			"a resource without a port", `{"outputs": {"host": "q.prod"}}`, `null`,
			`api.yaml:2:80: spec: metadata.replicas.queue.resource: the resource "jobs" has no output "port" (known: host)` + "\n", config,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			queue, said := queueOf(t, c.config, scaled, c.result)
			require.Equal(t, c.said, said)
			if c.queue == "null" {
				require.NotContains(t, queue, "jobs")
				return
			}
			require.JSONEq(t, c.queue, queue)
			require.NotContains(t, queue+said, "canary-7f3a")
		})
	}
	queue, said := queueOf(t, joined, scaled, `{"outputs": {"port": 6379}, "sensitive": {"host": {"store": "kubernetes", "key": "q", "property": "host"}}}`)
	require.Empty(t, said)
	require.Contains(t, queue, `"sourceRef":{"storeRef":{"kind":"SecretStore","name":"cluster"}}`)
}

// withStore returns a configuration with a store.
func withStore() spec.Workloads {
	config := testConfig()
	config.Secrets = spec.Secrets{Backend: spec.BackendExternalSecrets, StoreName: "vault", StoreKind: "ClusterSecretStore", RefreshInterval: "1h", StorePos: object.Pos{File: "p", Line: 1, Column: 1}}
	return config
}

// brokered returns what becomes of a queue with these fields on a resource of a type, and what is
// said.
func brokered(t *testing.T, fields, kind, result string) (queue, said string) {
	t.Helper()
	doc := "metadata: {name: api, replicas: {max: 5, queue: {resource: jobs, name: jobs, " + fields + "}}}\nresources: {jobs: {type: " + kind + "}}\n"
	p, errs := Join(sources(t, doc), withStore(), []resource.Provisioner{{Type: kind}})
	require.Empty(t, errs)
	c := p.Compile("api")
	_, errs = run(t, c, map[string]resource.Answer{"jobs": answerOf(result)})
	require.Empty(t, errs)
	compiled, errs := c.Finish()
	v, _ := compiled.Input.Lookup(object.Fields("autoscaling", "queue"))
	return string(v.JSON()), messages(errs)
}

// KEDA would look for a queue at the address of another server, and never find one.
func TestAQueueIsOnAServerOfItsType(t *testing.T) {
	const at = "api.yaml:2:60: spec: metadata.replicas.queue.resource: "
	for _, c := range []struct{ fields, kind, outputs, said string }{
		{"type: redis", "redis", `"host": "q.prod", "port": 6379`, ""},
		{"type: redis", "valkey", `"host": "q.prod", "port": 6379`, ""},
		{"type: redis", "cache", `"host": "q.prod", "port": 6379, "url": "rediss://q.prod:6379/0"`, ""},
		{"type: redis", "cache", `"host": "q.prod", "port": 6379`, at + `a queue of type redis is on a server of Redis or Valkey, and the resource "jobs" is of type "cache" (name a resource of type redis or valkey, or one with an output url that begins with redis://)` + "\n"},
		{"type: redis", "broker", `"host": "q.prod", "port": 5672, "url": "amqp://q.prod:5672"`, at + `a queue of type redis is on a server of Redis or Valkey, and the resource "jobs" is of type "broker" (write type: rabbitmq)` + "\n"},
		{"type: redis", "postgres", `"host": "q.prod", "port": 5432, "url": "postgres://q.prod:5432/jobs"`, at + `a queue of type redis is on a server of Redis or Valkey, and the resource "jobs" is of type "postgres" (name a resource of type redis or valkey, or one with an output url that begins with redis://)` + "\n"},
		{"type: rabbitmq", "kafka-topic", `"host": "q.prod", "port": 9092`, at + `a queue of type rabbitmq is on a server of RabbitMQ, and the resource "jobs" is of type "kafka-topic" (write type: kafka)` + "\n"},
		{"type: kafka, group: g", "kafka-topic", `"host": "q.prod", "port": 9092, "name": "api-jobs"`, at + `the topic of the resource "jobs" is "api-jobs", and the queue is called "jobs" (write name: api-jobs)` + "\n"},
		{"type: kafka, group: g, sasl: plaintext", "kafka-topic", `"host": "q.prod", "port": 9092, "name": "jobs"`, at + `the resource "jobs" has no username and password to log in with (remove sasl, or name a resource that has them)` + "\n"},
		{"type: pubsub", "gcp-topic", `"host": "q.prod"`, at + `the resource "jobs" has no output "credentials" (known: host)` + "\n"},
	} {
		_, said := brokered(t, c.fields, c.kind, `{"outputs": {`+c.outputs+`}}`)
		require.Equal(t, c.said, said, "%s on %s", c.fields, c.kind)
	}
}

// Each scaler of KEDA reads its credentials from parameters of its own, and some from Secrets
// alone.
func TestTheCredentialsOfEachBroker(t *testing.T) {
	const login = `"sensitive": {"username": {"store": "kubernetes", "key": "q", "property": "user"}, "password": {"store": "kubernetes", "key": "q", "property": "pass"}}`
	const auth = `"auth":[{"parameter":"username","name":"q","key":"user"},{"parameter":"password","name":"q","key":"pass"}]`
	const at = "api.yaml:2:60: spec: metadata.replicas.queue"
	for _, c := range []struct{ fields, kind, result, queue, said string }{
		{"type: rabbitmq, tls: true", "amqp", `{"outputs": {"host": "q.prod", "port": 5672, "vhost": "shop"}, ` + login + `}`,
			`{"name":"jobs","tls":true,"type":"rabbitmq","address":"amqps://q.prod:5672",` + auth + `,"vhost":"shop"}`, ""},
		{"type: rabbitmq, vhost: own", "amqp", `{"outputs": {"host": "q.prod", "port": 5672, "vhost": "shop"}, ` + login + `}`,
			`{"name":"jobs","type":"rabbitmq","vhost":"own","address":"amqp://q.prod:5672",` + auth + `}`, ""},
		{"type: rabbitmq", "amqp", `{"outputs": {"host": "q.prod", "port": 5672, "vhost": "/"}}`, `{"name":"jobs","type":"rabbitmq","address":"amqp://q.prod:5672"}`, ""},
		{"type: rabbitmq", "amqp", `{"outputs": {"port": 5672}, "sensitive": {"host": {"key": "db", "property": "host"}}}`,
			`{"name":"jobs","type":"rabbitmq","auth":[{"parameter":"host","name":"api-scaling","key":"host"}],"secret":{"data":[{"secretKey":"jobs__host","remoteRef":{"key":"db","property":"host"}}],` +
				`"template":{"host":"amqp://{{ .jobs__host }}:5672"},"refreshInterval":"1h"}}`, ""},
		{"type: kafka, group: g, sasl: scram_sha512", "kafka", `{"outputs": {"host": "q.prod", "port": 9092}, ` + login + `}`,
			`{"group":"g","name":"jobs","sasl":"scram_sha512","type":"kafka","address":"q.prod:9092",` + auth + `}`, ""},
		{"type: sqs, region: r", "sqs", `{"sensitive": {"access_key_id": {"store": "kubernetes", "key": "q", "property": "id"}, "secret_key": {"store": "kubernetes", "key": "q", "property": "key"}}}`,
			`{"name":"jobs","region":"r","type":"sqs","auth":[{"parameter":"awsAccessKeyID","name":"q","key":"id"},{"parameter":"awsSecretAccessKey","name":"q","key":"key"}]}`, ""},
		{"type: pubsub", "pubsub", `{"sensitive": {"credentials": {"store": "kubernetes", "key": "q", "property": "json"}}}`,
			`{"name":"jobs","type":"pubsub","auth":[{"parameter":"GoogleApplicationCredentials","name":"q","key":"json"}]}`, ""},
		{"type: servicebus", "bus", `{"sensitive": {"connection_string": {"store": "kubernetes", "key": "q", "property": "c"}}}`,
			`{"name":"jobs","type":"servicebus","auth":[{"parameter":"connection","name":"q","key":"c"}]}`, ""},
		{"type: redis", "redis", `{"outputs": {"host": "q.prod", "port": 1, "username": "default", "password": ""}}`, `{"name":"jobs","address":"q.prod:1"}`, ""},
		{"type: redis", "redis", `{"outputs": {"host": "q.prod", "port": 1}, "sensitive": {"password": {"store": "kubernetes", "key": "q", "property": "pass"}}}`,
			`{"name":"jobs","address":"q.prod:1","auth":[{"parameter":"password","name":"q","key":"pass"}]}`, ""},

		// What KEDA would refuse.
		{"type: kafka, group: g", "kafka", `{"outputs": {"host": "q.prod", "port": 9092}, ` + login + `}`, "",
			at + `.resource: the resource "jobs" has username and password, and how KEDA logs in with them is not known (write sasl: scram_sha512 beside resource, or the mechanism that it is)` + "\n"},
		{"type: rabbitmq", "amqp", `{"outputs": {"host": "q.prod", "port": 5672}, "sensitive": {"password": {"store": "kubernetes", "key": "q", "property": "pass"}}}`, "",
			at + `.resource: KEDA logs in to RabbitMQ with username and password, and the resource "jobs" has one of them (the provisioner must give both, or neither)` + "\n"},
		{"type: rabbitmq", "amqp", `{"outputs": {"host": "q.prod", "port": 5672, "username": "canary-7f3a"}, "sensitive": {"password": {"store": "kubernetes", "key": "q", "property": "pass"}}}`, "",
			at + `: the resource "jobs" gives its username as plain text, which the ScaledObject would show (the provisioner must give it as a sensitive output)` + "\n"},
		{"type: kafka, group: g", "kafka", `{"outputs": {"port": 9092}, "sensitive": {"host": {"key": "db", "property": "host"}}}`, "",
			at + `: the resource "jobs" gives its address as a secret, and KEDA reads it as plain text only (the provisioner must give it as a plain output)` + "\n"},
	} {
		queue, said := brokered(t, c.fields, c.kind, c.result)
		require.Equal(t, c.said, said, "%s on %s", c.fields, c.kind)
		require.NotContains(t, said, "canary-7f3a")
		if c.queue != "" {
			require.JSONEq(t, c.queue, queue)
		}
	}
}

// At a cloud KEDA has an account of its own, and the login of a broker for a laptop is public.
func TestAQueueWithoutCredentials(t *testing.T) {
	for fields, want := range map[string]string{
		"type: sqs, region: r":                   `{"name":"jobs","region":"r","type":"sqs","account":"aws"}`,
		"type: pubsub":                           `{"name":"jobs","type":"pubsub","account":"gcp"}`,
		"type: servicebus, namespace: acme-shop": `{"name":"jobs","namespace":"acme-shop","type":"servicebus","account":"azure-workload"}`,
		`type: rabbitmq, address: "q.a:1"`:       `{"name":"jobs","type":"rabbitmq","address":"amqp://q.a:1"}`,
	} {
		p, errs := Join(sources(t, "metadata: {name: api, replicas: {max: 5, queue: {name: jobs, "+fields+"}}}\n"), testConfig(), nil)
		require.Empty(t, errs)
		c := p.Compile("api")
		run(t, c, nil)
		compiled, errs := c.Finish()
		require.Empty(t, errs)
		v, _ := compiled.Input.Lookup(object.Fields("autoscaling", "queue"))
		require.JSONEq(t, want, string(v.JSON()))
	}
	q := queueing{Queue: &score.Queue{}}
	out := &generate.Queue{Address: literal("q.a:1", object.Pos{}), Credentials: []generate.Text{{Pieces: []generate.Piece{{Literal: "guest", Public: true}}}, {Pieces: []generate.Piece{{Literal: "guest", Public: true}}}}}
	q.addScheme(out)
	require.Equal(t, "amqp://guest:guest@q.a:1", out.Address.Plain())
	require.Empty(t, out.Credentials)
}

func TestAQueueOfAResourceThatIsNotThere(t *testing.T) {
	p, errs := Join(sources(t, "metadata: {name: api, replicas: {max: 5, queue: {name: jobs, resource: jobz}}}\nresources: {jobs: {type: redis}}\n"), testConfig(), testCatalog())
	require.Empty(t, errs)
	c := p.Compile("api")
	_, errs = run(t, c, map[string]resource.Answer{"jobs": answerOf(`{}`)})
	require.Empty(t, errs)
	_, errs = c.Finish()
	require.Equal(t, `api.yaml:2:72: spec: metadata.replicas.queue.resource: the workload "api" has no resource "jobz" (did you mean "jobs"?)`+"\n", messages(errs.Failures()))
}

// The secret of a queue is read from the store of the environment like any other, and is
// no configuration of the pods.
func TestTheSecretOfAQueueWantsAStoreAndReplacesNoPods(t *testing.T) {
	p, _ := Join(sources(t, scaled), testConfig(), testCatalog())
	c := p.Compile("api")
	run(t, c, map[string]resource.Answer{"jobs": answerOf(`{"outputs": {"host": "q.prod", "port": 6379}, ` + atStore + `}`)})
	compiled, errs := c.Finish()
	require.Empty(t, errs)
	require.Equal(t, 2, compiled.Secret.Line, "the store is not configured")
	_, hashed := compiled.Input.Get("hash")
	require.False(t, hashed)
	_, stored := compiled.Input.Get("store")
	require.True(t, stored)
}

// In a project without policies the calls of a workload stay open beside its rules, and
// those of others to it; no other workload has policies.
func TestRulesWithoutPoliciesKeepTheCallsOpen(t *testing.T) {
	p, errs := Join(sources(t,
		"metadata: {name: web}\nresources: {api: {type: service}}\n",
		"metadata: {name: api, network: {allowFrom: [], allowTo: [{cidr: 10.0.0.0/8}]}}\nservice: {ports: {http: {port: 80, targetPort: 8080}}}\nresources: {jobs: {type: service}}\n",
		"metadata: {name: jobs}\n",
	), testConfig(), testCatalog())
	require.Empty(t, errs)
	c := p.Compile("api")
	run(t, c, map[string]resource.Answer{"jobs": answerOf(`{}`)})
	r := c.resolve()
	require.Equal(t, []network.Peer{{Name: "web", Namespace: "prod", ServiceAccount: "web"}}, r.Network.Inbound)
	require.Equal(t, "jobs", r.Network.Outbound[0].Name)
	require.Zero(t, p.Compile("web").resolve().Network)
	require.Zero(t, p.Compile("jobs").resolve().Network)
}

func TestHostsOfRulesAreExternal(t *testing.T) {
	p, _ := reaching(t, "metadata: {name: api, network: {allowTo: [{host: \"*.example.com\", ports: [443, {port: 53, protocol: UDP}]}, {host: cache.example.com, ports: [1]}]}}\nresources: {cloud: {type: redis}}\n")
	c := p.Compile("api")
	run(t, c, map[string]resource.Answer{"cloud": answerOf(`{"outputs": {"host": "cache.example.com", "port": 6379}}`)})
	external := c.resolve().Network.External
	require.Len(t, external, 2, "a host is one, also where a resource leads there")
	require.Equal(t, "cloud cache.example.com", external[0].Name+" "+external[0].Host)
	require.Equal(t, []int{1, 6379}, targets(external[0].Ports))
	require.Equal(t, "any-example-com *.example.com", external[1].Name+" "+external[1].Host)
	require.Equal(t, "UDP", external[1].Ports[0].Protocol)
}
