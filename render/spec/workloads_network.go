// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"net/netip"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// Network is what network policies cannot know by themselves. The zero value is
// what most clusters have.
type Network struct {
	// DNS is where pods resolve names: kube-dns of kube-system, port 53, where
	// nothing is given.
	DNS DNS
	// RoutesFrom is the namespace of the pods that requests of routes come from.
	// Where it is "", it is that of the gateway that a route names, and anywhere
	// where that is not known.
	RoutesFrom string
	// Ambient is set if the mesh of Istio has no proxies in the pods.
	Ambient bool
}

// DNS is where pods resolve names.
type DNS struct {
	// Namespace and Labels find the pods of the servers.
	Namespace string
	Labels    map[string]string
	// Port that the pods of the servers listen on; 0 means 53.
	Port int
	// CIDR is the address of a cache on the node (NodeLocal DNSCache), such as
	// 169.254.20.10/32; "" is none.
	CIDR string
}

// canaryProviders are what Ropewalk can have Flagger shift traffic with.
func canaryProviders() []string {
	return []string{"gatewayapi:v1", "istio", "kubernetes", "linkerd", "nginx"}
}

// network decodes the network policies and their settings.
func (f *fields) network(out *Workloads) {
	out.Policies = f.enums("policies", "cilium", "kubernetes", "istio")
	out.Network.RoutesFrom = f.label("routesFrom")
	out.Network.Ambient = f.enum("mesh", "sidecar", "ambient") == "ambient"
	if d, ok := f.child("dns"); ok {
		d.dns(&out.Network.DNS)
	}
	f.done()
}

func (f *fields) dns(out *DNS) {
	out.Namespace = f.label("namespace")
	out.Labels = f.texts("labels", false)
	if v, path, ok := f.get("port"); ok && f.kind(v, path, object.KindNumber) {
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < 1 || n > 65535 {
			f.fail(v.Pos, path, "", "%s is not a port: expected 1 to 65535", v.Text)
		}
		out.Port = n
	}
	if text, pos := f.text("cidr"); text != "" {
		if _, err := netip.ParsePrefix(text); err != nil {
			f.fail(pos, f.path.Append(object.Field("cidr")), "", "%q is not a range of addresses: expected one such as 169.254.20.10/32", text)
		}
		out.CIDR = text
	}
	f.done()
}
