// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// document is a Gateway of a target; body is beside it below spec, and routes are those of
// the Gateway: a route for each, with a path and a workload of its own where it has none.
func document(name, target, body, routes string) string {
	return "apiVersion: ropewalk.dev/v1alpha1\nkind: Gateway\nmetadata: {name: " + name + "}\nspec:\n  target: " + target + "\n" + body + "  routes:\n" + routes
}

// params are those of a resource.
func params(pairs ...string) object.Value {
	out := generate.MapOf(object.Pos{})
	for i := 0; i < len(pairs); i += 2 {
		out.Members = append(out.Members, generate.StringMember(pairs[i], pairs[i+1], object.Pos{File: "slow.yaml", Line: 9, Column: 3}))
	}
	return out
}

// loginsOf returns the workloads that Gateways make, as they see them.
func loginsOf(gateways []*gateway.Gateway) []gateway.Workload {
	var out []gateway.Workload
	for _, l := range gateway.Logins(gateways) {
		out = append(out, gateway.Workload{Name: l.Name, Namespace: l.Namespace, Ports: []score.Port{{Name: "http", Port: 4180}}})
	}
	return out
}

// joined decodes and joins the Gateways of documents, with the workloads api and search of
// the namespaces shop and tools.
func joined(t *testing.T, documents ...string) (gateway.Project, []*gateway.Gateway, []string) {
	docs, err := spec.Parse([]spec.File{{Name: "g.yaml", Data: []byte(strings.Join(documents, "\n---\n"))}})
	require.NoError(t, err)
	var all []*gateway.Gateway
	var errs object.Errors
	for _, one := range docs.Transforms {
		g, more := gateway.Decode(one.Name, one.Pos, object.Context{Name: one.Name, Namespace: "shop"}, one.Input)
		all, errs = append(all, g), append(errs, more...)
	}
	out, more := gateway.Join(all, append(loginsOf(all), []gateway.Workload{
		{Name: "api", Namespace: "shop", Ports: []score.Port{{Name: "http", Port: 80, Target: 8080}, {Name: "admin", Port: 9000, Target: 9000}, {Name: "dns", Port: 53, Protocol: "UDP"}}},
		{Name: "search", Namespace: "tools", Ports: []score.Port{{Name: "web", Port: 80}}},
		{Name: "twoports", Namespace: "shop", Ports: []score.Port{{Name: "a", Port: 1}, {Name: "b", Port: 2}}},
		{Name: "worker", Namespace: "shop"},
		{Name: "resize", Namespace: "shop", Serverless: true, Ports: []score.Port{{Name: "http", Port: 80, Target: 8080}}},
		{Name: "slow", Namespace: "shop", Canary: true, Ports: []score.Port{{Name: "http", Port: 80}}, Resources: []score.Resource{
			{Type: score.Text{Value: "route"}, Params: params("host", "routed.example", "path", "/slow/")},
			{Type: score.Text{Value: "route"}, Params: params("host", "routed.example")},
			{Type: score.Text{Value: "route"}, Class: score.Text{Value: "internal"}, Params: params("host", "internal.example")},
			{Type: score.Text{Value: "dns"}, Params: params("host", "dns.example")},
			{Type: score.Text{Value: "route"}},
		}},
	}...), "broken")
	var texts []string
	for _, e := range append(errs, more...).Sorted() {
		texts = append(texts, e.Error())
	}
	return out, all, texts
}

// Every field wrong in turn, each with what is reported: the part of the document is that of
// a route, or of the spec beside routes where it begins with "spec".
func TestMistakesAreReportedAtTheirLine(t *testing.T) {
	cases, err := os.ReadFile("testdata/mistakes.txt")
	require.NoError(t, err)
	var out strings.Builder
	for line := range strings.Lines(string(cases)) {
		if strings.HasPrefix(line, "    ") || strings.TrimSpace(line) == "" || line[0] == '#' {
			if !strings.HasPrefix(line, "    ") {
				out.WriteString(line)
			}
			continue
		}
		out.WriteString(line)
		target, part, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		body, routes := "", "    - {"+part+"}\n"
		if in, ok := strings.CutPrefix(part, "spec "); ok {
			body, routes = "  "+strings.ReplaceAll(in, "; ", "\n  ")+"\n", "    - {path: /, to: {workload: api}}\n"
		}
		if !strings.HasPrefix(part, "path: ") && !strings.HasPrefix(part, "to: ") && !strings.HasPrefix(part, "spec ") {
			routes = "    - {path: /a, to: {workload: api}, " + part + "}\n"
		}
		if target == gateway.GatewayAPI && !strings.Contains(body, "gateway:") && !strings.Contains(body, "class") {
			body += "  class: own\n"
		}
		_, _, errs := joined(t, document("g", target, body, routes))
		require.NotEmpty(t, errs, line)
		for _, e := range errs {
			require.Regexp(t, "^g.yaml:[0-9]+:[0-9]+: spec: ", e)
			out.WriteString("    " + e + "\n")
		}
	}
	if os.Getenv("ROPEWALK_UPDATE") == "1" {
		require.NoError(t, os.WriteFile("testdata/mistakes.txt", []byte(out.String()), 0o600))
		return
	}
	require.Equal(t, string(cases), out.String(), "ROPEWALK_UPDATE=1 rewrites it")
}

// HTTP/3 is served at a number of TCP and of UDP; a route means that of TCP, whichever is first.
func TestANumberMeansThePortOfTCP(t *testing.T) {
	t.Parallel()
	docs, err := spec.Parse([]spec.File{{Name: "g.yaml", Data: []byte(document("g", gateway.GatewayAPI, "  class: own\n", "    - {path: /, to: {workload: web, port: 443}}\n"))}})
	require.NoError(t, err)
	one := docs.Transforms[0]
	g, errs := gateway.Decode(one.Name, one.Pos, object.Context{Name: one.Name, Namespace: "shop"}, one.Input)
	require.Empty(t, errs)
	ports := []score.Port{{Name: "quic", Port: 443, Protocol: "UDP"}, {Name: "https", Port: 443}}
	out, errs := gateway.Join([]*gateway.Gateway{g}, []gateway.Workload{{Name: "web", Namespace: "shop", Ports: ports}})
	require.Empty(t, errs)
	require.Equal(t, ports[1:], out.Ports["web"])
}

func TestGatewaysAreRelatedToEachOther(t *testing.T) {
	const api = "    - {path: /api, to: {workload: api}}\n"
	for name, c := range map[string]struct {
		documents []string
		want      []string
	}{
		"one path twice, once with a slash at its end": {
			[]string{document("a", "traefik", "", api+"    - {path: /api/, to: {workload: api}}\n")},
			[]string{`g.yaml:8:7: spec: spec.routes[1]: a second route for host *, path /api: only one of them receives requests (change the host or the path of one of them)`},
		},
		"one host of a route that has its own": {
			[]string{document("a", "traefik", "  hosts: [a.example, b.example]\n", api+"    - {path: /api, hosts: [c.example, b.example], to: {workload: api}}\n")},
			[]string{`g.yaml:9:7: spec: spec.routes[1]: a second route for host b.example, path /api: only one of them receives requests (change the host or the path of one of them)`},
		},
		"two Gateways": {
			[]string{document("b", "traefik", "  hosts: [a.example]\n", api), document("a", "traefik", "  hosts: [a.example, b.example]\n", api)},
			[]string{`g.yaml:8:7: spec: spec.routes[0]: a second route for host a.example, path /api: only one of them receives requests (change the host or the path of one of them)`},
		},
		"two Gateways of different classes": {
			[]string{document("b", "traefik", "  class: public\n", api), document("a", "traefik", "  class: internal\n", api)}, nil,
		},
		"another type or part of the path": {
			[]string{document("a", "traefik", "", api+"    - {path: /api, pathType: Exact, to: {workload: api}}\n    - {path: /, to: {workload: api}}\n    - {path: /api/v1, to: {workload: api}}\n")}, nil,
		},
		"a route that a workload asks for itself": {
			[]string{document("a", "traefik", "  hosts: [x.example, routed.example]\n", "    - {path: /slow, to: {workload: api}}\n    - {path: /, to: {workload: api}}\n")},
			[]string{
				`g.yaml:8:7: spec: spec.routes[0]: a resource of type route has host routed.example, path /slow too: only one of them receives requests (remove one of them, or change its host or its path)`,
				`g.yaml:9:7: spec: spec.routes[1]: a resource of type route has host routed.example, path / too: only one of them receives requests (remove one of them, or change its host or its path)`,
			},
		},
		"another path, an exact one, or a route of a class": {
			[]string{document("a", "traefik", "  hosts: [routed.example, internal.example, dns.example]\n", "    - {path: /slow, pathType: Exact, to: {workload: api}}\n    - {path: /, hosts: [internal.example, dns.example], to: {workload: api}}\n    - {path: /slow/x, to: {workload: api}}\n")}, nil,
		},
		"different settings of one Service, which has them once": {
			[]string{document("a", "jcmoraisjr", "  rateLimit: {requests: 10}\n", api+"    - {path: /b, to: {workload: api}, rateLimit: {requests: 20}}\n    - {path: /c, to: {workload: api}, rateLimit: {requests: 10}}\n    - {path: /d, to: {workload: api, port: admin}, rateLimit: false}\n")},
			[]string{`g.yaml:9:50: spec: spec.routes[1].rateLimit: the target jcmoraisjr has one rateLimit for all routes to a port of a workload, and another route has a different one (write the same in both, or set target: haproxytech or traefik)`},
		},
		"a workload with mistakes of its own": {
			[]string{document("a", "traefik", "", "    - {path: /, to: {workload: broken}}\n")}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, errs := joined(t, c.documents...)
			require.Equal(t, c.want, errs)
		})
	}
}

func TestJoinReturnsInputsAndPorts(t *testing.T) {
	ports := "    - {path: /, to: {workload: api}}\n    - {path: /admin, to: {workload: api, port: 9000}}\n"
	out, _, errs := joined(t, document("good", "traefik", "", ports), document("bad", "traefik", "  class: A_B\n", "    - {path: /x, to: {workload: twoports, port: b}}\n"),
		document("open", "traefik", "", "    - {path: /y, to: {workload: broken}}\n"))
	require.Len(t, errs, 1)
	require.Contains(t, out.Inputs, "good")
	require.NotContains(t, out.Inputs, "bad")
	require.NotContains(t, out.Inputs, "open", "its workload has no port yet")
	require.Equal(t, []string{"http", "admin"}, []string{out.Ports["api"][0].Name, out.Ports["api"][1].Name})
	require.Len(t, out.Ports["twoports"], 1)
}

func TestASettingOfARouteReplacesThatOfTheGateway(t *testing.T) {
	out, _, errs := joined(t, document("a", "traefik", "  rateLimit: {requests: 10, burst: 20}\n  allowIPs: [10.0.0.0/8]\n",
		"    - {path: /, to: {workload: api}}\n    - {path: /a, to: {workload: api}, rateLimit: {requests: 5}, allowIPs: false}\n"))
	require.Empty(t, errs)
	routes, _ := out.Inputs["a"].Get("routes")
	root, _ := routes.Get("root")
	a, _ := routes.Get("a")
	require.Contains(t, string(root.JSON()), `"rateLimit":{"burst":20,"requests":10}`)
	require.Contains(t, string(a.JSON()), `"rateLimit":{"requests":5}`)
	require.NotContains(t, string(a.JSON()), "allowIPs")
}

// The order of documents and of fields means nothing.
func TestInputsDoNotDependOnTheOrder(t *testing.T) {
	one := document("a", "traefik", "", "    - {path: /b, to: {workload: api}}\n    - {path: /a, to: {workload: api}}\n")
	two := document("b", "traefik", "  class: x\n", "    - {path: /, to: {workload: api}}\n")
	first, _, _ := joined(t, one, two)
	second, _, _ := joined(t, two, one)
	for name := range first.Inputs {
		require.Equal(t, string(first.Inputs[name].JSON()), string(second.Inputs[name].JSON()))
	}
}

func TestSecretsOfTheRenderHaveTheKeysThatTheTargetReads(t *testing.T) {
	const basic, key = "auth: {type: basic, secret: s}", "auth: {type: api-key, secret: s, header: X-Key}"
	oidc := `auth: {type: oauth2, issuer: "https://a.example", clientID: a, secret: s}`
	external := func(spec map[string]any) object.Object {
		return object.Object{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": map[string]any{"name": "e", "namespace": "shop"}, "spec": spec}
	}
	template := func(key string) object.Object {
		return external(map[string]any{"target": map[string]any{"name": "s", "template": map[string]any{"data": map[string]any{key: "{{ .x }}"}}}})
	}
	plain := func(namespace, field, key string) object.Object {
		return object.Object{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": namespace}, field: map[string]any{key: "canary"}}
	}
	for name, c := range map[string]struct {
		target, auth string
		object       object.Object
		want         string
	}{
		"a key for each user":              {"haproxytech", basic, plain("shop", "data", "bob"), ""},
		"the shape of another target":      {"haproxytech", basic, template("auth"), `has the key auth as jcmoraisjr reads it (for haproxytech: each key is the name of a user, its value a hash of crypt(3))`},
		"the key of jcmoraisjr":            {"jcmoraisjr", basic, template("auth"), ""},
		"the key of traefik":               {"traefik", basic, template("users"), ""},
		"traefik with a wrong key":         {"traefik", basic, plain("shop", "stringData", "auth"), `has no key users (for traefik: key users with lines of user:hash)`},
		"traefik with data of a store":     {"traefik", basic, external(map[string]any{"target": map[string]any{"name": "s"}, "data": []any{map[string]any{"secretKey": "password"}}}), `has no key users (for traefik: key users with lines of user:hash)`},
		"keys that are not known":          {"traefik", basic, external(map[string]any{"target": map[string]any{"name": "s"}, "dataFrom": []any{map[string]any{}}}), ""},
		"a Secret of another namespace":    {"traefik", basic, plain("other", "data", "auth"), ""},
		"envoy-gateway with a wrong key":   {"envoy-gateway", basic, template("users"), `has no key .htpasswd (for envoy-gateway: key .htpasswd with lines of user:hash)`},
		"API keys, a key for each client":  {"envoy-gateway", key, template("app"), ""},
		"a client secret with a wrong key": {"envoy-gateway", oidc, template("secret"), `has no key client-secret (for envoy-gateway: keys: client-secret)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, all, errs := joined(t, document("g", c.target, "", "    - {path: /, to: {workload: api}, "+c.auth+"}\n"))
			require.Empty(t, errs)
			var got string
			for _, e := range gateway.CheckSecrets(all, []*object.Node{{ID: "web/s", Object: c.object}}) {
				require.NotContains(t, e.Error(), "canary")
				_, got, _ = strings.Cut(e.Error(), "which web/s makes, ")
			}
			require.Equal(t, c.want, got)
		})
	}
}
