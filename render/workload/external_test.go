// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// outsideWorld is a project with external services, whose provisioner is that of the given module.
func outsideWorld(t *testing.T, module string, docs ...string) (*Project, object.Errors) {
	t.Helper()
	config := testConfig()
	config.Policies = []string{"istio"}
	at := object.Pos{File: "ropewalk.yaml", Line: 9, Column: 5}
	config.ExternalServices = map[string]spec.ExternalService{
		"bank":  {Name: "bank", Pos: at, URL: "https://bank.example/v1", Host: "bank.example", Ports: []int{443}, Protocol: "https"},
		"bank2": {Name: "bank2", Pos: at, URL: "http://bank.example:80", Host: "bank.example", Ports: []int{80, 443}, Protocol: "http"},
		"clock": {Name: "clock", Pos: at, URL: "udp://192.0.2.7:123", Host: "192.0.2.7", Ports: []int{123, 124}, Protocol: "udp"},
		"half":  {Name: "half", Pos: at, Host: "half.example"},
		"rpc":   {Name: "rpc", Pos: at, URL: "grpc://rpc.example:9000", Host: "rpc.example", Ports: []int{9000}, Protocol: "grpc"},
		"ssh":   {Name: "ssh", Pos: at, URL: "tcp://192.0.2.8:22", Host: "192.0.2.8", Ports: []int{22}, Protocol: "tcp"},
	}
	return Join(sources(t, docs...), config, []resource.Provisioner{{Type: typeExternal, Name: module}, {Index: 1, Type: "redis", Name: module}})
}

// entriesOf returns what the workload calls outside of the cluster, with the ServiceEntries.
func entriesOf(t *testing.T, p *Project, name string, results map[string]resource.Answer) []string {
	t.Helper()
	c := p.Compile(name)
	_, errs := run(t, c, results)
	require.Empty(t, errs)
	var out []string
	for _, e := range c.resolve().Network.External {
		line := fmt.Sprintf("%s %s", e.Name, e.Host)
		for _, port := range e.Ports {
			line += fmt.Sprintf(" %d/%s", port.Port, port.Protocol)
		}
		if e.Entry != nil {
			line += " in " + e.Entry.Name
			for _, port := range e.Entry.Ports {
				line += fmt.Sprintf(" %d/%s", port.Port, port.Protocol)
			}
		}
		out = append(out, line)
	}
	return out
}

func answers(host string, names ...string) map[string]resource.Answer {
	out := map[string]resource.Answer{}
	for _, name := range names {
		out[name] = answerOf(`{"outputs": {"host": "` + host + `", "port": 443}}`)
	}
	return out
}

func TestTheFirstWorkloadOfANamespaceMakesTheServiceEntryOfAHost(t *testing.T) {
	p, errs := outsideWorld(t, spec.DefaultProvisioners, `
metadata: {name: zz, network: {allowTo: [{externalService: clock}, {externalService: rpc}]}}
resources: {bank: {type: external-service}}
`, `
metadata: {name: api}
resources: {pay: {type: external-service, id: bank2}, again: {type: external-service, id: bank}, own: {type: external-service, params: {host: bank.example}}}
`, `
metadata: {name: far, namespace: jobs}
resources: {pay: {type: external-service, id: bank2}}
`)
	require.Equal(t, []string{"ropewalk.yaml:9:5: spec: spec.workloads.externalServices.half: the service has no ports (write ports: [443], or those that it has)"}, texts(errs))

	// Services of one host have one entry, under the first name and with the ports of both.
	const entry = " in bank 443/TLS 80/HTTP"
	require.Equal(t, []string{"bank bank.example 80/TCP 443/TCP" + entry, "own bank.example 443/TCP"},
		entriesOf(t, p, "api", answers("bank.example", "pay", "again", "own")))
	require.Equal(t, []string{"bank bank.example 443/TCP in bank", "clock 192.0.2.7 123/UDP 124/UDP in clock", "rpc rpc.example 9000/TCP in rpc 9000/GRPC"},
		entriesOf(t, p, "zz", answers("bank.example", "bank")))
	require.Equal(t, []string{"bank bank.example 80/TCP 443/TCP" + entry}, entriesOf(t, p, "far", answers("bank.example", "pay")))
}

func TestAPlatformMakesExternalServicesItsOwnWay(t *testing.T) {
	web := `
metadata: {name: web}
resources: {bank: {type: external-service}, free: {type: external-service}}
`
	p, errs := outsideWorld(t, "platform", web)
	require.Len(t, errs, 1, "of the service without ports alone")
	c := p.Compile("web")
	requests := c.Next()
	require.Len(t, requests, 1)
	params, _ := requests[0].Input.Lookup(object.Fields("resources", "bank", "params"))
	require.JSONEq(t, `{"host": "bank.example", "port": 443, "protocol": "https", "url": "https://bank.example/v1"}`, string(params.JSON()))
	require.Equal(t, []string{"bank proxy.example 443/TCP"}, entriesOf(t, p, "web", answers("proxy.example", "bank")))
}

func TestAnExternalServiceIsDeclaredOrHasAHost(t *testing.T) {
	_, errs := outsideWorld(t, spec.DefaultProvisioners, `
metadata: {name: web, network: {allowTo: [{externalService: banc}]}}
resources:
  bank: {type: external-service, params: {host: "${metadata.name}.example"}}
  near: {type: external-service, id: bonk}
  none: {type: external-service}
  both: {type: external-service, id: rpc, params: {host: other.example}}
  half: {type: external-service}
`)
	const declare = "declare it under spec.workloads.externalServices of ropewalk.yaml"
	require.Equal(t, []string{
		"ropewalk.yaml:9:5: spec: spec.workloads.externalServices.half: the service has no ports (write ports: [443], or those that it has)",
		`web.yaml:2:61: spec: metadata.network.allowTo: the project declares no external service "banc" (did you mean "bank"? If not, ` + declare + ")",
		`web.yaml:5:38: spec: resources.near.id: the project declares no external service "bonk" (did you mean "bank"? If not, ` + declare + ", or write params.host)",
		`web.yaml:6:3: spec: resources.none: the project declares no external service "none" (` + declare + ", or write params.host)",
		`web.yaml:7:51: spec: resources.both.params: the project declares the external service "rpc", at ropewalk.yaml:9:5, so that it is the same for all (remove params, or write another id)`,
	}, texts(errs))
}

func TestLabelsOfPodsNarrowABackend(t *testing.T) {
	p, errs := outsideWorld(t, spec.DefaultProvisioners, `
metadata: {name: web}
resources:
  aa: {type: redis, params: {podLabels: {tier: b, app: redis}}}
  bb: {type: redis, params: {podLabels: {app: redis, tier: b}}}
  made: {type: redis, params: {podLabels: {app: mine}}}
  out: {type: redis, params: {podLabels: {app: redis}}}
  text: {type: redis, params: {podLabels: {app: 5}}}
`)
	require.Len(t, errs, 1)
	c := p.Compile("web")
	const inside = `{"outputs": {"host": "redis.data.svc", "port": 6379}}`
	_, errs = run(t, c, map[string]resource.Answer{
		"aa": answerOf(inside), "bb": answerOf(inside), "made": answerOf(inside, "server"),
		"out": answerOf(`{"outputs": {"host": "redis.example.com", "port": 6379}}`), "text": answerOf(`{"outputs": {"host": "other.data.svc", "port": 1}}`),
	})
	require.Empty(t, errs)
	var got []string
	for _, b := range c.resolve().Network.Backends {
		got = append(got, b.Host+" "+string(b.Labels.JSON()))
	}
	none := string(network.Endpoint{}.Labels.JSON())
	require.ElementsMatch(t, []string{"other.data.svc " + none, "redis.data.svc " + none, `redis.data.svc {"app":"redis","tier":"b"}`}, got)
	require.Equal(t, []string{
		"web.yaml:7:42: spec: resources.out.params.podLabels: podLabels are those of pods in the cluster, and the resource leads to none (remove them, or write params.host)",
		"web.yaml:8:43: spec: resources.text.params.podLabels: podLabels must be a map of texts (write {app: postgres}, or those that the pods have)",
	}, texts(c.errs.Sorted()))
}

func texts(errs object.Errors) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}
