// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// released is a workload with a canary and routes, each as its object in JSON.
func released(t *testing.T, provider string, routes ...string) Resolved {
	r := plain()
	r.Config.CanaryProvider = provider
	r.Workload.Deploy = score.Deploy{Pos: at(61), Strategy: score.StrategyCanary}
	r.Containers[0].Spec.ReadinessProbe = fields(m{"httpGet": m{"port": 8080}})
	for i, text := range routes {
		o, err := object.Decode([]byte(text))
		require.NoError(t, err)
		name := fmt.Sprintf("way%d", i)
		r.Routes = append(r.Routes, network.Route{
			Resource: &score.Resource{Name: name, Pos: at(70 + i)}, Ports: r.Workload.Ports,
			Node: &object.Node{ID: object.MakeID("api", name), Object: o},
		})
	}
	return r
}

func httpRoute(host, path string) string {
	return `{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "api-way", "annotations": {"a": "b"}},
		"spec": {"parentRefs": [{"name": "public", "namespace": "gateways"}], "hostnames": ["` + host + `"],
		"rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "` + path + `"}}], "backendRefs": [{"name": "api", "port": 80}]}]}}`
}

func ingressOf(class string) string {
	return `{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "api-way"}, "spec": {"ingressClassName": "` + class + `"}}`
}

func TestTheProviderOfACanaryFollowsItsRoute(t *testing.T) {
	way := httpRoute("a.example", "/")
	for _, c := range []struct {
		name, provider string
		routes         []string
		want, warning  string
	}{
		{"without a route it is the mesh", "", nil, "istio", ""},
		{"a route of a gateway", "", []string{way}, "gatewayapi:v1", ""},
		{"an Ingress of nginx", "", []string{ingressOf("nginx")}, "nginx", ""},
		{"an Ingress of another class", "", []string{ingressOf("traefik")}, "istio", "Flagger shifts traffic by istio, and requests of this Ingress bypass it"},
		{"what the project says", "istio", []string{way}, "istio", "requests of this HTTPRoute bypass it"},
		{"a Service that is turned is behind every route", "kubernetes", []string{way, ingressOf("x")}, "kubernetes", ""},
		{"both kinds", "", []string{way, ingressOf("nginx")}, "gatewayapi:v1", "requests of this Ingress bypass it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			input, errs := Input(released(t, c.provider, c.routes...))
			require.NoError(t, errs.Err())
			provider, _ := input.Lookup(object.Fields("canary", "provider"))
			require.Equal(t, c.want, provider.Text)
			if c.warning == "" {
				require.Empty(t, errs)
				return
			}
			require.Contains(t, fmt.Sprint(errs), c.warning)
		})
	}
}

func TestFlaggerGetsWhatItNeedsOfItsProvider(t *testing.T) {
	for _, c := range []struct {
		name, provider string
		routes         []string
		want           string
	}{
		{"weights of a mesh", "linkerd", nil, `{"interval": "1m", "threshold": 5, "maxWeight": 50, "stepWeight": 10, "provider": "linkerd", "port": 80, "targetPort": 8080}`},
		{"as many intervals as steps", "kubernetes", nil, `{"interval": "1m", "threshold": 5, "iterations": 5, "provider": "kubernetes", "port": 80, "targetPort": 8080}`},
		{"an Ingress", "nginx", []string{ingressOf("any")}, `{"interval": "1m", "threshold": 5, "maxWeight": 50, "stepWeight": 10, "provider": "nginx", "port": 80, "targetPort": 8080,
			"ingressRef": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "api-way"}}`},
		{"the routes of one host", "", []string{httpRoute("a.example", "/"), httpRoute("a.example", "/b")},
			`{"interval": "1m", "threshold": 5, "maxWeight": 50, "stepWeight": 10, "provider": "gatewayapi:v1", "port": 80, "targetPort": 8080, "annotations": {"a": "b"},
			"gatewayRefs": [{"name": "public", "namespace": "gateways"}], "hosts": ["a.example"], "match": [{"uri": {"prefix": "/"}}, {"uri": {"prefix": "/b"}}]}`},
		{"the hosts of one path", "", []string{httpRoute("a.example", "/"), httpRoute("b.example", "/")},
			`{"interval": "1m", "threshold": 5, "maxWeight": 50, "stepWeight": 10, "provider": "gatewayapi:v1", "port": 80, "targetPort": 8080, "annotations": {"a": "b"},
			"gatewayRefs": [{"name": "public", "namespace": "gateways"}], "hosts": ["a.example", "b.example"], "match": [{"uri": {"prefix": "/"}}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			input, errs := Input(released(t, c.provider, c.routes...))
			require.NoError(t, errs.Err())
			canary, _ := input.Get("canary")
			require.JSONEq(t, c.want, string(canary.JSON()))
		})
	}
}

func TestACanaryThatFlaggerCouldNotRelease(t *testing.T) {
	way := httpRoute("a.example", "/")
	for _, c := range []struct {
		name, provider string
		routes         []string
		want           string
	}{
		{"a gateway without a route", "gatewayapi:v1", nil, "a canary by gatewayapi:v1 needs an HTTPRoute that leads to the port \"http\""},
		{"nginx without an Ingress", "nginx", []string{way}, "a canary by nginx needs one Ingress that leads to the port \"http\": there is none"},
		{"nginx with two", "nginx", []string{ingressOf("nginx"), ingressOf("nginx")}, `it has "way0", "way1"`},
		{"another host and another path", "", []string{way, httpRoute("b.example", "/b")}, `score.yaml:71:5: spec: resources.way1: Flagger makes the HTTPRoute of a canary itself, and cannot adopt this one: neither its host nor its path is that of "way0"`},
		{"another gateway", "", []string{way, strings.Replace(way, "public", "private", 1)}, `its gateway is not that of "way0"`},
		{"a filter", "", []string{strings.Replace(way, `"matches"`, `"filters": [], "matches"`, 1)}, "a rule of it has filters"},
		{"a filter of a backend", "", []string{strings.Replace(way, `"port": 80`, `"port": 80, "filters": []`, 1)}, "a backend of it has filters"},
		{"a header", "", []string{strings.Replace(way, `{"path"`, `{"headers": [], "path"`, 1)}, "it matches more than the path of a request"},
		{"a second Service", "", []string{strings.Replace(way, `{"name": "api", "port": 80}`, `{"name": "api", "port": 80}, {"name": "b", "port": 80}`, 1)}, "a rule of it leads to other Services too"},
		{"another field", "", []string{strings.Replace(way, `"rules"`, `"useDefaultGateways": "All", "rules"`, 1)}, "it has useDefaultGateways"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errs := Input(released(t, c.provider, c.routes...))
			require.Error(t, errs.Err())
			require.Contains(t, errs.Err().Error(), c.want)
		})
	}
}

// The routes that Flagger makes are not made twice, and what came after them is
// not lost.
func TestRoutesThatFlaggerMakesAreLeftOut(t *testing.T) {
	nodes := func(r Resolved) []*object.Node {
		out := []*object.Node{{ID: "api/after", DependsOn: []object.Dependency{{ID: "api/way0"}}}, {ID: "api/other"}}
		for _, way := range r.Routes {
			out = append(out, way.Node)
		}
		return out
	}
	r := released(t, "", httpRoute("a.example", "/"), ingressOf("x"))
	all := nodes(r)
	left := r.WithoutReplaced(all)
	require.Equal(t, []object.ID{"api/after", "api/other", "api/way1"}, []object.ID{left[0].ID, left[1].ID, left[2].ID})
	require.Equal(t, object.ID("api/canary"), left[0].DependsOn[0].ID)
	require.Equal(t, object.ID("api/way0"), all[0].DependsOn[0].ID, "what a cache may hold is left alone")

	r.Config.CanaryProvider = "istio"
	require.Len(t, r.WithoutReplaced(all), 4)
	r.Config.CanaryProvider, r.Workload.Deploy.Strategy = "", score.StrategyRolling
	require.Len(t, r.WithoutReplaced(all), 4)
}

func TestAPortThatFlaggerWouldLoseIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		port score.Port
		want string
	}{
		{"one number for both", score.Port{Name: "metrics", Port: 9090, Target: 9090, Protocol: "TCP"}, ""},
		{"another number outside", score.Port{Name: "metrics", Port: 90, Target: 9090, Protocol: "TCP"}, "it leads from 90 to 9090, and Flagger makes it 9090 (give port and targetPort one number, or write strategy: rolling)"},
		{"the target of the canary", score.Port{Name: "metrics", Port: 8080, Target: 8080, Protocol: "TCP"}, "it leads to 8080 as \"http\" does"},
		{"UDP", score.Port{Name: "metrics", Port: 9090, Target: 9090, Protocol: "UDP"}, "it is UDP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := released(t, "")
			c.port.Pos = at(31)
			r.Workload.Ports = append(r.Workload.Ports, c.port)
			_, errs := Input(r)
			if c.want == "" {
				require.NoError(t, errs.Err())
				return
			}
			require.ErrorContains(t, errs.Err(), "score.yaml:31:5: spec: service.ports.metrics: a workload with a canary cannot have this port: ")
			require.ErrorContains(t, errs.Err(), c.want)
			r.Workload.Deploy.Strategy = score.StrategyRolling
			_, errs = Input(r)
			require.NoError(t, errs.Err())
		})
	}
	r := released(t, "")
	r.Workload.Ports = append(r.Workload.Ports, score.Port{Name: "metrics", Pos: at(31), Port: 9090, Target: 9090, Protocol: "TCP"})
	r.Containers = append(r.Containers, worker())
	_, errs := Input(r)
	require.ErrorContains(t, errs.Err(), "it is in no container's ports, where Flagger reads it")
}
