// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Kinds of route that are read here.
const (
	KindHTTPRoute = "HTTPRoute.gateway.networking.k8s.io"
	KindIngress   = "Ingress.networking.k8s.io"

	gatewayGroup = "gateway.networking.k8s.io"
)

// Route leads requests in from outside: an object of a resource of type route, or the resource
// itself if no object of it shows its destination.
type Route struct {
	Resource *score.Resource
	// Node is nil for the resource itself.
	Node *object.Node
	// Ports are the ports of the service that it leads to.
	Ports []score.Port
}

// Kind returns the kind of the object with its group, or "" without an object.
func (r Route) Kind() string {
	if r.Node == nil {
		return ""
	}
	return r.Node.Object.Ref().GroupKind()
}

// Opening is a port of the pods that routes lead to, and the namespace of the callers; "" means any
// namespace.
type Opening struct {
	Port      score.Port
	Namespace string
	// Pods is set if only pods of the namespace send requests to the port: the port does not
	// belong to a gateway, which Cilium runs outside of pods.
	Pods bool
}

// Openings returns the ports that routes open: each port once for a namespace, or once without a
// namespace if it is open to all. Requests come from the given namespace, unless it is "".
func Openings(routes []Route, namespace string) []Opening {
	var out []Opening
	for _, route := range routes {
		for _, port := range route.Ports {
			for _, namespace := range route.namespaces(namespace) {
				out = append(out, Opening{Port: port, Namespace: namespace})
			}
		}
	}

	// Sort them, and keep each once.
	compare := func(a, b Opening) int {
		return cmp.Or(
			strings.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Port.Target, b.Port.Target),
			strings.Compare(a.Port.Protocol, b.Port.Protocol),
		)
	}
	slices.SortStableFunc(out, compare)
	out = slices.CompactFunc(out, func(a, b Opening) bool { return compare(a, b) == 0 })

	// A port that is open to all needs no opening for a namespace.
	return slices.DeleteFunc(slices.Clone(out), func(o Opening) bool {
		return o.Namespace != "" && slices.ContainsFunc(out, func(all Opening) bool {
			return all.Namespace == "" && all.Port.Target == o.Port.Target && all.Port.Protocol == o.Port.Protocol
		})
	})
}

// namespaces returns the namespaces that requests of a route come from: the namespace of the project,
// or the namespaces of its gateways if it names all of them. "" means any namespace.
func (r Route) namespaces(project string) []string {
	if project != "" {
		return []string{project}
	}
	if r.Node == nil || r.Node.Object.Group() != gatewayGroup {
		return []string{""}
	}
	var namespaces []string
	for _, parent := range r.Node.Object.List("spec", "parentRefs") {
		fields, _ := parent.(map[string]any)
		namespace := object.Object(fields).Text("namespace")
		if namespace == "" {
			return []string{""}
		}
		namespaces = append(namespaces, namespace)
	}
	if len(namespaces) == 0 {
		return []string{""}
	}
	return namespaces
}

// sortPorts sorts ports by target and protocol, as policies see them, and keeps each once.
func sortPorts(ports []score.Port) []score.Port {
	compare := func(a, b score.Port) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Target, a.Port), cmp.Or(b.Target, b.Port)), strings.Compare(a.Protocol, b.Protocol))
	}
	slices.SortStableFunc(ports, compare)
	return slices.CompactFunc(ports, func(a, b score.Port) bool { return compare(a, b) == 0 })
}

// PortNumber returns the number of a port in text, or 0 if it is not a number of a port.
func PortNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0
	}
	return n
}

// Backend is a Service that a route leads to, and the number or name of its port.
type Backend struct{ Name, Port string }

// BackendsOf appends the Services that the spec of a route leads to, for all kinds of route:
// backendRefs of the Gateway API, service of an Ingress, services of Traefik, destination of Istio.
func BackendsOf(v any, out []Backend) []Backend {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = BackendsOf(item, out)
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
				out = BackendsOf(v[key], out)
			}
		}
	}
	return out
}

// appendBackend appends the Service that a backend names to out.
func appendBackend(v any, out []Backend) []Backend {
	fields, ok := v.(map[string]any)
	if !ok {
		return out
	}
	b := object.Object(fields)
	name := cmp.Or(b.Text("name"), b.Text("host"))
	port := cmp.Or(scalar(b.Get("port")), scalar(b.Get("port", "number")), scalar(b.Get("port", "name")))
	// Istio writes a host: the part before the first dot is the Service.
	name, _, _ = strings.Cut(name, ".")
	return append(out, Backend{Name: name, Port: port})
}

// scalar returns a text, or an integer as text, or "" for anything else.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// Routes returns the routes to the workload, in the order of its resources.
func (m *Workload) Routes(resources []resource.Made) []Route {
	var out []Route
	for _, r := range resources {
		if r.Resource.Type.Value != TypeRoute {
			continue
		}
		hasBackend := false
		for _, node := range r.Nodes {
			backends := BackendsOf(node.Object["spec"], nil)
			hasBackend = hasBackend || len(backends) > 0
			if ports := m.portsOf(backends); len(ports) > 0 {
				out = append(out, Route{Resource: r.Resource, Node: node, Ports: ports})
			}
		}
		if !hasBackend {
			port, _ := r.Params.Get("port")
			out = append(out, Route{Resource: r.Resource, Ports: m.portsOf([]Backend{{Name: m.Name, Port: port.Text}})})
		}
	}
	return out
}

// portsOf returns the ports of the service of m that backends lead to. A backend without a port
// means http or the only port, and all ports if in doubt.
func (m *Workload) portsOf(backends []Backend) []score.Port {
	all := m.Ports
	var out []score.Port
	for _, b := range backends {
		if b.Name != m.Name {
			continue
		}
		i := slices.IndexFunc(all, func(p score.Port) bool {
			return b.Port == p.Name || (b.Port != "" && PortNumber(b.Port) == p.Port)
		})
		if i < 0 {
			i = slices.IndexFunc(all, func(p score.Port) bool {
				byDefault := b.Port == "" && (p.Name == "http" || len(all) == 1)
				return byDefault || (b.Port != "" && PortNumber(b.Port) == p.Target)
			})
		}
		switch {
		case i >= 0:
			out = append(out, all[i])
		case b.Port == "":
			out = append(out, all...)
		}
	}
	return sortPorts(out)
}
