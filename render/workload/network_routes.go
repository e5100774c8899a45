// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Kinds of route that the project itself knows something of.
const (
	kindHTTPRoute = "HTTPRoute.gateway.networking.k8s.io"
	kindIngress   = "Ingress.networking.k8s.io"
	gatewayGroup  = "gateway.networking.k8s.io"
)

// route is a way in from outside: an object that a resource of type route made,
// or the resource itself where no object of it says where it leads.
type route struct {
	resource *score.Resource
	// node is nil for the resource itself.
	node *object.Node
	// ports are those of the service that it leads to.
	ports []score.Port
}

// kind is that of the object, with its group.
func (r route) kind() string {
	if r.node == nil {
		return ""
	}
	return r.node.Object.Ref().GroupKind()
}

// waysIn are the routes to the workload, in the order of its resources.
func (c *Compilation) waysIn() []route {
	var out []route
	m := c.member
	for n, i := range m.instances {
		own, r := &m.source.Spec.Resources[n], c.result(i)
		if own.Type.Value != typeRoute || r == nil {
			continue
		}
		told := false
		for _, node := range r.nodes {
			backends := backendsOf(node.Object["spec"], nil)
			told = told || len(backends) > 0
			if ports := m.ports(backends); len(ports) > 0 {
				out = append(out, route{resource: own, node: node, ports: ports})
			}
		}
		if !told {
			port, _ := c.state[i].params.Get("port")
			out = append(out, route{resource: own, ports: m.ports([]leadsTo{{name: m.name(), port: port.Text}})})
		}
	}
	return out
}

// leadsTo is a Service that a route leads to, and the number or name of its port.
type leadsTo struct{ name, port string }

// backendsOf finds the Services that the spec of a route leads to, wherever the
// kinds of route write them: backendRefs of the Gateway API, service of an
// Ingress, services of Traefik, destination of Istio.
func backendsOf(v any, out []leadsTo) []leadsTo {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = backendsOf(item, out)
		}
	case map[string]any:
		for _, key := range object.SortedKeys(v) {
			switch key {
			case "backendRefs", "services":
				if items, ok := v[key].([]any); ok {
					for _, item := range items {
						out = appendBackend(item, out)
					}
				}
			case "service", "destination":
				out = appendBackend(v[key], out)
			default:
				out = backendsOf(v[key], out)
			}
		}
	}
	return out
}

func appendBackend(v any, out []leadsTo) []leadsTo {
	fields, ok := v.(map[string]any)
	if !ok {
		return out
	}
	b := object.Object(fields)
	name := cmp.Or(b.Text("name"), b.Text("host"))
	port := cmp.Or(scalar(b.Get("port")), scalar(b.Get("port", "number")), scalar(b.Get("port", "name")))
	// Istio writes a host: what comes before the first dot is the Service.
	name, _, _ = strings.Cut(name, ".")
	return append(out, leadsTo{name: name, port: port})
}

// scalar is text or a whole number as text.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// ports are the ports of m's service that backends lead to. A backend without a
// port means http or the only one, and in doubt all of them.
func (m *member) ports(backends []leadsTo) []score.Port {
	all := m.source.Spec.Ports
	var out []score.Port
	for _, b := range backends {
		if b.name != m.name() {
			continue
		}
		i := slices.IndexFunc(all, func(p score.Port) bool {
			return b.port == p.Name || b.port != "" && portNumber(b.port) == p.Port
		})
		if i < 0 {
			i = slices.IndexFunc(all, func(p score.Port) bool {
				return b.port == "" && (p.Name == "http" || len(all) == 1) || b.port != "" && portNumber(b.port) == p.Target
			})
		}
		switch {
		case i >= 0:
			out = append(out, all[i])
		case b.port == "":
			out = append(out, all...)
		}
	}
	return sortPorts(out)
}

// opening is a port of the pods that routes lead to, and the namespace that
// their requests come from; "" is anywhere.
type opening struct {
	port      score.Port
	namespace string
}

// openings are what routes open: each port once for a namespace, and for nobody
// in particular where it is open to all.
func (r resolved) openings() []opening {
	var out []opening
	for _, way := range r.routes {
		for _, port := range way.ports {
			for _, from := range way.from(r.config.Network.RoutesFrom) {
				out = append(out, opening{port, from})
			}
		}
	}
	compare := func(a, b opening) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), cmp.Compare(a.port.Target, b.port.Target), strings.Compare(a.port.Protocol, b.port.Protocol))
	}
	slices.SortStableFunc(out, compare)
	out = slices.CompactFunc(out, func(a, b opening) bool { return compare(a, b) == 0 })
	return slices.DeleteFunc(slices.Clone(out), func(o opening) bool {
		return o.namespace != "" && slices.ContainsFunc(out, func(all opening) bool {
			return all.namespace == "" && all.port.Target == o.port.Target && all.port.Protocol == o.port.Protocol
		})
	})
}

// from is the namespaces that requests of a route come from: what the project
// says, else those of its gateways, where it names them all; "" is anywhere.
func (r route) from(project string) []string {
	if project != "" {
		return []string{project}
	}
	if r.node == nil || r.node.Object.Group() != gatewayGroup {
		return []string{""}
	}
	var out []string
	for _, parent := range r.node.Object.List("spec", "parentRefs") {
		fields, _ := parent.(map[string]any)
		namespace := object.Object(fields).Text("namespace")
		if namespace == "" {
			return []string{""}
		}
		out = append(out, namespace)
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}
