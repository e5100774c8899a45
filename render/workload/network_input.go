// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// protocolTCP is one of the protocols of a port.
const protocolTCP = "TCP"

// network is who talks to whom, where the project asks for policies.
func (l *lowering) network() object.Value {
	n, none := l.r.network, object.Pos{}
	if len(l.r.config.Policies) == 0 {
		return object.Value{}
	}
	policies := make([]object.Value, len(l.r.config.Policies))
	for i, p := range l.r.config.Policies {
		policies[i] = lowerText(p, none)
	}
	hosts := make([]object.Value, len(n.external))
	for i, e := range n.external {
		hosts[i] = mapOf(none, stringMember("name", e.name, none), stringMember("host", e.host, none),
			with("cidr", lowerGiven(e.cidr, none)), with("ports", always(networkPorts(e.ports))))
	}
	backends := make([]object.Value, len(n.backends))
	for i, b := range n.backends {
		backends[i] = mapOf(none, stringMember("host", b.host, none), intMember("port", b.port, none))
	}
	var mesh string
	if l.r.config.Network.Ambient {
		mesh = "ambient"
	}
	return mapOf(none, with("policies", always(policies)),
		with("inbound", always(peers(n.inbound))), with("outbound", always(peers(n.outbound))),
		with("external", always(hosts)), with("routes", l.openings()),
		with("backends", lowerList(backends, none)),
		with("dns", dns(l.r.config.Network.DNS)), with("mesh", lowerGiven(mesh, none)))
}

// openings are the ports that routes lead to, nothing where there are none.
func (l *lowering) openings() object.Value {
	open := l.r.openings()
	items := make([]object.Value, len(open))
	for i, o := range open {
		items[i] = networkPort(o.port)
		if o.namespace != "" {
			items[i] = addMember(items[i], "namespace", lowerText(o.namespace, object.Pos{}))
		}
	}
	return lowerList(items, object.Pos{})
}

// dns is where pods ask for addresses, nothing where it is where most clusters
// have it.
func dns(d spec.DNS) object.Value {
	none := object.Pos{}
	if d.Namespace == "" && d.Labels == nil && d.Port == 0 && d.CIDR == "" {
		return object.Value{}
	}
	labels := make(members, 0, len(d.Labels))
	for _, name := range object.SortedKeys(d.Labels) {
		labels.put(name, lowerText(d.Labels[name], none))
	}
	if d.Labels == nil {
		labels.put("k8s-app", lowerText("kube-dns", none))
	}
	return mapOf(none, stringMember("namespace", cmp.Or(d.Namespace, "kube-system"), none),
		with("labels", object.Value{Kind: object.KindMap, Members: labels}),
		intMember("port", cmp.Or(d.Port, 53), none), with("cidr", lowerGiven(d.CIDR, none)))
}

// always is a list that is there where it is empty, too.
func always(items []object.Value) object.Value {
	return object.Value{Kind: object.KindList, Items: items}
}

func peers(all []peer) []object.Value {
	none := object.Pos{}
	items := make([]object.Value, len(all))
	for i, p := range all {
		items[i] = mapOf(none, stringMember("name", p.name, none), stringMember("namespace", p.namespace, none),
			with("serviceAccount", lowerGiven(p.serviceAccount, none)),
			with("ports", lowerList(networkPorts(p.ports), none)))
	}
	return items
}

func networkPorts(ports []score.Port) []object.Value {
	items := make([]object.Value, len(ports))
	for i, p := range ports {
		items[i] = networkPort(p)
	}
	return items
}

// networkPort is a target port: policies see packets after the Service rewrote
// them.
func networkPort(p score.Port) object.Value {
	return mapOf(p.Pos, intMember("port", cmp.Or(p.Target, p.Port), p.Pos), stringMember("protocol", p.Protocol, p.Pos))
}
