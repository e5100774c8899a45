// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
)

// class returns the class of the document, or the default of the target.
func (g *Gateway) class() string {
	if class := field(g.spec, "class"); class.Kind != object.KindNone {
		return class.Text
	}
	return map[string]string{Haproxytech: "haproxy", Jcmoraisjr: "haproxy", EnvoyGateway: "eg"}[g.target]
}

// input returns the input of the module. Its parts have the positions of the author's text.
func (g *Gateway) input() object.Value {
	target := field(g.spec, "target")
	out := generate.MapOf(g.Pos,
		generate.StringMember("name", g.Name, g.Pos),
		object.Member{Name: "target", Pos: target.Pos, Value: target},
		member("gateway", field(g.spec, "gateway")),
		member("tls", field(g.spec, "tls")),
	)
	if class := g.class(); class != "" && field(g.spec, "gateway").Kind == object.KindNone {
		out.Members = append(out.Members, generate.StringMember("class", class, target.Pos))
	}
	if hosts := g.hosts(); len(hosts) > 0 {
		out.Members = append(out.Members, member("hosts", object.Value{Kind: object.KindList, Pos: g.Pos, Items: hosts}))
	}
	routes := generate.MapOf(field(g.spec, "routes").Pos)
	for _, r := range g.routes {
		routes.Members = append(routes.Members, object.Member{Name: r.end, Pos: r.Pos, Value: r.input(g.target, field(g.spec, "hosts"))})
	}
	out.Members = append(out.Members, member("routes", routes))
	return out
}

func member(name string, v object.Value) object.Member {
	return object.Member{Name: name, Pos: v.Pos, Value: v}
}

// input returns a route in the form of the module of a target. The argument hosts has the hosts of
// the Gateway, for a route without hosts.
func (r *route) input(target string, hosts object.Value) object.Value {
	if ownHosts := field(r.Value, "hosts"); ownHosts.Kind != object.KindNone {
		hosts = ownHosts
	}
	path := field(r.Value, "path")
	path.Text = r.path
	out := generate.MapOf(r.Pos, member("hosts", hosts), member("path", path), member("redirect", field(r.Value, "redirect")),
		member("rewrite", field(r.Value, "rewrite")), generate.BoolMember("exact", r.exact, r.Pos))
	if to := field(r.Value, "to"); r.port.Port != 0 {
		out.Members = append(out.Members, object.Member{Name: "service", Pos: to.Pos, Value: generate.MapOf(to.Pos,
			member("name", field(to, "workload")),
			generate.StringMember("namespace", r.namespace, to.Pos),
			generate.IntMember("port", r.port.Port, to.Pos),
		)})
	}
	for _, m := range r.settings {
		if m.Name == "auth" && r.login.Name != "" {
			m.Value = r.login.authInput(target)
		}
		if m.Name == "bodySize" {
			m.Value = object.Value{Kind: object.KindNumber, Pos: m.Value.Pos, Text: strconv.Itoa(bytes(m.Value.Text))}
		}
		out.Members = append(out.Members, m)
	}
	return out
}
