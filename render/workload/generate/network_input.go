// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// lowerNetwork returns which workloads talk to each other, or an absent value if the project has no
// network policies. Requests by which the workload is scaled come from the interceptor of KEDA.
func lowerNetwork(errs *mistakes, r *Resolved, requests object.Value) object.Value {
	n := r.Network
	none := object.Pos{}
	wanted, types := choosePolicies(r.Config.Policies, r.Workload.Network)
	if len(wanted) == 0 {
		return object.Value{}
	}

	// Add the rules of the author, and the one for calls to a KnativeService.
	from, to := lowerDirections(errs, r.Workload.Network, wanted)
	checkTokens(errs, r, wanted)
	checkHosts(errs, n.External, wanted, types)
	if gateway := knativeGateway(n, r.Config); len(gateway) > 0 {
		to.Kind = object.KindList
		to.Items = append(slices.Clip(to.Items), lowerRules(gateway).Items...)
	}
	if r.Workload.Kind.Value == score.KindKnativeService {
		n.Inbound = nil // Callers come through the gateway of Knative.
	}

	// List the hosts outside of the cluster, and the Services inside.
	hosts := make([]object.Value, len(n.External))
	for i, e := range n.External {
		hosts[i] = MapOf(none, StringMember("name", e.Name, none), StringMember("host", e.Host, none),
			with("cidr", lowerGiven(e.CIDR, none)), with("ports", always(networkPorts(e.Ports))), with("entry", lowerEntry(e.Entry)))
	}
	backends := make([]object.Value, len(n.Backends))
	for i, b := range n.Backends {
		backends[i] = MapOf(none, StringMember("host", b.Host, none), IntMember("port", b.Port, none))
		if len(b.Labels.Members) > 0 {
			backends[i] = addMember(backends[i], "labels", b.Labels)
		}
	}
	var mesh string
	if r.Config.Network.Ambient {
		mesh = "ambient"
	}
	return MapOf(none, with("policies", words(wanted)), with("types", words(types)), with("from", from), with("to", to),
		with("inbound", always(peers(n.Inbound))), with("outbound", always(peers(n.Outbound))),
		with("external", always(hosts)), with("routes", lowerOpenings(r, requests)),
		with("backends", lowerList(backends, none)),
		with("dns", dns(r.Config.Network.DNS)), with("mesh", lowerGiven(mesh, none)),
		with("trustDomain", lowerGiven(r.Config.Network.TrustDomain, none)))
}

// lowerEntry returns the ServiceEntry of a host that the project declares, or an absent value if it
// declares none.
func lowerEntry(e *network.Entry) object.Value {
	none := object.Pos{}
	if e == nil {
		return object.Value{}
	}
	return MapOf(none, StringMember("name", e.Name, none), with("ports", lowerList(networkPorts(e.Ports), none)))
}

// lowerOpenings returns the ports that routes and Gateways lead to, or an absent value if there are
// none.
func lowerOpenings(r *Resolved, requests object.Value) object.Value {
	open := append(network.Openings(r.entries(), r.Config.Network.RoutesFrom), interceptor(requests)...)
	if r.Workload.Kind.Value == score.KindKnativeService {
		open = append(open, knativeOpenings(r.Config.Network.RoutesFrom)...)
	}
	items := make([]object.Value, len(open))
	for i, o := range open {
		items[i] = networkPort(o.Port)
		if o.Namespace != "" {
			items[i] = addMember(items[i], "namespace", object.TextAt(o.Namespace, object.Pos{}))
		}
		if o.Pods {
			items[i] = addMember(items[i], "pods", BoolMember("", true, object.Pos{}).Value)
		}
	}
	return lowerList(items, object.Pos{})
}

// dns returns where pods resolve names, or an absent value if that is where most clusters have
// it.
func dns(d spec.DNS) object.Value {
	none := object.Pos{}
	if d.Namespace == "" && d.Labels == nil && d.Port == 0 && d.CIDR == "" {
		return object.Value{}
	}
	labels := make(members, 0, len(d.Labels))
	for _, name := range object.SortedKeys(d.Labels) {
		labels.put(name, object.TextAt(d.Labels[name], none))
	}
	if d.Labels == nil {
		labels.put("k8s-app", object.TextAt("kube-dns", none))
	}
	return MapOf(none, StringMember("namespace", cmp.Or(d.Namespace, "kube-system"), none),
		with("labels", object.Value{Kind: object.KindMap, Members: labels}),
		IntMember("port", cmp.Or(d.Port, 53), none), with("cidr", lowerGiven(d.CIDR, none)))
}

func peers(all []network.Peer) []object.Value {
	none := object.Pos{}
	items := make([]object.Value, len(all))
	for i, p := range all {
		items[i] = MapOf(none, StringMember("name", p.Name, none), StringMember("namespace", p.Namespace, none),
			with("serviceAccount", lowerGiven(p.ServiceAccount, none)),
			with("ports", lowerList(networkPorts(p.Ports), none)))
		if p.Unlabelled {
			items[i] = addMember(items[i], "unlabelled", BoolMember("", true, none).Value)
		}
	}
	return items
}
