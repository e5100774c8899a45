// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// networkRules holds the rules of Ingress and NetworkPolicy. The source is
// k8s.io/kubernetes, pkg/apis/networking/validation.
func networkRules(component string) func(*at) {
	switch component {
	case "networking.v1.IngressSpec":
		return ingress
	case "networking.v1.IngressRule":
		return func(a *at) { ingressHost(a.field("host")) }
	case "networking.v1.HTTPIngressRuleValue":
		return func(a *at) {
			if a.field("paths").size() == 0 {
				a.field("paths").fail(RuleRequired, "needs at least one path")
			}
		}
	case "networking.v1.HTTPIngressPath":
		return ingressPath
	case "networking.v1.IngressBackend":
		return func(a *at) {
			if oneOf(a, "backend", "service", "resource") == "resource" {
				typedReference(a.field("resource"))
			}
		}
	case "networking.v1.IngressServiceBackend":
		return ingressService
	case "networking.v1.IngressTLS":
		return func(a *at) {
			texts(a.field("hosts"), hostName)
			subdomain(a.field("secretName"))
		}
	case "networking.v1.IngressClassSpec":
		return ingressClass
	case "networking.v1.NetworkPolicySpec":
		return networkPolicy
	case "networking.v1.NetworkPolicyPort":
		return networkPolicyPort
	case "networking.v1.NetworkPolicyPeer":
		return networkPolicyPeer
	case "networking.v1.IPBlock":
		return ipBlock
	}
	return nil
}

func ingress(a *at) {
	subdomain(a.field("ingressClassName"))
	if a.field("rules").size() == 0 && !a.field("defaultBackend").has() {
		a.fail(RuleRequired, "needs rules or a defaultBackend")
	}
}

// ingressHost wants a host name and no address.
func ingressHost(a *at) {
	t := a.text()
	if _, err := netip.ParseAddr(t); err == nil {
		a.fail(RuleFormat, "expected a host name, not an address, found %s", a.show())
		return
	}
	hostName(a)
}

// hostName wants a host name, or one with a star for its first label.
func hostName(a *at) {
	t := a.text()
	if strings.HasPrefix(t, "*") {
		if len(validation.IsWildcardDNS1123Subdomain(t)) > 0 {
			a.fail(RuleName, "expected a host name such as \"*.example.com\", found %s", a.show())
		}
		return
	}
	f := len(a.w.findings)
	subdomain(a)
	if len(a.w.findings) > f && strings.Contains(t, "://") {
		a.w.findings[f].Hint = "a host has no scheme and no path"
	}
}

// typedReference checks what names an object of any kind.
func typedReference(a *at) {
	group := a.field("apiGroup")
	subdomain(group)
	if group.v == "" {
		group.fail(RuleRequired, "must not be empty").Hint = "leave it out for the core group"
	}
	pathSegment(a.field("kind"))
	pathSegment(a.field("name"))
}

func ingressPath(a *at) {
	path, kind := a.field("path"), a.field("pathType")
	t := path.text()
	switch kind.text() {
	case "Exact", "Prefix":
		if !strings.HasPrefix(t, "/") {
			path.fail(RuleFormat, "expected a path that begins with \"/\", found %s", path.show())
		}
		for _, bad := range [...]string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(t, bad) {
				path.fail(RuleFormat, "must not contain %q, found %s", bad, path.show())
			}
		}
		for _, bad := range [...]string{"/..", "/."} {
			if strings.HasSuffix(t, bad) {
				path.fail(RuleFormat, "must not end in %q, found %s", bad, path.show())
			}
		}
	case "ImplementationSpecific":
		if t != "" && !strings.HasPrefix(t, "/") {
			path.fail(RuleFormat, "expected a path that begins with \"/\", found %s", path.show())
		}
	}
}

func ingressService(a *at) {
	label(a.field("name"))
	if name := a.field("port").field("name"); name.text() != "" {
		portName(name)
	}
	number, name := a.in("port", "number"), a.in("port", "name")
	switch {
	case number.empty() && name.empty():
		a.field("port").fail(RuleRequired, "needs a name or a number")
	case !number.empty() && !name.empty():
		a.field("port").fail(RuleExclusive, "has a name and a number").Hint = "keep one"
	case !number.empty():
		port(number)
	}
}

func ingressClass(a *at) {
	c := a.field("controller")
	if t := c.text(); t == "" {
		a.missing("controller")
	} else if domain, path, ok := strings.Cut(t, "/"); !ok || path == "" || len(validation.IsDNS1123Subdomain(domain)) > 0 {
		c.fail(RuleFormat, "expected a domain with a path such as \"example.com/ingress\", found %s", c.show())
	}
	if p := a.field("parameters"); p.has() {
		scope, namespace := p.field("scope").text(), p.field("namespace")
		if scope == "Namespace" && namespace.text() == "" {
			p.missing("namespace")
		}
		if scope != "Namespace" && namespace.has() {
			namespace.fail(RuleExclusive, "must not be set unless scope is \"Namespace\"")
		}
	}
}

func networkPolicy(a *at) {
	types := a.field("policyTypes")
	if types.size() > 2 {
		types.fail(RuleSize, "expected at most \"Ingress\" and \"Egress\", found %d items", types.size())
	}
	if a.field("egress").size() > 0 && onlyItem(types) == "Ingress" {
		a.field("egress").warn(RuleExclusive, "has no effect: policyTypes lacks \"Egress\"")
	}
	if a.field("ingress").size() > 0 && onlyItem(types) == "Egress" {
		a.field("ingress").warn(RuleExclusive, "has no effect: policyTypes lacks \"Ingress\"")
	}
}

// onlyItem is the text that is alone in a list, "" where it is not.
func onlyItem(a *at) string {
	items := a.items()
	if len(items) != 1 {
		return ""
	}
	return items[0].text()
}

func networkPolicyPort(a *at) {
	p, end := a.field("port"), a.field("endPort")
	if p.has() {
		portOrName(p)
	}
	if !end.has() {
		return
	}
	between(end, 1, 65535)
	low, ok := p.integer()
	high, _ := end.integer()
	switch {
	case !p.has():
		end.fail(RuleExclusive, "must not be set without port")
	case !ok:
		end.fail(RuleExclusive, "must not be set beside a named port")
	case high < low:
		end.fail(RuleRange, "expected at least %d, the port, found %d", low, high)
	}
}

func networkPolicyPeer(a *at) {
	block, pods, spaces := a.field("ipBlock"), a.field("podSelector"), a.field("namespaceSelector")
	switch {
	case block.has() && (pods.has() || spaces.has()):
		block.fail(RuleExclusive, "must not be set beside podSelector or namespaceSelector").Hint = "make it an item of its own"
	case !block.has() && !pods.has() && !spaces.has():
		a.fail(RuleExclusive, "needs a podSelector, a namespaceSelector or an ipBlock")
	}
}

// ipBlock wants exceptions inside the block.
func ipBlock(a *at) {
	if a.field("cidr").text() == "" {
		return
	}
	block, ok := cidr(a.field("cidr"))
	for _, e := range a.field("except").items() {
		except, good := cidr(e)
		if ok && good && (!block.Contains(except.Addr()) || except.Bits() <= block.Bits()) {
			e.fail(RuleRange, "expected a smaller network inside %s, found %s", a.field("cidr").show(), e.show())
		}
	}
}
