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
	// Field is a field of the document, and the targets that support it.
	Field = document.Field
	// Set is a set of targets, one bit for each of [Targets].
	Set = document.Set
)

// choiceBy returns a value that only the targets in by support.
func choiceBy(name string, by Set) document.Choice { return document.Choice{Name: name, By: by} }

func choices(names ...string) []document.Choice { return document.Choices(names...) }

// Short forms of the kinds, for the table.
const (
	listKind   = object.KindList
	textKind   = object.KindString
	numberKind = object.KindNumber
	boolKind   = object.KindBool
	mapKind    = object.KindMap
)

// Table returns the table of a Gateway.
func Table() document.Document {
	return kinds.Whole("Gateway", "Leads requests from outside to workloads.", kinds.Metadata(), Field{
		Name: "spec", Kind: mapKind, Need: true, Fields: append(Fields(),
			kinds.CueRef("module", "a module in place of the embedded one, as cueRef of a Transform"), kinds.DependsOn()),
	}, kinds.Status())
}

// Fields returns the fields of the spec of a Gateway, without the fields that are read before an
// environment is merged over it.
func Fields() []Field {
	table := append([]Field{
		{Name: "target", Kind: textKind, Need: true, Values: choices(Targets()...), Other: haproxyHint, Doc: "what receives the requests"},
		{
			Name: "class", Kind: textKind, Rule: name.of(),
			Doc: "ingress class or GatewayClass; default `haproxy` for both HAProxies, `eg` for envoy-gateway, none for traefik; needed for gateway-api without `gateway`",
		},
		{Name: "gateway", Kind: mapKind, By: gateways, Doc: "a Gateway object that is there already; without it one is made", Fields: []Field{
			{Name: "name", Kind: textKind, Need: true, Rule: name.of()},
			{Name: "namespace", Kind: textKind, Rule: label.of()},
			{Name: "listener", Kind: textKind, Rule: name.of(), Doc: "name of one of its listeners"},
		}},
		{Name: "hosts", Kind: listKind, Rule: host.of(), Doc: "hosts of all routes; every host where there are none; `*.` may come first"},
		{Name: "tls", Kind: mapKind, Doc: "certificate of the hosts, in a Secret that is there, or that cert-manager makes for an issuer", Fields: []Field{
			{Name: "secret", Kind: textKind, Rule: name.of()},
			{Name: "issuer", Kind: mapKind, Fields: []Field{
				{Name: "name", Kind: textKind, Need: true, Rule: name.of()},
				{Name: "kind", Kind: textKind, Values: choices("ClusterIssuer", "Issuer"), Doc: "default ClusterIssuer"},
			}},
			{Name: "redirect", Kind: boolKind, Doc: "send requests without TLS to https; default true"},
		}},
		{Name: "routes", Kind: listKind, Need: true, Fields: append([]Field{
			{Name: "path", Kind: textKind, Need: true, Rule: urlPath.of(), Doc: "path of the requests"},
			{
				Name: "pathType", Kind: textKind, Values: choices("Prefix", "Exact"),
				Doc: "default Prefix: whole parts of the path, so that /api is not /apis",
			},
			{Name: "hosts", Kind: listKind, Rule: host.of(), Doc: "in place of the hosts of the Gateway"},
			{Name: "to", Kind: mapKind, NeedBy: ingresses, Doc: "where the requests go; may be absent with `redirect`, but not for the HAProxies", Fields: []Field{
				{Name: "workload", Kind: textKind, Need: true, Rule: label.of(), Doc: "a workload of the project"},
				{
					Name: "port", Kind: numberKind, Text: true,
					Doc: "name or number of a port of its service; may be absent where it has one, or one called http",
				},
			}},
			{Name: "redirect", Kind: mapKind, Doc: "answer with another address", Fields: []Field{
				{Name: "scheme", Kind: textKind, NeedBy: jc, Values: choices("http", "https")},
				{Name: "host", Kind: textKind, NeedBy: jc, Rule: exactHost.of()},
				{Name: "path", Kind: textKind, NeedBy: jc, Rule: newPath.of(), By: all &^ ht},
				{Name: "status", Kind: numberKind, Doc: "default 302", Values: []document.Choice{
					choiceBy("301", all&^jc), choiceBy("302", all), choiceBy("303", ht|gateways), choiceBy("307", gateways), choiceBy("308", gateways),
				}},
			}},
			{Name: "rewrite", Kind: mapKind, Doc: "change the path before the workload sees it", Fields: []Field{
				{Name: "path", Kind: textKind, Rule: newPath.of(), By: all &^ jc, Doc: "in place of the complete path"},
				{Name: "prefix", Kind: textKind, Rule: newPath.of(), Doc: "in place of the path of the route"},
			}},
		}, settings()...)},
	}, settings()...)
	return requireFilled(table)
}

// requireFilled returns the fields with rules that no map and no list may be empty, and no text may
// stand twice in a list.
func requireFilled(table []Field) []Field {
	for i, f := range table {
		if f.Kind == listKind || f.Kind == mapKind {
			table[i].Least = 1
			table[i].Unique = f.Kind == listKind && f.Fields == nil
			table[i].Fields = requireFilled(f.Fields)
		}
	}
	return table
}

// haproxyHint returns a hint for a target that could be either HAProxy, or "" for any other text.
func haproxyHint(text string) string {
	if !strings.HasPrefix(text, "haproxy") {
		return ""
	}
	return "HAProxy has two controllers with different annotations: " + Haproxytech +
		" is haproxytech/kubernetes-ingress, " + Jcmoraisjr + " is jcmoraisjr/haproxy-ingress"
}

// settings returns the fields that stand in a route, or beside routes as defaults of all routes.
func settings() []Field {
	header := func(name string, by Set) Field {
		return Field{Name: name, Kind: mapKind, Names: headerName.of(), Rule: headerValue.of(), By: by}
	}
	remove := Field{Name: "remove", Kind: listKind, Rule: headerName.of(), By: tr | gateways}
	return []Field{
		{Name: "rateLimit", Kind: mapKind, Off: true, By: all &^ gw, Doc: "answers 429 above it", Fields: []Field{
			{Name: "requests", Kind: numberKind, Need: true, Rule: positive.of()},
			{Name: "per", Kind: textKind, Values: []document.Choice{choiceBy("second", 0), choiceBy("minute", ht|tr|eg)}, Doc: "default second"},
			{
				Name: "by", Kind: textKind, Usual: "client", Values: []document.Choice{choiceBy("client", ingresses|tr), choiceBy("all", eg)},
				Doc: "what is counted: each client address (default), or all clients of one proxy together",
			},
			{Name: "burst", Kind: numberKind, Rule: positive.of(), By: ht | tr, Doc: "requests at once; default that of `requests`"},
		}},
		{Name: "cors", Kind: mapKind, Off: true, Doc: "pages of other origins that browsers let call", Fields: []Field{
			{Name: "allowOrigins", Kind: listKind, Need: true, Rule: origin.of(), Doc: "`https://a.example`, `https://*.a.example`, or only `*`"},
			{Name: "allowMethods", Kind: listKind, Rule: method.of(), Doc: "default GET, HEAD, POST"},
			{Name: "allowHeaders", Kind: listKind, Rule: headerName.of(), Doc: "default Accept, Content-Type"},
			{Name: "exposeHeaders", Kind: listKind, Rule: headerName.of(), By: all &^ ht},
			{Name: "allowCredentials", Kind: boolKind, Doc: "default false"},
			{Name: "maxAge", Kind: numberKind, Rule: seconds.of(), Doc: "seconds; default 5"},
		}},
		{Name: "auth", Kind: mapKind, Off: true, By: all &^ gw, Doc: "how a client proves what it is", Fields: []Field{
			{Name: "type", Kind: textKind, Need: true, Values: []document.Choice{choiceBy("basic", all&^gw), choiceBy("api-key", jc|tr|eg), choiceBy("oauth2", jc|tr|eg), choiceBy("jwt", eg)}},
			{Name: "secret", Kind: textKind, Rule: name.of(), Doc: "name of a Secret, in the shape of the target (see below)"},
			{Name: "realm", Kind: textKind, Rule: headerValue.of(), By: ingresses | tr},
			{Name: "header", Kind: textKind, Sensitive: true, Rule: headerName.of(), By: jc | tr | eg, Doc: "header with the API key"},
			{
				Name: "proxy", Kind: textKind, Rule: webURL.of(), By: jc | tr,
				Doc: "address at which an oauth2-proxy of yours, or a service that knows the API keys, checks a request",
			},
			{Name: "signin", Kind: textKind, Rule: webURL.of(), By: jc | tr, Doc: "where a client without a session is sent"},
			{
				Name: "issuer", Kind: textKind, Rule: httpsURL.of(), By: jc | tr | eg,
				Doc: "of OpenID Connect, or of the tokens; with jcmoraisjr and traefik an oauth2-proxy is made that logs clients in",
			},
			{Name: "clientID", Kind: textKind, Rule: headerValue.of(), By: jc | tr | eg},
			{Name: "scopes", Kind: listKind, Rule: headerValue.of(), By: jc | tr | eg},
			{
				Name: "redirectURL", Kind: textKind, Rule: webURL.of(), By: eg,
				Doc: "where a login ends, below the path of the route; default /oauth2/callback of its host",
			},
			{Name: "audiences", Kind: listKind, Rule: headerValue.of(), By: eg},
			{Name: "jwks", Kind: textKind, Rule: httpsURL.of(), By: eg, Doc: "address of the keys that sign the tokens"},
		}},
		{Name: "timeouts", Kind: mapKind, Off: true, Fields: []Field{
			{Name: "request", Kind: textKind, Rule: duration.of(), By: gateways, Doc: "of the complete request and its answer"},
			{Name: "idle", Kind: textKind, Rule: duration.of(), By: ingresses | eg, Doc: "how long a workload may be silent"},
			{Name: "connect", Kind: textKind, Rule: duration.of(), By: jc | tr | eg, Doc: "of the connection to the workload"},
		}},
		{Name: "retries", Kind: mapKind, Off: true, By: tr | eg, Fields: []Field{
			{Name: "attempts", Kind: numberKind, Need: true, Rule: positive.of(), Doc: "after the first, where the workload cannot be reached"},
		}},
		{Name: "headers", Kind: mapKind, Off: true, Fields: []Field{
			{Name: "request", Kind: mapKind, Fields: []Field{header("set", all), header("add", gateways), remove}},
			{Name: "response", Kind: mapKind, By: all &^ jc, Fields: []Field{header("set", all&^jc), header("add", gateways), remove}},
		}},
		{
			Name: "bodySize", Kind: textKind, Text: true, Off: true, Rule: size.of(), By: jc | tr | eg,
			Doc: "of the body of a request at most, such as 10Mi",
		},
		{
			Name: "allowIPs", Kind: listKind, Off: true, Rule: cidr.of(), By: all &^ gw,
			Doc: "addresses of clients, such as 10.0.0.0/8; all others get 403",
		},
	}
}
