// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/netip"
	"slices"
	"strings"
)

// serviceRules holds the rules of Services. The source is k8s.io/kubernetes,
// pkg/apis/core/validation.
func serviceRules(component string) func(*at) {
	switch component {
	case "core.v1.ServiceSpec":
		return service
	case "core.v1.ServicePort":
		return servicePort
	case "core.v1.EndpointAddress":
		return func(a *at) { ip(a.field("ip")) }
	case "discovery.v1.EndpointSlice":
		return endpointSlice
	case "core.v1.EndpointPort":
		return func(a *at) { between(a.field("port"), 1, 65535) }
	}
	return nil
}

// serviceType is the type with its default.
func serviceType(a *at) string {
	if t := a.field("type").text(); t != "" {
		return t
	}
	return "ClusterIP"
}

func service(a *at) {
	labels(a.field("selector"))
	kind, headless := serviceType(a), a.field("clusterIP").text() == "None"
	switch {
	case kind == "ExternalName":
		externalName(a)
	case a.field("ports").size() == 0 && !headless:
		a.field("ports").fail(RuleRequired, "needs at least one port")
	}
	if headless && (kind == "NodePort" || kind == "LoadBalancer") {
		a.field("clusterIP").fail(RuleExclusive, "must not be \"None\" where the type is %q", kind)
	}
	servicePorts(a, kind)
	serviceAddresses(a)
	session(a)
	balancing(a, kind)
}

func externalName(a *at) {
	name := a.field("externalName")
	if name.text() == "" {
		a.missing("externalName")
	}
	if t, ok := strings.CutSuffix(name.text(), "."); ok || t != "" {
		subdomain(&at{w: a.w, parent: a, step: name.step, v: t})
	}
	// The server drops what an ExternalName does not have.
	for _, n := range [...]string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
		if f := a.field(n); !f.empty() {
			f.warn(RuleExclusive, "has no effect where the type is \"ExternalName\"")
		}
	}
}

// servicePorts checks the ports against one another; that port and protocol
// differ is the schema's business.
func servicePorts(a *at, kind string) {
	ports := a.field("ports").items()
	names, nodes := map[string]bool{}, map[string]bool{}
	for _, p := range ports {
		name := p.field("name")
		switch t := name.text(); {
		case t == "" && len(ports) > 1:
			name.fail(RuleRequired, "is required where a Service has several ports")
		case t != "" && names[t]:
			name.fail(RuleUnique, "is the name of another port: %s", name.show())
		}
		names[name.text()] = true
		protocol := p.field("protocol").text()
		if protocol == "" {
			protocol = "TCP"
		}
		node := p.field("nodePort")
		if i, ok := node.integer(); ok && i != 0 {
			switch {
			case kind == "ClusterIP":
				node.fail(RuleExclusive, "must not be set where the type is \"ClusterIP\"").Hint = "set type to NodePort, or leave the port out"
			case nodes[protocol+node.show()]:
				node.fail(RuleUnique, "is taken by another port: %d", i)
			case i < 30000 || i > 32767:
				node.warn(RuleRange, "is outside the range that clusters reserve by default, 30000 to 32767, found %d", i)
			}
			nodes[protocol+node.show()] = true
		}
	}
}

func servicePort(a *at) {
	label(a.field("name"))
	port(a.field("port"))
	between(a.field("nodePort"), 0, 65535)
	// The server takes "" and 0 for the number of the port itself.
	if t := a.field("targetPort"); !t.empty() {
		portOrName(t)
	}
	optionalKey(a.field("appProtocol"))
}

func serviceAddresses(a *at) {
	if c := a.field("clusterIP"); c.text() != "None" {
		ip(c)
	}
	for _, e := range a.field("externalIPs").items() {
		ip(e)
		if addr, err := netip.ParseAddr(e.text()); err == nil && (addr.IsUnspecified() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast()) {
			e.fail(RuleFormat, "expected an address that others can reach, found %s", e.show())
		}
	}
	if families := a.field("ipFamilies"); families.size() > 0 {
		unique(families.items(), RuleUnique, "stands in the list already, as item %d")
	}
	if ips := a.field("clusterIPs").items(); len(ips) > 0 {
		first := ips[0]
		if c := a.field("clusterIP"); c.text() != "" && c.text() != first.text() {
			first.fail(RuleExclusive, "must equal clusterIP, which is %s, found %s", c.show(), first.show())
		}
		for _, i := range ips {
			if i.text() != "None" {
				ip(i)
			} else if len(ips) > 1 {
				i.fail(RuleExclusive, "must be the only item where it is \"None\"")
			}
		}
	}
}

func session(a *at) {
	config := a.field("sessionAffinityConfig")
	if a.field("sessionAffinity").text() != "ClientIP" {
		if config.has() {
			// The server drops it.
			config.warn(RuleExclusive, "has no effect unless sessionAffinity is \"ClientIP\"")
		}
		return
	}
	between(config.in("clientIP", "timeoutSeconds"), 1, 86400)
}

func endpointSlice(a *at) {
	for _, e := range a.field("endpoints").items() {
		texts(e.field("addresses"), func(address *at) {
			if a.field("addressType").text() == "FQDN" {
				subdomain(address)
			} else {
				ip(address)
			}
		})
	}
	seen := map[string]bool{}
	for _, p := range a.field("ports").items() {
		name := p.field("name")
		label(name)
		if seen[name.text()] {
			name.fail(RuleUnique, "is the name of another port: %s", name.show())
		}
		seen[name.text()] = true
	}
}

// balancing checks what only some types of Service have.
func balancing(a *at, kind string) {
	outside := kind == "NodePort" || kind == "LoadBalancer"
	if !outside && a.field("externalIPs").size() == 0 {
		forbid(a, "unless the type is \"NodePort\" or \"LoadBalancer\"", "externalTrafficPolicy")
	}
	if kind != "LoadBalancer" {
		forbid(a, "unless the type is \"LoadBalancer\"", "loadBalancerClass", "loadBalancerSourceRanges")
		if f := a.field("allocateLoadBalancerNodePorts"); f.has() {
			f.fail(RuleExclusive, "must not be set unless the type is \"LoadBalancer\"")
		}
	}
	for _, r := range a.field("loadBalancerSourceRanges").items() {
		cidr(r)
	}
	health := a.field("healthCheckNodePort")
	if !health.empty() && (kind != "LoadBalancer" || a.field("externalTrafficPolicy").text() != "Local") {
		health.fail(RuleExclusive, "must not be set unless the type is \"LoadBalancer\" and externalTrafficPolicy is \"Local\"")
	}
	between(health, 0, 65535)
	optionalKey(a.field("loadBalancerClass"))
	known := []string{"PreferClose", "PreferSameZone", "PreferSameNode"}
	if t := a.field("trafficDistribution"); t.has() && !slices.Contains(known, t.text()) {
		t.fail(RuleEnum, "expected %s, found %s", list(known), t.show())
	}
}
