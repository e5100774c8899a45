// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
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

// KEDA would look for a list of Redis at the address of a broker, and never find one.
func TestAQueueIsOnAServerOfLists(t *testing.T) {
	for _, c := range []struct {
		kind, outputs string
		good          bool
	}{
		{"redis", `"host": "q.prod", "port": 6379`, true},
		{"valkey", `"host": "q.prod", "port": 6379`, true},
		{"cache", `"host": "q.prod", "port": 6379, "url": "rediss://q.prod:6379/0"`, true},
		{"cache", `"host": "q.prod", "port": 6379`, false},
		{"amqp", `"host": "q.prod", "port": 5672, "url": "amqp://q.prod:5672"`, false},
		{"postgres", `"host": "q.prod", "port": 5432, "url": "postgres://q.prod:5432/jobs"`, false},
	} {
		p, errs := Join(sources(t, strings.Replace(scaled, "type: redis", "type: "+c.kind, 1)), testConfig(), []resource.Provisioner{{Type: c.kind}})
		require.Empty(t, errs)
		compilation := p.Compile("api")
		_, errs = run(t, compilation, map[string]resource.Answer{"jobs": answerOf(`{"outputs": {` + c.outputs + `}}`)})
		require.Empty(t, errs)
		_, errs = compilation.Finish()
		if c.good {
			require.Empty(t, errs, c.kind)
			continue
		}
		require.Equal(t, `api.yaml:2:80: spec: metadata.replicas.queue.resource: a queue is a list of Redis or Valkey, and the resource "jobs" is of type "`+c.kind+
			`" (name a resource of type redis or valkey, or one with an output url that begins with redis://; the triggers of other brokers are written by a workload module of the platform: spec.workloads.module)`+"\n",
			messages(errs))
	}
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
