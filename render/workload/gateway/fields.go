// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

type (
	// Field is a field of the document, and the targets that can do it.
	Field = document.Field
	// Set is a set of targets, one bit for each of [Targets].
	Set = document.Set
)

// only returns a value that only the targets of by can do.
func only(name string, by Set) document.Choice { return document.Choice{Name: name, By: by} }

func choices(names ...string) []document.Choice { return document.Choices(names...) }

// Short forms of the kinds, for the table.
const (
	list   = object.KindList
	text   = object.KindString
	number = object.KindNumber
	truth  = object.KindBool
	fields = object.KindMap
)

// Table returns the table of a Gateway.
func Table() document.Document {
	return kinds.Whole("Gateway", "Leads requests from outside to workloads.", kinds.Metadata(), Field{
		Name: "spec", Kind: fields, Need: true, Fields: append(Fields(),
			kinds.CueRef("module", "a module in place of the embedded one, as cueRef of a Transform"), kinds.DependsOn()),
	}, kinds.Status())
}

// Fields returns the fields of the spec of a Gateway, without those that are read before an
// environment is merged over it.
func Fields() []Field {
	all := append([]Field{
		{Name: "target", Kind: text, Need: true, Values: choices(Targets()...), Other: haproxyHint, Doc: "what receives the requests"},
		{Name: "class", Kind: text, Rule: name.of(), Doc: "ingress class or GatewayClass; default `haproxy` for both HAProxies, `eg` for envoy-gateway, none for traefik; needed for gateway-api without `gateway`"},
		{Name: "gateway", Kind: fields, By: gateways, Doc: "a Gateway object that is there already; without it one is made", Fields: []Field{
			{Name: "name", Kind: text, Need: true, Rule: name.of()},
			{Name: "namespace", Kind: text, Rule: label.of()},
			{Name: "listener", Kind: text, Rule: name.of(), Doc: "name of one of its listeners"},
		}},
		{Name: "hosts", Kind: list, Rule: host.of(), Doc: "hosts of all routes; every host where there are none; `*.` may come first"},
		{Name: "tls", Kind: fields, Doc: "certificate of the hosts, in a Secret that is there, or that cert-manager makes for an issuer", Fields: []Field{
			{Name: "secret", Kind: text, Rule: name.of()},
			{Name: "issuer", Kind: fields, Fields: []Field{
				{Name: "name", Kind: text, Need: true, Rule: name.of()},
				{Name: "kind", Kind: text, Values: choices("ClusterIssuer", "Issuer"), Doc: "default ClusterIssuer"},
			}},
			{Name: "redirect", Kind: truth, Doc: "send requests without TLS to https; default true"},
		}},
		{Name: "routes", Kind: list, Need: true, Fields: append([]Field{
			{Name: "path", Kind: text, Need: true, Rule: urlPath.of(), Doc: "path of the requests"},
			{Name: "pathType", Kind: text, Values: choices("Prefix", "Exact"), Doc: "default Prefix: whole parts of the path, so that /api is not /apis"},
			{Name: "hosts", Kind: list, Rule: host.of(), Doc: "in place of the hosts of the Gateway"},
			{Name: "to", Kind: fields, NeedBy: ingresses, Doc: "where the requests go; may be absent with `redirect`, but not for the HAProxies", Fields: []Field{
				{Name: "workload", Kind: text, Need: true, Rule: label.of(), Doc: "a workload of the project"},
				{Name: "port", Kind: number, Text: true, Doc: "name or number of a port of its service; may be absent where it has one, or one called http"},
			}},
			{Name: "redirect", Kind: fields, Doc: "answer with another address", Fields: []Field{
				{Name: "scheme", Kind: text, NeedBy: jc, Values: choices("http", "https")},
				{Name: "host", Kind: text, NeedBy: jc, Rule: exactHost.of()},
				{Name: "path", Kind: text, NeedBy: jc, Rule: newPath.of(), By: all &^ ht},
				{Name: "status", Kind: number, Doc: "default 302", Values: []document.Choice{
					only("301", all&^jc), only("302", all), only("303", ht|gateways), only("307", gateways), only("308", gateways),
				}},
			}},
			{Name: "rewrite", Kind: fields, Doc: "change the path before the workload sees it", Fields: []Field{
				{Name: "path", Kind: text, Rule: newPath.of(), By: all &^ jc, Doc: "in place of the complete path"},
				{Name: "prefix", Kind: text, Rule: newPath.of(), Doc: "in place of the path of the route"},
			}},
		}, settings()...)},
	}, settings()...)
	return requireFilled(all)
}

// requireFilled returns the fields, in which no map and no list may be empty and no text may
// stand twice in a list.
func requireFilled(all []Field) []Field {
	for i, f := range all {
		if f.Kind == list || f.Kind == fields {
			all[i].Least = 1
			all[i].Unique = f.Kind == list && f.Fields == nil
			all[i].Fields = requireFilled(f.Fields)
		}
	}
	return all
}

// haproxyHint returns what to do about a target that could be either HAProxy, or "" for any other
// text.
func haproxyHint(text string) string {
	if !strings.HasPrefix(text, "haproxy") {
		return ""
	}
	return "HAProxy has two controllers with different annotations: " + Haproxytech +
		" is haproxytech/kubernetes-ingress, " + Jcmoraisjr + " is jcmoraisjr/haproxy-ingress"
}

// settings returns the fields that stand in a route, or beside routes as the default of all.
func settings() []Field {
	header := func(name string, by Set) Field {
		return Field{Name: name, Kind: fields, Names: headerName.of(), Rule: headerValue.of(), By: by}
	}
	remove := Field{Name: "remove", Kind: list, Rule: headerName.of(), By: tr | gateways}
	return []Field{
		{Name: "rateLimit", Kind: fields, Off: true, By: all &^ gw, Doc: "answers 429 above it", Fields: []Field{
			{Name: "requests", Kind: number, Need: true, Rule: positive.of()},
			{Name: "per", Kind: text, Values: []document.Choice{only("second", 0), only("minute", ht|tr|eg)}, Doc: "default second"},
			{Name: "by", Kind: text, Usual: "client", Values: []document.Choice{only("client", ingresses|tr), only("all", eg)}, Doc: "what is counted: each client address (default), or all clients of one proxy together"},
			{Name: "burst", Kind: number, Rule: positive.of(), By: ht | tr, Doc: "requests at once; default that of `requests`"},
		}},
		{Name: "cors", Kind: fields, Off: true, Doc: "pages of other origins that browsers let call", Fields: []Field{
			{Name: "allowOrigins", Kind: list, Need: true, Rule: origin.of(), Doc: "`https://a.example`, `https://*.a.example`, or only `*`"},
			{Name: "allowMethods", Kind: list, Rule: method.of(), Doc: "default GET, HEAD, POST"},
			{Name: "allowHeaders", Kind: list, Rule: headerName.of(), Doc: "default Accept, Content-Type"},
			{Name: "exposeHeaders", Kind: list, Rule: headerName.of(), By: all &^ ht},
			{Name: "allowCredentials", Kind: truth, Doc: "default false"},
			{Name: "maxAge", Kind: number, Rule: seconds.of(), Doc: "seconds; default 5"},
		}},
		{Name: "auth", Kind: fields, Off: true, By: all &^ gw, Doc: "how a client proves what it is", Fields: []Field{
			{Name: "type", Kind: text, Need: true, Values: []document.Choice{only("basic", all&^gw), only("api-key", jc|tr|eg), only("oauth2", jc|tr|eg), only("jwt", eg)}},
			{Name: "secret", Kind: text, Rule: name.of(), Doc: "name of a Secret, in the shape of the target (see below)"},
			{Name: "realm", Kind: text, Rule: headerValue.of(), By: ingresses | tr},
			{Name: "header", Kind: text, Sensitive: true, Rule: headerName.of(), By: jc | tr | eg, Doc: "header with the API key"},
			{Name: "proxy", Kind: text, Rule: webURL.of(), By: jc | tr, Doc: "address at which an oauth2-proxy of yours, or a service that knows the API keys, checks a request"},
			{Name: "signin", Kind: text, Rule: webURL.of(), By: jc | tr, Doc: "where a client without a session is sent"},
			{Name: "issuer", Kind: text, Rule: httpsURL.of(), By: jc | tr | eg, Doc: "of OpenID Connect, or of the tokens; with jcmoraisjr and traefik an oauth2-proxy is made that logs clients in"},
			{Name: "clientID", Kind: text, Rule: headerValue.of(), By: jc | tr | eg},
			{Name: "scopes", Kind: list, Rule: headerValue.of(), By: jc | tr | eg},
			{Name: "redirectURL", Kind: text, Rule: webURL.of(), By: eg, Doc: "where a login ends, below the path of the route; default /oauth2/callback of its host"},
			{Name: "audiences", Kind: list, Rule: headerValue.of(), By: eg},
			{Name: "jwks", Kind: text, Rule: httpsURL.of(), By: eg, Doc: "address of the keys that sign the tokens"},
		}},
		{Name: "timeouts", Kind: fields, Off: true, Fields: []Field{
			{Name: "request", Kind: text, Rule: duration.of(), By: gateways, Doc: "of the complete request and its answer"},
			{Name: "idle", Kind: text, Rule: duration.of(), By: ingresses | eg, Doc: "how long a workload may be silent"},
			{Name: "connect", Kind: text, Rule: duration.of(), By: jc | tr | eg, Doc: "of the connection to the workload"},
		}},
		{Name: "retries", Kind: fields, Off: true, By: tr | eg, Fields: []Field{
			{Name: "attempts", Kind: number, Need: true, Rule: positive.of(), Doc: "after the first, where the workload cannot be reached"},
		}},
		{Name: "headers", Kind: fields, Off: true, Fields: []Field{
			{Name: "request", Kind: fields, Fields: []Field{header("set", all), header("add", gateways), remove}},
			{Name: "response", Kind: fields, By: all &^ jc, Fields: []Field{header("set", all&^jc), header("add", gateways), remove}},
		}},
		{Name: "bodySize", Kind: text, Text: true, Off: true, Rule: size.of(), By: jc | tr | eg, Doc: "of the body of a request at most, such as 10Mi"},
		{Name: "allowIPs", Kind: list, Off: true, Rule: cidr.of(), By: all &^ gw, Doc: "addresses of clients, such as 10.0.0.0/8; all others get 403"},
	}
}
