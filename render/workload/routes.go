// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// waysIn are the routes to the workload, in the order of its resources.
func (c *Compilation) waysIn() []generate.Route {
	var out []generate.Route
	m := c.member
	for n, i := range m.instances {
		own, r := &m.source.Spec.Resources[n], c.result(i)
		if own.Type.Value != generate.TypeRoute || r == nil {
			continue
		}
		known := false
		for _, node := range r.nodes {
			backends := generate.BackendsOf(node.Object["spec"], nil)
			known = known || len(backends) > 0
			if ports := m.ports(backends); len(ports) > 0 {
				out = append(out, generate.Route{Resource: own, Node: node, Ports: ports})
			}
		}
		if !known {
			port, _ := c.state[i].params.Get("port")
			out = append(out, generate.Route{Resource: own, Ports: m.ports([]generate.Backend{{Name: m.name(), Port: port.Text}})})
		}
	}
	return out
}

// ports are the ports of m's service that backends lead to. A backend without a
// port means http or the only one, and in doubt all of them.
func (m *member) ports(backends []generate.Backend) []score.Port {
	all := m.source.Spec.Ports
	var out []score.Port
	for _, b := range backends {
		if b.Name != m.name() {
			continue
		}
		i := slices.IndexFunc(all, func(p score.Port) bool {
			return b.Port == p.Name || b.Port != "" && generate.PortNumber(b.Port) == p.Port
		})
		if i < 0 {
			i = slices.IndexFunc(all, func(p score.Port) bool {
				return b.Port == "" && (p.Name == "http" || len(all) == 1) || b.Port != "" && generate.PortNumber(b.Port) == p.Target
			})
		}
		switch {
		case i >= 0:
			out = append(out, all[i])
		case b.Port == "":
			out = append(out, all...)
		}
	}
	return generate.SortPorts(out)
}
