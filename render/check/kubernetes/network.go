// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// networkRules returns the rule of a component among the rules of Ingress and NetworkPolicy, or
// nil if it has no rule. The source is k8s.io/kubernetes, pkg/apis/networking/validation.
func networkRules(component string) func(*finding.Value) {
	switch component {
	case "networking.v1.IngressSpec":
		return checkIngress
	case "networking.v1.HTTPIngressPath":
		return checkIngressPath
	case "networking.v1.IngressBackend":
		return func(a *finding.Value) {
			if checkOneOf(a, "backend", "service", "resource") == "resource" {
				checkTypedReference(a.Field("resource"))
			}
		}
	case "networking.v1.IngressServiceBackend":
		return checkIngressService
	case "networking.v1.IngressClassSpec":
		return checkIngressClass
	case "networking.v1.NetworkPolicySpec":
		return checkNetworkPolicy
	case "networking.v1.NetworkPolicyPort":
		return checkNetworkPolicyPort
	case "networking.v1.NetworkPolicyPeer":
		return checkNetworkPolicyPeer
	case "networking.v1.IPBlock":
		return checkIPBlock
	}
	return nil
}

func checkIngress(a *finding.Value) {
	if a.Field("rules").Size() == 0 && !a.Field("defaultBackend").Has() {
		a.Fail(finding.RuleRequired, "needs rules or a defaultBackend")
	}
}

// checkIngressHost requires a host name and no address.
func checkIngressHost(a *finding.Value) {
	t := a.Text()
	if _, err := netip.ParseAddr(t); err == nil {
		a.Fail(finding.RuleFormat, "expected a host name, not an address, found %s", a.Show())
		return
	}
	checkHostName(a)
}

// checkHostName requires a host name, or one with a star for its first label.
func checkHostName(a *finding.Value) {
	t := a.Text()
	if strings.HasPrefix(t, "*") {
		if len(validation.IsWildcardDNS1123Subdomain(t)) > 0 {
			a.Fail(finding.RuleName, "expected a host name such as \"*.example.com\", found %s", a.Show())
		}
		return
	}
	f := len(a.Report.Findings)
	Subdomain(a)
	if len(a.Report.Findings) > f && strings.Contains(t, "://") {
		a.Report.Findings[f].Hint = "a host has no scheme and no path"
	}
}

// checkTypedReference checks what names an object of any kind.
func checkTypedReference(a *finding.Value) {
	group := a.Field("apiGroup")
	Subdomain(group)
	if group.Raw == "" {
		group.Fail(finding.RuleRequired, "must not be empty").Hint = "leave it out for the core group"
	}
	checkPathSegment(a.Field("kind"))
	checkPathSegment(a.Field("name"))
}

func checkIngressPath(a *finding.Value) {
	path, kind := a.Field("path"), a.Field("pathType")
	t := path.Text()
	switch kind.Text() {
	case "Exact", "Prefix":
		if !strings.HasPrefix(t, "/") {
			path.Fail(finding.RuleFormat, "expected a path that begins with \"/\", found %s", path.Show())
		}
		for _, bad := range [...]string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(t, bad) {
				path.Fail(finding.RuleFormat, "must not contain %q, found %s", bad, path.Show())
			}
		}
		for _, bad := range [...]string{"/..", "/."} {
			if strings.HasSuffix(t, bad) {
				path.Fail(finding.RuleFormat, "must not end in %q, found %s", bad, path.Show())
			}
		}
	case "ImplementationSpecific":
		if t != "" && !strings.HasPrefix(t, "/") {
			path.Fail(finding.RuleFormat, "expected a path that begins with \"/\", found %s", path.Show())
		}
	}
}

func checkIngressService(a *finding.Value) {
	number, name := a.In("port", "number"), a.In("port", "name")
	switch {
	case number.Empty() && name.Empty():
		a.Field("port").Fail(finding.RuleRequired, "needs a name or a number")
	case !number.Empty() && !name.Empty():
		a.Field("port").Fail(finding.RuleExclusive, "has a name and a number").Hint = "keep one"
	case !number.Empty():
		checkPort(number)
	}
}

func checkIngressClass(a *finding.Value) {
	c := a.Field("controller")
	domain, path, ok := strings.Cut(c.Text(), "/")
	wellFormed := ok && path != "" && len(validation.IsDNS1123Subdomain(domain)) == 0
	if c.Text() != "" && !wellFormed {
		c.Fail(finding.RuleFormat, "expected a domain with a path such as \"example.com/ingress\", found %s", c.Show())
	}
	if p := a.Field("parameters"); p.Has() {
		scope, namespace := p.Field("scope").Text(), p.Field("namespace")
		if scope == "Namespace" && namespace.Text() == "" {
			p.Missing("namespace")
		}
		if scope != "Namespace" && namespace.Has() {
			namespace.Fail(finding.RuleExclusive, "must not be set unless scope is \"Namespace\"")
		}
	}
}

func checkNetworkPolicy(a *finding.Value) {
	types := a.Field("policyTypes")
	if types.Size() > 2 {
		types.Fail(finding.RuleSize, "expected at most \"Ingress\" and \"Egress\", found %d items", types.Size())
	}
	if a.Field("egress").Size() > 0 && onlyItem(types) == "Ingress" {
		a.Field("egress").Warn(finding.RuleExclusive, "has no effect: policyTypes lacks \"Egress\"")
	}
	if a.Field("ingress").Size() > 0 && onlyItem(types) == "Egress" {
		a.Field("ingress").Warn(finding.RuleExclusive, "has no effect: policyTypes lacks \"Ingress\"")
	}
}

// onlyItem returns the text that is alone in a list, or "" if it is not alone.
func onlyItem(a *finding.Value) string {
	items := a.Items()
	if len(items) != 1 {
		return ""
	}
	return items[0].Text()
}

func checkNetworkPolicyPort(a *finding.Value) {
	p, end := a.Field("port"), a.Field("endPort")
	if !end.Has() {
		return
	}
	low, ok := p.Int()
	high, _ := end.Int()
	switch {
	case !p.Has():
		end.Fail(finding.RuleExclusive, "must not be set without port")
	case !ok:
		end.Fail(finding.RuleExclusive, "must not be set together with a named port")
	case high < low:
		end.Fail(finding.RuleRange, "expected at least %d, the port, found %d", low, high)
	}
}

func checkNetworkPolicyPeer(a *finding.Value) {
	block, pods, spaces := a.Field("ipBlock"), a.Field("podSelector"), a.Field("namespaceSelector")
	switch {
	case block.Has() && (pods.Has() || spaces.Has()):
		block.Fail(finding.RuleExclusive, "must not be set together with podSelector or namespaceSelector").Hint = "write a separate item"
	case !block.Has() && !pods.Has() && !spaces.Has():
		a.Fail(finding.RuleExclusive, "needs a podSelector, a namespaceSelector or an ipBlock")
	}
}

// checkIPBlock requires exceptions inside the block.
func checkIPBlock(a *finding.Value) {
	if a.Field("cidr").Text() == "" {
		return
	}
	block, ok := checkCIDR(a.Field("cidr"))
	for _, e := range a.Field("except").Items() {
		except, good := checkCIDR(e)
		inside := block.Contains(except.Addr()) && except.Bits() > block.Bits()
		if ok && good && !inside {
			e.Fail(finding.RuleRange, "expected a smaller network inside %s, found %s", a.Field("cidr").Show(), e.Show())
		}
	}
}
