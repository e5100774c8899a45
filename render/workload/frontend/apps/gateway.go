// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apps

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
)

// gateways returns a Gateway for each namespace that routes lead to, because an Ingress cannot leave
// its namespace. It records the ports that routes name. The project may choose the HAProxy.
func (f *file) gateways(p document.Part) []spec.Transform {
	if !p.Given() {
		return nil
	}
	target := p.At("provider").Value
	haproxy := f.project.At("haproxy")
	if target.Text == "haproxy" && haproxy.Given() {
		target = haproxy.Value
	}

	// All Gateways have the same settings.
	settings := builder.Pairs(p.Pos, "target", target, "rateLimit", limit(p.At("rate_limit"), target))
	if cors := p.At("cors"); on(cors) {
		v := builder.Pairs(cors.Pos, "allowOrigins", cors.At("allow_origins").Value, "allowMethods", cors.At("allow_methods").Value,
			"allowHeaders", cors.At("allow_headers").Value, "maxAge", cors.At("max_age").Value)
		v.Kind = object.KindMap
		v.Pos = cors.Pos
		settings = settings.Merge(builder.Pairs(cors.Pos, "cors", v))
	}

	// Group the routes by namespace.
	routes := map[string][]object.Value{}
	for _, r := range p.List("routes") {
		if r.At("service").Given() { // A missing service is reported.
			namespace, v := f.route(r, target)
			routes[namespace] = append(routes[namespace], v)
		}
	}

	// Make a Gateway of each group.
	var out []spec.Transform
	for _, namespace := range object.SortedKeys(routes) {
		name := f.doc.Name + "-gateway"
		if len(routes) > 1 {
			name += "-" + namespace
		}
		out = append(out, spec.Transform{
			Kind: spec.KindGateway, Name: strings.Trim(name, "-"), Namespace: namespace, Pos: p.Pos, NamePos: p.Pos, Written: writtenGateway,
			CueRef:      spec.CueRef{Type: spec.RefEmbedded, TypePos: p.Pos, Ref: spec.DefaultGatewayModule, RefPos: p.Pos, Pos: p.Pos},
			Input:       settings.Merge(builder.Pairs(p.Pos, "routes", object.ListAt(p.At("routes").Pos, routes[namespace]...))),
			InputUnsure: f.doc.Unsure || f.known("gateway"),
		})
	}
	return out
}

// route returns a route, and the namespace that it leads to.
func (f *file) route(r document.Part, target object.Value) (string, object.Value) {
	service := r.At("service")
	address, number, _ := strings.Cut(service.Text, ":")
	name, namespace, _ := strings.Cut(address, ".")
	port := object.Value{Kind: object.KindNumber, Pos: service.Pos, Text: number}
	if namespaces := f.namespaces[name]; namespaces != nil {
		if !slices.Contains(namespaces, namespace) && namespaces[0] != "" {
			service.Fail("write "+name+"."+namespaces[0]+":"+number, "the application %q is in the namespace %q", name, namespaces[0])
		}
		namespace = namespaces[0]
	}
	if !slices.ContainsFunc(f.ports[name], func(p object.Value) bool { return p.Text == port.Text }) {
		f.ports[name] = append(f.ports[name], port)
	}
	to := builder.Pairs(service.Pos, "workload", object.TextAt(name, service.Pos), "port", port)
	return namespace, builder.Pairs(r.Pos,
		"path", r.At("path").Value, "rateLimit", limit(r.At("rate_limit"), target), "auth", r.At("auth").Value, "to", to)
}

// limit returns a rate limit. Bursts of Traefik are twice the rate by default.
func limit(p document.Part, target object.Value) object.Value {
	requests, burst := p.At("requests_per_second"), p.At("burst")
	n, err := strconv.Atoi(requests.Text)
	switch {
	case !p.Given():
		return object.Value{}
	case !on(p):
		return object.BoolAt(false, p.Pos)
	case !burst.Given() && err == nil && target.Text == gateway.Traefik:
		burst.Value = object.NumberAt(2*n, p.Pos) //nolint:mnd // see above
	}
	return builder.Pairs(p.Pos, "requests", requests.Value, "per", object.TextAt("second", p.Pos), "burst", burst.Value)
}
