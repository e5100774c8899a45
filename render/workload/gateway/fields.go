// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import "github.com/ropewalk/ropewalk/render/object"

// Field is a field of the document: its shape, and the targets that can do it.
type Field struct {
	Name string
	Kind object.Kind
	// Text allows text too where the kind is a number, and a number where it is text.
	Text bool
	// Need says that the field must be given; Off that false switches it off.
	Need, Off bool
	// NeedBy are the targets that need it beside those that Need says.
	NeedBy Set
	// Usual is the value where none is given, if not all targets have it.
	Usual string
	// Values are all that a scalar, or an item of a list, may be; empty where Rule decides.
	Values []Choice
	// Rule is that of a scalar, of an item of a list of scalars, or of the values of a map
	// without Fields, whose names are those of headers.
	Rule Rule
	// Fields are those of a map, or of each item of a list of maps.
	Fields []Field
	// By are the targets that can do it: all where it is 0.
	By Set
	// Doc says what the field means, for the docs.
	Doc string
}

// Choice is a value of a field, and the targets that can do it: all where By is 0.
type Choice struct {
	Name string
	By   Set
}

func choices(names ...string) []Choice {
	out := make([]Choice, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// Short forms of the kinds, for the table.
const (
	list   = object.KindList
	text   = object.KindString
	number = object.KindNumber
	truth  = object.KindBool
	fields = object.KindMap
)

// Fields are the fields of the spec of a Gateway.
func Fields() []Field {
	return append([]Field{
		{Name: "target", Kind: text, Need: true, Values: choices(Targets()...), Doc: "what receives the requests"},
		{Name: "class", Kind: text, Rule: name, Doc: "ingress class or GatewayClass; default `haproxy` for both HAProxies, `eg` for envoy-gateway, none for traefik; needed for gateway-api without `gateway`"},
		{Name: "gateway", Kind: fields, By: gateways, Doc: "a Gateway object that is there already; without it one is made", Fields: []Field{
			{Name: "name", Kind: text, Need: true, Rule: name},
			{Name: "namespace", Kind: text, Rule: label},
			{Name: "listener", Kind: text, Rule: name, Doc: "name of one of its listeners"},
		}},
		{Name: "hosts", Kind: list, Rule: host, Doc: "hosts of all routes; every host where there are none; `*.` may come first"},
		{Name: "tls", Kind: fields, Doc: "certificate of the hosts, in a Secret that is there, or that cert-manager makes for an issuer", Fields: []Field{
			{Name: "secret", Kind: text, Rule: name},
			{Name: "issuer", Kind: fields, Fields: []Field{
				{Name: "name", Kind: text, Need: true, Rule: name},
				{Name: "kind", Kind: text, Values: choices("ClusterIssuer", "Issuer"), Doc: "default ClusterIssuer"},
			}},
			{Name: "redirect", Kind: truth, Doc: "send requests without TLS to https; default true"},
		}},
		{Name: "routes", Kind: list, Need: true, Fields: append([]Field{
			{Name: "path", Kind: text, Need: true, Rule: urlPath, Doc: "path of the requests"},
			{Name: "pathType", Kind: text, Values: choices("Prefix", "Exact"), Doc: "default Prefix: whole parts of the path, so that /api is not /apis"},
			{Name: "hosts", Kind: list, Rule: host, Doc: "in place of the hosts of the Gateway"},
			{Name: "to", Kind: fields, NeedBy: ingresses, Doc: "where the requests go; may be absent with `redirect`, but not for the HAProxies", Fields: []Field{
				{Name: "workload", Kind: text, Need: true, Rule: label, Doc: "a workload of the project"},
				{Name: "port", Kind: number, Text: true, Doc: "name or number of a port of its service; may be absent where it has one, or one called http"},
			}},
			{Name: "redirect", Kind: fields, Doc: "answer with another address", Fields: []Field{
				{Name: "scheme", Kind: text, NeedBy: jc, Values: choices("http", "https")},
				{Name: "host", Kind: text, NeedBy: jc, Rule: exactHost},
				{Name: "path", Kind: text, NeedBy: jc, Rule: newPath, By: all &^ ht},
				{Name: "status", Kind: number, Doc: "default 302", Values: []Choice{
					{"301", all &^ jc}, {"302", all}, {"303", ht | gateways}, {"307", gateways}, {"308", gateways},
				}},
			}},
			{Name: "rewrite", Kind: fields, Doc: "change the path before the workload sees it", Fields: []Field{
				{Name: "path", Kind: text, Rule: newPath, By: all &^ jc, Doc: "in place of the complete path"},
				{Name: "prefix", Kind: text, Rule: newPath, Doc: "in place of the path of the route"},
			}},
		}, settings()...)},
	}, settings()...)
}

// settings are the fields that stand in a route, or beside routes as the default of all.
func settings() []Field {
	header := func(name string, by Set) Field {
		return Field{Name: name, Kind: fields, Rule: headerValue, By: by}
	}
	remove := Field{Name: "remove", Kind: list, Rule: headerName, By: tr | gateways}
	return []Field{
		{Name: "rateLimit", Kind: fields, Off: true, By: all &^ gw, Doc: "answers 429 above it", Fields: []Field{
			{Name: "requests", Kind: number, Need: true, Rule: positive},
			{Name: "per", Kind: text, Values: []Choice{{Name: "second"}, {"minute", ht | tr | eg}}, Doc: "default second"},
			{Name: "by", Kind: text, Usual: "client", Values: []Choice{{"client", ingresses | tr}, {"all", eg}}, Doc: "what is counted: each client address (default), or all clients of one proxy together"},
			{Name: "burst", Kind: number, Rule: positive, By: tr, Doc: "requests at once; default that of `requests`"},
		}},
		{Name: "cors", Kind: fields, Off: true, Doc: "pages of other origins that browsers let call", Fields: []Field{
			{Name: "allowOrigins", Kind: list, Need: true, Rule: origin, Doc: "`https://a.example`, `https://*.a.example`, or only `*`"},
			{Name: "allowMethods", Kind: list, Rule: method, Doc: "default GET, HEAD, POST"},
			{Name: "allowHeaders", Kind: list, Rule: headerName, Doc: "default Accept, Content-Type"},
			{Name: "exposeHeaders", Kind: list, Rule: headerName, By: all &^ ht},
			{Name: "allowCredentials", Kind: truth, Doc: "default false"},
			{Name: "maxAge", Kind: number, Rule: seconds, Doc: "seconds; default 5"},
		}},
		{Name: "auth", Kind: fields, Off: true, By: all &^ gw, Doc: "how a client proves what it is", Fields: []Field{
			{Name: "type", Kind: text, Need: true, Values: []Choice{{"basic", all &^ gw}, {"api-key", eg}, {"oauth2", jc | tr | eg}, {"jwt", eg}}},
			{Name: "secret", Kind: text, Rule: name, Doc: "name of a Secret, in the shape of the target (see below)"},
			{Name: "realm", Kind: text, Rule: headerValue, By: ingresses | tr},
			{Name: "header", Kind: text, Rule: headerName, By: eg, Doc: "header with the API key"},
			{Name: "proxy", Kind: text, Rule: webURL, By: jc | tr, Doc: "address at which an oauth2-proxy checks a request"},
			{Name: "signin", Kind: text, Rule: webURL, By: jc | tr, Doc: "where a client without a session is sent"},
			{Name: "issuer", Kind: text, Rule: httpsURL, By: eg, Doc: "of OpenID Connect, or of the tokens"},
			{Name: "clientID", Kind: text, Rule: headerValue, By: eg},
			{Name: "scopes", Kind: list, Rule: headerValue, By: eg},
			{Name: "redirectURL", Kind: text, Rule: webURL, By: eg, Doc: "where a login ends, below the path of the route; default /oauth2/callback of its host"},
			{Name: "audiences", Kind: list, Rule: headerValue, By: eg},
			{Name: "jwks", Kind: text, Rule: httpsURL, By: eg, Doc: "address of the keys that sign the tokens"},
		}},
		{Name: "timeouts", Kind: fields, Off: true, Fields: []Field{
			{Name: "request", Kind: text, Rule: duration, By: gateways, Doc: "of the complete request and its answer"},
			{Name: "idle", Kind: text, Rule: duration, By: ingresses | eg, Doc: "how long a workload may be silent"},
			{Name: "connect", Kind: text, Rule: duration, By: jc | tr | eg, Doc: "of the connection to the workload"},
		}},
		{Name: "retries", Kind: fields, Off: true, By: tr | eg, Fields: []Field{
			{Name: "attempts", Kind: number, Need: true, Rule: positive, Doc: "after the first, where the workload cannot be reached"},
		}},
		{Name: "headers", Kind: fields, Off: true, Fields: []Field{
			{Name: "request", Kind: fields, Fields: []Field{header("set", all), header("add", gateways), remove}},
			{Name: "response", Kind: fields, By: all &^ jc, Fields: []Field{header("set", all&^jc), header("add", gateways), remove}},
		}},
		{Name: "bodySize", Kind: text, Text: true, Off: true, Rule: size, By: jc | tr | eg, Doc: "of the body of a request at most, such as 10Mi"},
		{Name: "allowIPs", Kind: list, Off: true, Rule: cidr, By: all &^ gw, Doc: "addresses of clients, such as 10.0.0.0/8; all others get 403"},
	}
}
