// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

const (
	// login is auth that an oauth2-proxy is made for, and other that of another client.
	login = `auth: {type: oauth2, issuer: "https://login.example.com", clientID: shop, secret: shop-login}`
	other = `auth: {type: oauth2, issuer: "https://login.example.com", clientID: staff, secret: staff-login}`
	tls   = "  tls: {secret: shop-tls}\n"
)

// names returns the workloads that Gateways make.
func names(gateways []*gateway.Gateway) []string {
	var out []string
	for _, l := range gateway.Logins(gateways) {
		out = append(out, l.Name)
	}
	return out
}

func TestGatewaysShareALogin(t *testing.T) {
	t.Parallel()
	route := func(path, host, auth string) string {
		return "    - {path: " + path + ", hosts: [" + host + "], to: {workload: api}, " + auth + "}\n"
	}
	for name, c := range map[string]struct {
		documents []string
		want      []string
	}{
		"two routes of one host": {[]string{document("a", gateway.Traefik, tls, route("/", "a.example", login)+route("/x", "a.example", login))}, []string{"a-oauth2-proxy"}},
		"two hosts":              {[]string{document("a", gateway.Traefik, tls, route("/", "a.example", login)+route("/", "b.example", login))}, []string{"a-oauth2-proxy"}},
		"two Gateways":           {[]string{document("b", gateway.Traefik, tls, route("/", "b.example", login)), document("a", gateway.Jcmoraisjr, tls, route("/", "a.example", login))}, []string{"a-oauth2-proxy"}},
		"two Gateways and one host": {[]string{
			document("b", gateway.Traefik, tls, route("/b", "a.example", login)), document("a", gateway.Traefik, tls, route("/a", "a.example", login)),
		}, []string{"a-oauth2-proxy"}},
		"two clients":             {[]string{document("a", gateway.Traefik, tls, route("/", "a.example", login)+route("/", "b.example", other))}, []string{"a-oauth2-proxy-c83002d1", "a-oauth2-proxy-7a548f9f"}},
		"the default of all":      {[]string{document("a", gateway.Traefik, tls+"  "+login+"\n", "    - {path: /, to: {workload: api}}\n    - {path: /x, to: {workload: api}, auth: false}\n")}, []string{"a-oauth2-proxy"}},
		"one of the author's":     {[]string{document("a", gateway.Traefik, tls, route("/", "a.example", `auth: {type: oauth2, proxy: "http://own.shop:4180"}`))}, nil},
		"Envoy Gateway's own":     {[]string{document("a", gateway.EnvoyGateway, tls, route("/", "a.example", login))}, nil},
		"no auth where it is off": {[]string{document("a", gateway.Traefik, tls+"  "+login+"\n", "    - {path: /, to: {workload: api}, auth: false}\n")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, all, errs := joined(t, c.documents...)
			require.Empty(t, errs)
			require.Equal(t, c.want, names(all))
		})
	}
}

func TestALoginIsOpenAtEachHost(t *testing.T) {
	t.Parallel()
	out, _, errs := joined(t, document("web", gateway.Jcmoraisjr, tls+"  hosts: [shop.example.com]\n  rateLimit: {requests: 5}\n  cors: {allowOrigins: [\"https://a.example\"]}\n  "+login+"\n",
		"    - {path: /, to: {workload: api}}\n    - {path: /health, hosts: [open.example.com], to: {workload: api, port: admin}, auth: false}\n    - {path: /admin, hosts: [admin.example.com], to: {workload: api}}\n"))
	require.Empty(t, errs)
	at := func(path ...string) object.Value {
		v := out.Inputs["web"]
		for _, name := range path {
			v, _ = v.Get(name)
		}
		return v
	}

	// The entrance has the hosts that need it, and the settings of the Gateway but for auth and CORS.
	require.JSONEq(t, `{"path": "/oauth2", "exact": false, "hosts": ["shop.example.com", "admin.example.com"], "rateLimit": {"requests": 5},
		"service": {"name": "web-oauth2-proxy", "namespace": "shop", "port": 4180}}`, string(at("routes", "oauth2").JSON()))
	require.JSONEq(t, `{"type": "oauth2", "proxy": "svc://web-oauth2-proxy:4180/oauth2/auth", "signin": "/oauth2/start?rd=%[pathq,url_enc]", "headers": "X-Auth-Request-*"}`,
		string(at("routes", "admin", "auth").JSON()))
	require.Equal(t, object.KindNone, at("routes", "health", "auth").Kind)

	// The network of the workload is open for it.
	require.Equal(t, []score.Port{{Name: "http", Port: 4180}}, out.Ports["web-oauth2-proxy"])
}

// Traefik prefers a host to a wildcard whatever their paths are, so that they do not share a route.
func TestRoutesForEveryHostHaveALoginForEveryHost(t *testing.T) {
	t.Parallel()
	out, _, errs := joined(t, document("web", gateway.Traefik, tls, "    - {path: /, to: {workload: api}, "+login+"}\n    - {path: /, hosts: [a.example, \"*.example\"], to: {workload: api}, "+login+"}\n"))
	require.Empty(t, errs)
	routes, _ := out.Inputs["web"].Get("routes")
	var hosts []string
	for _, r := range routes.Members {
		if path, _ := r.Value.Get("path"); path.Text == "/oauth2" {
			all, _ := r.Value.Get("hosts")
			hosts = append(hosts, string(all.JSON()))
		}
	}
	require.ElementsMatch(t, []string{"null", `["a.example"]`, `["*.example"]`}, hosts)
}

func TestMistakesOfLoginsAreReportedAtTheirLine(t *testing.T) {
	t.Parallel()
	const api = "to: {workload: api}"
	for name, c := range map[string]struct {
		documents []string
		want      []string
	}{
		"two clients at one host": {
			[]string{document("a", gateway.Traefik, tls+"  hosts: [a.example]\n", "    - {path: /, "+api+", "+login+"}\n    - {path: /staff, "+api+", "+other+"}\n")},
			[]string{`g.yaml:10:49: spec: spec.routes[1].auth: a second login for the host a.example: its path /oauth2/ leads to one oauth2-proxy only (write the same issuer, clientID, secret and scopes, in Gateways of one namespace)`},
		},
		"other scopes at one host": {
			[]string{document("a", gateway.Traefik, tls+"  hosts: [a.example]\n", "    - {path: /, "+api+", "+login+"}\n    - {path: /staff, "+api+", "+login[:len(login)-1]+", scopes: [groups]}}\n")},
			[]string{`g.yaml:10:49: spec: spec.routes[1].auth: a second login for the host a.example: its path /oauth2/ leads to one oauth2-proxy only (write the same issuer, clientID, secret and scopes, in Gateways of one namespace)`},
		},
		"its path in another Gateway": {
			[]string{document("a", gateway.Traefik, tls+"  hosts: [a.example]\n  "+login+"\n", "    - {path: /, "+api+"}\n"), document("b", gateway.Traefik, "  hosts: [a.example]\n", "    - {path: /oauth2/, "+api+"}\n    - {path: /oauth2x, "+api+"}\n")},
			[]string{`g.yaml:20:14: spec: spec.routes[0].path: the oauth2-proxy needs all paths below /oauth2/ of the host a.example (change the path, or write proxy, the address of an oauth2-proxy of yours, in place of issuer, clientID and secret)`},
		},
		"its path at a host of its wildcard": {
			[]string{document("a", gateway.Jcmoraisjr, tls+"  hosts: [\"*.example\"]\n  "+login+"\n", "    - {path: /, "+api+"}\n    - {path: /oauth2/sign_in, hosts: [a.example], "+api+", auth: false}\n    - {path: /oauth2, hosts: [a.b.example], "+api+", auth: false}\n")},
			[]string{`g.yaml:11:14: spec: spec.routes[1].path: the oauth2-proxy needs all paths below /oauth2/ of the host *.example (change the path, or write proxy, the address of an oauth2-proxy of yours, in place of issuer, clientID and secret)`},
		},
		"no TLS": {
			[]string{document("a", gateway.Traefik, "  hosts: [a.example]\n", "    - {path: /, "+api+", "+login+"}\n")},
			[]string{`g.yaml:8:44: spec: spec.routes[0].auth: browsers send the cookie of a login over TLS only, and the Gateway has no tls (write tls, unless something before the target ends TLS)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, errs := joined(t, c.documents...)
			require.Equal(t, c.want, errs)
		})
	}
}

// Another target, and another class, have their own hosts.
func TestTargetsHaveTheirOwnEntrance(t *testing.T) {
	t.Parallel()
	route := "    - {path: /, to: {workload: api}, " + login + "}\n"
	out, _, errs := joined(t, document("a", gateway.Traefik, tls, route), document("b", gateway.Traefik, tls+"  class: inside\n", route),
		document("c", gateway.Traefik, tls+"  class: third\n", "    - {path: /oauth2, to: {workload: api}}\n"))
	require.Empty(t, errs)
	for _, name := range []string{"a", "b"} {
		routes, _ := out.Inputs[name].Get("routes")
		_, ok := routes.Get("oauth2")
		require.True(t, ok, name)
	}
}

func TestTheWorkloadOfALoginIsComplete(t *testing.T) {
	t.Parallel()
	_, all, errs := joined(t, document("web", gateway.Traefik, tls, `    - {path: /, to: {workload: api}, auth: {type: oauth2, issuer: "https://login.example.com:8443/realm", clientID: shop, secret: shop-login, scopes: [groups, email]}}`+"\n"))
	require.Empty(t, errs)
	doc := gateway.Logins(all)[0].Workload(true)
	require.Equal(t, spec.KindWorkload, doc.Kind)
	w, mistakes := score.Decode(score.Document{Value: doc.Value})
	require.Empty(t, mistakes)
	require.Equal(t, "shop", w.Namespace.Value)
	c := w.Containers[0]
	var args []string
	for _, a := range c.Args {
		args = append(args, a.Value)
	}
	require.Contains(t, args, "--oidc-issuer-url=https://login.example.com:8443/realm")
	require.Contains(t, args, "--scope=email groups openid")
	for _, s := range c.Secrets {
		require.Equal(t, []string{spec.ProviderLocal, "shop-login"}, []string{s.Provider, s.Secret})
	}

	// It may call the port of its issuer where the project closes networks, and has no rule else.
	require.Equal(t, 8443, w.Network.To[0].Ports[0].Port)
	open, mistakes := score.Decode(score.Document{Value: gateway.Logins(all)[0].Workload(false).Value})
	require.Empty(t, mistakes)
	require.Nil(t, open.Network)

	// What is wrong with it is wrong with auth.
	require.Equal(t, "spec.routes[0].auth", doc.Written(object.Errors{{Path: "spec.containers.proxy.image"}})[0].Path)
}
