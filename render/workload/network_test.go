// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCallsAreAllowedWhereBothSidesAgree(t *testing.T) {
	config := testConfig()
	config.Policies = []string{"cilium"}
	p, errs := Join(sources(t, `
metadata: {name: web, serviceAccount: surfer, namespace: front}
resources:
  api: {type: service}
  again: {type: service, params: {workload: prod/api}}
  jobs: {type: service}
  gone: {type: service, params: {workload: "${metadata.name}s"}}
`, `
metadata: {name: api}
service: {ports: {http: {port: 80, targetPort: 8080}}}
resources:
  web: {type: service, metadata: {direction: inbound}}
  in: {type: service, id: jobs, metadata: {direction: inbound}}
  self: {type: service, id: api}
  rr: {type: route}
  db: {type: postgres}
  smtp: {type: external-service, params: {host: smtp.example.com, port: 25}}
  cloud: {type: redis}
`, `
metadata: {name: jobs}
`), config, testCatalog())
	require.NoError(t, errs.Err())
	require.Equal(t, `warning: api.yaml:6:27: spec: resources.in: the workload "jobs" does not call "api", so the network policies do not allow the call (give "jobs" a resource of type service with direction: outbound and params.workload: api)
warning: web.yaml:6:3: spec: resources.jobs: the workload "jobs" does not let "web" in, so the network policies do not allow the call (give "jobs" a resource of type service with direction: inbound and params.workload: web)
warning: web.yaml:7:44: spec: resources.gone: the workload "front/webs" is not in this project, so the network policies do not allow the call (if it is elsewhere in the cluster, nothing checks that it is there)
`, told(errs))

	c := p.Compile("api")
	_, errs = run(t, c, map[string]Answer{
		"web": answerOf(`{}`), "in": answerOf(`{}`), "self": answerOf(`{}`), "rr": answerOf(`{}`), "db": answerOf(postgresResult),
		"smtp": answerOf(`{"outputs": {"port": 587}}`), "cloud": answerOf(`{"outputs": {"host": "cache.example.com", "port": 6379}}`),
	})
	require.Empty(t, errs)
	r := c.resolve()
	require.True(t, r.routed)
	require.Equal(t, []peer{{name: "web", namespace: "front", serviceAccount: "surfer"}}, r.network.inbound)
	require.Empty(t, r.network.outbound)
	require.Equal(t, []backend{{host: "db-postgres.prod.svc.cluster.local", port: 5432}}, r.network.backends)
	require.Equal(t, "[{cloud cache.example.com [{ { 0 0} 6379 6379 TCP}]} {smtp smtp.example.com [{ { 0 0} 587 587 TCP}]}]", fmt.Sprint(r.network.external))

	web := p.Compile("web").resolve()
	require.Len(t, web.network.outbound, 1, "a peer is one, however often it is named")
	require.Equal(t, "api", web.network.outbound[0].name)
	require.Equal(t, 8080, web.network.outbound[0].ports[0].Target)
	require.False(t, web.routed)
}

func TestWithoutPoliciesNobodyIsAskedToAgree(t *testing.T) {
	p, errs := Join(sources(t, "metadata: {name: web}\nresources: {api: {type: service}}\n", "metadata: {name: api}\n"), testConfig(), testCatalog())
	require.Empty(t, errs)
	require.Zero(t, p.Compile("web").resolve().network)
}

func TestAnUnknownTargetIsAWarningWhereThereIsAProject(t *testing.T) {
	web := "metadata: {name: web}\nresources: {apy: {type: service}}\n"
	_, errs := Join(sources(t, web), testConfig(), testCatalog())
	require.Empty(t, errs, "a single workload cannot know")
	_, errs = Join(sources(t, web, "metadata: {name: api}\n"), testConfig(), testCatalog())
	require.Equal(t, "warning: web.yaml:3:13: spec: resources.apy: the workload \"prod/apy\" is not in this project (did you mean \"api\"?)\n", told(errs))
}
