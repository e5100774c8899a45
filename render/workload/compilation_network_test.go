// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
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
warning: web.yaml:7:44: spec: resources.gone: the workload "front/webs" is not in this project: the network policies allow the call on this side, and the other side is not checked (if it is elsewhere in the cluster, its pods need the label ropewalk.dev/workload: webs)
`, messages(errs))

	c := p.Compile("api")
	_, errs = run(t, c, map[string]resource.Answer{
		"web": answerOf(`{}`), "in": answerOf(`{}`), "self": answerOf(`{}`), "rr": answerOf(`{}`), "db": answerOf(postgresResult),
		"smtp": answerOf(`{"outputs": {"port": 587}}`), "cloud": answerOf(`{"outputs": {"host": "cache.example.com", "port": 6379}}`),
	})
	require.Empty(t, errs)
	r := c.resolve()
	self := network.Peer{Name: "api", Namespace: "prod", ServiceAccount: "api"}
	require.Equal(t, []string{"web"}, c.member.callers())
	require.Equal(t, []network.Peer{self, {Name: "web", Namespace: "front", ServiceAccount: "surfer"}}, r.Network.Inbound)
	require.Len(t, r.Network.Outbound, 1)
	require.Equal(t, "api", r.Network.Outbound[0].Name, "who calls itself is both sides")
	require.Equal(t, []network.Endpoint{{Host: "db-postgres.prod.svc.cluster.local", Port: 5432}}, r.Network.Backends)
	require.Equal(t, "[{cloud cache.example.com  [{  6379 6379 TCP}] <nil>  } {smtp smtp.example.com  [{  587 587 TCP}] <nil> api.yaml:10:3 resources.smtp}]", fmt.Sprint(r.Network.External))

	web := p.Compile("web").resolve()
	require.Len(t, web.Network.Outbound, 1, "a peer is one, however often it is named")
	require.Equal(t, "api", web.Network.Outbound[0].Name)
	require.Equal(t, 8080, web.Network.Outbound[0].Ports[0].Target)
	require.Empty(t, network.Openings(web.Routes, web.Config.Network.RoutesFrom))
}

func TestWithoutPoliciesNobodyIsAskedToAgree(t *testing.T) {
	p, errs := Join(sources(t, "metadata: {name: web}\nresources: {api: {type: service}}\n", "metadata: {name: api}\n"), testConfig(), testCatalog())
	require.Empty(t, errs)
	require.Zero(t, p.Compile("web").resolve().Network)
}

func TestAnUnknownTargetIsAWarningWhereThereIsAProject(t *testing.T) {
	web := "metadata: {name: web}\nresources: {apy: {type: service}}\n"
	_, errs := Join(sources(t, web), testConfig(), testCatalog())
	require.Empty(t, errs, "a single workload cannot know")
	_, errs = Join(sources(t, web, "metadata: {name: api}\n"), testConfig(), testCatalog())
	require.Equal(t, "warning: web.yaml:3:13: spec: resources.apy: the workload \"prod/apy\" is not in this project (did you mean \"api\"?)\n", messages(errs))
}

// reaching is a catalog and a project with all kinds of policy.
func reaching(t *testing.T, docs ...string) (*Project, object.Errors) {
	config := testConfig()
	config.Policies = []string{"cilium", "istio", "kubernetes"}
	var all []resource.Provisioner
	for i, kind := range []string{"service", "service-port", "endpoint", "external-service", "s3", "redis", "dns", "route", "environment"} {
		all = append(all, resource.Provisioner{Index: i, Type: kind})
	}
	p, errs := Join(sources(t, docs...), config, all)
	require.NoError(t, errs.Err())
	return p, errs
}

func TestEveryTypeThatNamesAWorkloadIsACall(t *testing.T) {
	for _, kind := range []string{"service", "service-port", "endpoint"} {
		api := "metadata: {name: api}\nservice: {ports: {http: {port: 80, targetPort: 8080}, grpc: {port: 90}}}\n"
		web := "metadata: {name: web}\nresources: {api: {type: " + kind + ", id: api}}\n"
		p, errs := reaching(t, web, api+"resources: {web: {type: "+kind+", metadata: {direction: inbound}}}\n")
		require.Empty(t, errs, kind)
		c := p.Compile("web")
		_, errs = run(t, c, map[string]resource.Answer{"api": answerOf(`{"outputs": {"url": "http://api.prod.svc.cluster.local:80", "host": "api.prod.svc.cluster.local", "port": 80}}`)})
		require.Empty(t, errs)
		out := c.resolve().Network
		require.Empty(t, out.Backends, "the port of the Service is not that of the pods")
		require.Empty(t, out.External)
		require.Len(t, out.Outbound, 1, kind)
		require.Equal(t, []int{90, 8080}, targets(out.Outbound[0].Ports))
		require.Equal(t, "web", p.Compile("api").resolve().Network.Inbound[0].Name)

		_, errs = reaching(t, web, api)
		require.Len(t, errs, 1)
		require.ErrorContains(t, errs[0], `the workload "api" does not let "web" in`)
	}
}

func TestACallerOutOfTheProjectIsLetInByItsAccount(t *testing.T) {
	config := testConfig()
	config.Policies = []string{"cilium", "istio"}
	p, errs := Join(sources(t, `
metadata: {name: web}
resources:
  one: {type: service, params: {workload: ops/one}, metadata: {direction: inbound}}
  two: {type: service, params: {workload: ops/two, account: runner}, metadata: {direction: inbound}}
  three: {type: service, params: {workload: ops/three, account: "${metadata.name}"}}
  bad: {type: service, params: {workload: ops/bad, account: "*"}, metadata: {direction: inbound}}
  self: {type: service, params: {workload: web, account: other}}
`), config, testCatalog())
	for _, want := range []string{
		"its pods need the label ropewalk.dev/workload: one and the service account one, unless params.account names another one)",
		"its pods need the service account runner)",
		"its pods need the service account web)",
		`web.yaml:7:61: spec: resources.bad.params.account: "*" is not the name of a ServiceAccount: expected a-z, 0-9, a dash and a dot`,
		`web.yaml:8:58: spec: resources.self.params.account: the workload "web" is in this project, which has its account (remove account)`,
	} {
		require.Contains(t, messages(errs), want)
	}
	require.Contains(t, p.byName["web"].network.Inbound, network.Peer{Name: "one", Namespace: "ops"})
	require.Contains(t, p.byName["web"].network.Inbound, network.Peer{Name: "two", Namespace: "ops", ServiceAccount: "runner", Unlabelled: true})
}

func targets(ports []score.Port) []int {
	var out []int
	for _, p := range ports {
		out = append(out, p.Target)
	}
	return out
}

func TestAWorkloadOutOfTheProjectIsCalledWhereThisSideSaysSo(t *testing.T) {
	p, errs := reaching(t, `
metadata: {name: web}
resources:
  bill: {type: service, params: {workload: billing/api, port: 8443}, metadata: {direction: outbound}}
  all: {type: service, params: {workload: ops/api}}
  both: {type: service, params: {workload: ops/api, port: 1}}
  prom: {type: service, params: {workload: monitoring/prometheus}, metadata: {direction: inbound}}
`)
	require.Len(t, errs, 4)
	require.Equal(t, `web.yaml:4:44: spec: resources.bill: the workload "billing/api" is not in this project: `+
		`the network policies allow the call on this side, and the other side is not checked (if it is elsewhere in the cluster, its pods need the label ropewalk.dev/workload: api)`, errs[0].Error())
	c := p.Compile("web")
	_, errs = run(t, c, map[string]resource.Answer{
		"bill": answerOf(`{"outputs": {"host": "api.billing.svc.cluster.local", "port": 8443}}`), "all": answerOf(`{}`), "both": answerOf(`{}`), "prom": answerOf(`{}`),
	})
	require.Empty(t, errs)
	out := c.resolve().Network
	require.Equal(t, []network.Peer{{Name: "prometheus", Namespace: "monitoring"}}, out.Inbound)
	require.Equal(t, "[{api billing  false [{  8443 8443 TCP}]} {api ops  false []}]", fmt.Sprint(out.Outbound))
	require.Empty(t, p.byName["web"].network.Outbound, "a compilation leaves the project as it is")
}

func TestAHostIsInTheClusterOrOutsideOrAnAddress(t *testing.T) {
	for _, c := range []struct{ name, kind, outputs, want string }{
		{"a Service of the namespace", "redis", `"host": "cache", "port": 6379`, "[{cache 6379}] []"},
		{"a Service and its namespace", "redis", `"host": "redis.data", "port": 6379`, "[{redis.data 6379}] []"},
		{"a namespace of the project that looks like the internet", "redis", `"host": "redis.dev", "port": 6379`, "[{redis.dev 6379}] []"},
		{"a short name of the internet", "redis", `"host": "example.com", "port": 6379`, "[] [{xx example.com  6379/TCP}]"},
		{"a short name that an author calls external", "external-service", `"host": "example.shop", "port": 443`, "[] [{xx example.shop  443/TCP}]"},
		{"without the domain of the cluster", "external-service", `"host": "a.b.svc", "port": 80`, "[{a.b.svc 80}] []"},
		{"an address", "external-service", `"host": "192.0.2.7", "port": 53, "protocol": "udp"`, "[] [{xx 192.0.2.7 192.0.2.7/32 53/UDP}]"},
		{"an address of IPv6", "redis", `"host": "[2001:db8::1]", "port": 6379`, "[] [{xx 2001:db8::1 2001:db8::1/128 6379/TCP}]"},
		{"the pod itself", "redis", `"host": "127.0.0.1", "port": 6379`, "[] []"},
		{"a URL with a port", "environment", `"url": "https://[2001:db8::1]:8443/x"`, "[] [{xx 2001:db8::1 2001:db8::1/128 8443/TCP}]"},
		{"a URL that leads into the cluster", "s3", `"endpoint": "http://minio.data.svc.cluster.local:9000"`, "[{minio.data.svc.cluster.local 9000}] []"},
		{"a bucket", "s3", `"bucket": "b", "endpoint": "https://s3.eu-west-1.amazonaws.com"`,
			"[] [{xx s3.eu-west-1.amazonaws.com  443/TCP} {xx-" + object.ShortHash("b.s3.eu-west-1.amazonaws.com") + " b.s3.eu-west-1.amazonaws.com  443/TCP}]"},
		{"an endpoint that is no workload", "endpoint", `"url": "https://pay.example.com"`, "[] [{xx pay.example.com  443/TCP}]"},
		{"the name of its own route", "dns", `"host": "web.example.com", "url": "https://web.example.com"`, "[] []"},
		{"no URL at all", "environment", `"url": "${x}", "endpoint": "mailto:a@b.example"`, "[] []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := reaching(t, "metadata: {name: web}\nresources: {xx: {type: "+c.kind+"}}\n", "metadata: {name: db, namespace: dev}\n")
			compilation := p.Compile("web")
			_, errs := run(t, compilation, map[string]resource.Answer{"xx": answerOf(`{"outputs": {` + c.outputs + `}}`)})
			require.Empty(t, errs)
			out := compilation.resolve().Network
			var hosts []string
			for _, e := range out.External {
				hosts = append(hosts, fmt.Sprintf("{%s %s %s %d/%s}", e.Name, e.Host, e.CIDR, e.Ports[0].Target, e.Ports[0].Protocol))
			}
			var backends []string
			for _, b := range out.Backends {
				backends = append(backends, fmt.Sprintf("{%s %d}", b.Host, b.Port))
			}
			require.Equal(t, c.want, fmt.Sprint(backends, hosts))
		})
	}
}

func TestAHostOfSeveralResourcesIsOne(t *testing.T) {
	p, _ := reaching(t, "metadata: {name: web}\nresources: {aa: {type: redis}, bb: {type: redis}}\n")
	c := p.Compile("web")
	run(t, c, map[string]resource.Answer{
		"aa": answerOf(`{"outputs": {"host": "r.example.com", "port": 2}}`), "bb": answerOf(`{"outputs": {"host": "r.example.com", "port": 1}}`),
	})
	out := c.resolve().Network.External
	require.Len(t, out, 1)
	require.Equal(t, []int{1, 2}, targets(out[0].Ports))
}

// A route opens its own port and no other, to those who bring its requests.
func TestARouteOpensThePortThatItLeadsTo(t *testing.T) {
	gateway := func(parents, port string) string {
		return `{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": {"parentRefs": [` + parents + `], "rules": [{"backendRefs": [{"name": "web", "port": ` + port + `}]}]}}`
	}
	ingress := `{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"rules": [{"http": {"paths": [{"backend": {"service": {"name": "web", "port": {"name": "admin"}}}}]}}]}}`
	for _, c := range []struct{ name, first, second, from, want string }{
		{"of a gateway whose namespace is known", gateway(`{"name": "g", "namespace": "gw"}`, "80"), "", "", "8080@gw"},
		{"of a gateway whose namespace is not known", gateway(`{"name": "g"}`, "80"), "", "", "8080@"},
		{"by an Ingress", ingress, "", "", "9090@"},
		{"by an Ingress whose controller is known", ingress, "", "ingress", "9090@ingress"},
		{"of both", gateway(`{"name": "g", "namespace": "gw"}`, "80"), ingress, "", "9090@ 8080@gw"},
		{"of two, one of which is open to all", gateway(`{"name": "g", "namespace": "gw"}`, "80"), gateway(`{"name": "g"}`, "80"), "", "8080@"},
		{"by Traefik", `{"apiVersion": "traefik.io/v1alpha1", "kind": "IngressRoute", "spec": {"routes": [{"services": [{"name": "web", "port": 80}]}]}}`, "", "", "8080@"},
		{"by Istio", `{"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "spec": {"http": [{"route": [{"destination": {"host": "web.prod.svc", "port": {"number": 90}}}]}]}}`, "", "", "9090@"},
		{"whose objects say nothing", `{"apiVersion": "v1", "kind": "ConfigMap"}`, "", "", "8080@"},
		{"to another workload", gateway(`{"name": "g"}`, "80"), "", "other", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := "metadata: {name: web}\nservice: {ports: {http: {port: 80, targetPort: 8080}, admin: {port: 90, targetPort: 9090}}}\nresources: {aa: {type: route}, bb: {type: route}}\n"
			p, _ := reaching(t, doc)
			answers := map[string]resource.Answer{}
			for name, text := range map[string]string{"aa": c.first, "bb": c.second} {
				if c.from == "other" {
					text = strings.ReplaceAll(text, `"name": "web"`, `"name": "api"`)
				}
				if text != "" {
					o, err := object.Decode([]byte(text))
					require.NoError(t, err)
					answers[name] = resource.Answer{Result: []byte(`{}`), Nodes: []*object.Node{{ID: object.ID("web/" + name), Object: o}}}
				}
			}
			compilation := p.Compile("web")
			_, errs := run(t, compilation, answers)
			require.Empty(t, errs)
			r := compilation.resolve()
			if c.from != "other" {
				r.Config.Network.RoutesFrom = c.from
			}
			var got []string
			for _, o := range network.Openings(r.Routes, r.Config.Network.RoutesFrom) {
				got = append(got, fmt.Sprintf("%d@%s", o.Port.Target, o.Namespace))
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}
