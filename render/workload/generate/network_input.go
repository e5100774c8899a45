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

// lowerNetwork returns the allowed traffic of the workload, or an absent value if the project has no
// network policies. Requests by which the workload is scaled come from the interceptor of KEDA.
func lowerNetwork(errs *mistakes, r *Resolved, requests object.Value) object.Value {
	n := r.Network
	noPos := object.Pos{}
	policies, types := choosePolicies(r.Config.Policies, r.Workload.Network)
	if len(policies) == 0 {
		return object.Value{}
	}

	// Add the rules of the author, and the rule for calls to a KnativeService.
	allowFrom, allowTo := lowerDirections(errs, r.Workload.Network, policies)
	checkTokens(errs, r, policies)
	checkHosts(errs, n.External, policies, types)
	if gateway := knativeGateway(n, r.Config); len(gateway) > 0 {
		allowTo.Kind = object.KindList
		allowTo.Items = append(slices.Clip(allowTo.Items), lowerRules(gateway).Items...)
	}
	if r.Workload.Kind.Value == score.KindKnativeService {
		n.Inbound = nil // Callers come through the gateway of Knative.
	}

	// List the hosts outside of the cluster, and the Services inside.
	hosts := make([]object.Value, len(n.External))
	for i, e := range n.External {
		hosts[i] = MapOf(noPos, StringMember("name", e.Name, noPos), StringMember("host", e.Host, noPos),
			member("cidr", lowerGiven(e.CIDR, noPos)), member("ports", alwaysList(networkPorts(e.Ports))), member("entry", lowerEntry(e.Entry)))
	}
	backends := make([]object.Value, len(n.Backends))
	for i, b := range n.Backends {
		backends[i] = MapOf(noPos, StringMember("host", b.Host, noPos), IntMember("port", b.Port, noPos))
		if len(b.Labels.Members) > 0 {
			backends[i] = addMember(backends[i], "labels", b.Labels)
		}
	}
	var mesh string
	if r.Config.Network.Ambient {
		mesh = "ambient"
	}
	return MapOf(noPos,
		member("policies", lowerWords(policies)), member("types", lowerWords(types)),
		member("from", allowFrom), member("to", allowTo),
		member("inbound", alwaysList(peers(n.Inbound))), member("outbound", alwaysList(peers(n.Outbound))),
		member("external", alwaysList(hosts)), member("routes", lowerOpenings(r, requests)),
		member("backends", lowerList(backends, noPos)),
		member("dns", dns(r.Config.Network.DNS)), member("mesh", lowerGiven(mesh, noPos)),
		member("trustDomain", lowerGiven(r.Config.Network.TrustDomain, noPos)))
}

// lowerEntry returns the ServiceEntry of a host that the project declares, or an absent value.
func lowerEntry(e *network.Entry) object.Value {
	noPos := object.Pos{}
	if e == nil {
		return object.Value{}
	}
	return MapOf(noPos, StringMember("name", e.Name, noPos), member("ports", lowerList(networkPorts(e.Ports), noPos)))
}

// lowerOpenings returns the ports that routes and Gateways lead to, or an absent value.
func lowerOpenings(r *Resolved, requests object.Value) object.Value {
	openings := append(network.Openings(r.entries(), r.Config.Network.RoutesFrom), interceptor(requests)...)
	if r.Workload.Kind.Value == score.KindKnativeService {
		openings = append(openings, knativeOpenings(r.Config.Network.RoutesFrom)...)
	}
	items := make([]object.Value, len(openings))
	for i, o := range openings {
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

// dns returns the servers that resolve names for pods, or an absent value for the usual servers.
func dns(d spec.DNS) object.Value {
	noPos := object.Pos{}
	if d.Namespace == "" && d.Labels == nil && d.Port == 0 && d.CIDR == "" {
		return object.Value{}
	}
	labels := make(members, 0, len(d.Labels))
	for _, name := range object.SortedKeys(d.Labels) {
		labels.put(name, object.TextAt(d.Labels[name], noPos))
	}
	if d.Labels == nil {
		labels.put("k8s-app", object.TextAt("kube-dns", noPos))
	}
	return MapOf(noPos, StringMember("namespace", cmp.Or(d.Namespace, "kube-system"), noPos),
		member("labels", object.Value{Kind: object.KindMap, Members: labels}),
		IntMember("port", cmp.Or(d.Port, 53), noPos), member("cidr", lowerGiven(d.CIDR, noPos)))
}

func peers(list []network.Peer) []object.Value {
	noPos := object.Pos{}
	items := make([]object.Value, len(list))
	for i, p := range list {
		items[i] = MapOf(noPos, StringMember("name", p.Name, noPos), StringMember("namespace", p.Namespace, noPos),
			member("serviceAccount", lowerGiven(p.ServiceAccount, noPos)),
			member("ports", lowerList(networkPorts(p.Ports), noPos)))
		if p.Unlabelled {
			items[i] = addMember(items[i], "unlabelled", BoolMember("", true, noPos).Value)
		}
	}
	return items
}
