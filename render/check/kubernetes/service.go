// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"net/netip"
	"strings"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// serviceRules returns the rule of a component among the rules of Services, or nil if it has
// no rule. The source is k8s.io/kubernetes, pkg/apis/core/validation.
func serviceRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.ServiceSpec":
		return checkService
	case "core.v1.ServicePort":
		return checkServicePort
	}
	return nil
}

// serviceType returns the type of a Service, which is ClusterIP by default.
func serviceType(a *finding.Value) string {
	if t := a.Field("type").Text(); t != "" {
		return t
	}
	return "ClusterIP"
}

func checkService(a *finding.Value) {
	kind := serviceType(a)
	headless := a.Field("clusterIP").Text() == "None"
	switch {
	case kind == "ExternalName":
		checkExternalName(a)
	case a.Field("ports").Size() == 0 && !headless:
		a.Field("ports").Fail(finding.RuleRequired, "needs at least one port")
	}
	if headless && (kind == "NodePort" || kind == "LoadBalancer") {
		a.Field("clusterIP").Fail(finding.RuleExclusive, "must not be \"None\" where the type is %q", kind)
	}
	checkServicePorts(a, kind)
	checkServiceAddresses(a)
	checkSession(a)
	checkBalancing(a, kind)
}

func checkExternalName(a *finding.Value) {
	name := a.Field("externalName")
	if name.Text() == "" {
		a.Missing("externalName")
	}
	if t, ok := strings.CutSuffix(name.Text(), "."); ok || t != "" {
		Subdomain(name.WithRaw(t))
	}
	// The server drops what an ExternalName does not have.
	for _, n := range [...]string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
		if f := a.Field(n); !f.Empty() {
			f.Warn(finding.RuleExclusive, "has no effect where the type is \"ExternalName\"")
		}
	}
}

// checkServicePorts checks the ports against one another; that port and protocol
// differ is the schema's business.
func checkServicePorts(a *finding.Value, kind string) {
	ports := a.Field("ports").Items()
	nodes := map[string]bool{}
	for _, p := range ports {
		if p.Field("name").Text() == "" && len(ports) > 1 {
			p.Field("name").Fail(finding.RuleRequired, "is required where a Service has several ports")
		}
		protocol := p.Field("protocol").Text()
		if protocol == "" {
			protocol = "TCP"
		}
		node := p.Field("nodePort")
		if i, ok := node.Int(); ok && i != 0 {
			switch {
			case kind == "ClusterIP":
				node.Fail(finding.RuleExclusive, "must not be set where the type is \"ClusterIP\"").Hint = "set type to NodePort, or leave the port out"
			case nodes[protocol+node.Show()]:
				node.Fail(finding.RuleUnique, "is taken by another port: %d", i)
			case i < 30000 || i > 32767:
				node.Warn(finding.RuleRange, "is outside the range that clusters reserve by default, 30000 to 32767, found %d", i)
			}
			nodes[protocol+node.Show()] = true
		}
	}
}

func checkServicePort(a *finding.Value) {
	// The server takes "" and 0 for the number of the port itself.
	if t := a.Field("targetPort"); !t.Empty() {
		checkPortOrName(t)
	}
}

func checkServiceAddresses(a *finding.Value) {
	if c := a.Field("clusterIP"); c.Text() != "None" {
		checkIP(c)
	}
	for _, e := range a.Field("externalIPs").Items() {
		addr, err := netip.ParseAddr(e.Text())
		if err != nil {
			continue
		}
		if addr.IsUnspecified() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() {
			e.Fail(finding.RuleFormat, "expected an address that other hosts can reach, found %s", e.Show())
		}
	}
	if families := a.Field("ipFamilies"); families.Size() > 0 {
		checkUnique(families.Items(), finding.RuleUnique, "is in the list already, as item %d")
	}
	if ips := a.Field("clusterIPs").Items(); len(ips) > 0 {
		first := ips[0]
		if c := a.Field("clusterIP"); c.Text() != "" && c.Text() != first.Text() {
			first.Fail(finding.RuleExclusive, "must equal clusterIP, which is %s, found %s", c.Show(), first.Show())
		}
		for _, i := range ips {
			if i.Text() != "None" {
				checkIP(i)
			} else if len(ips) > 1 {
				i.Fail(finding.RuleExclusive, "must be the only item where it is \"None\"")
			}
		}
	}
}

func checkSession(a *finding.Value) {
	config := a.Field("sessionAffinityConfig")
	if a.Field("sessionAffinity").Text() != "ClientIP" {
		if config.Has() {
			// The server drops it.
			config.Warn(finding.RuleExclusive, "has no effect unless sessionAffinity is \"ClientIP\"")
		}
		return
	}
	checkBetween(config.In("clientIP", "timeoutSeconds"), 1, 86400)
}

// checkBalancing checks what only some types of Service have.
func checkBalancing(a *finding.Value, kind string) {
	outside := kind == "NodePort" || kind == "LoadBalancer"
	if !outside && a.Field("externalIPs").Size() == 0 {
		forbid(a, "unless the type is \"NodePort\" or \"LoadBalancer\"", "externalTrafficPolicy")
	}
	if kind != "LoadBalancer" {
		forbid(a, "unless the type is \"LoadBalancer\"", "loadBalancerClass", "loadBalancerSourceRanges")
		if f := a.Field("allocateLoadBalancerNodePorts"); f.Has() {
			f.Fail(finding.RuleExclusive, "must not be set unless the type is \"LoadBalancer\"")
		}
	}
	health := a.Field("healthCheckNodePort")
	if !health.Empty() && (kind != "LoadBalancer" || a.Field("externalTrafficPolicy").Text() != "Local") {
		health.Fail(finding.RuleExclusive, "must not be set unless the type is \"LoadBalancer\" and externalTrafficPolicy is \"Local\"")
	}
}
