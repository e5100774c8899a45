// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// The kinds of network policy.
const (
	policyCilium     = "cilium"
	policyKubernetes = "kubernetes"
	policyIstio      = "istio"
)

// choosePolicies returns the kinds of policy that are made: the kinds in wanted. The rules of an
// author must not vanish in a project that asks for no policies: then a NetworkPolicy enforces them
// in the directions of the rules, which types lists, and leaves the other direction open.
func choosePolicies(wanted []string, rules *score.Rules) (policies, types []string) {
	if len(wanted) > 0 || rules == nil {
		return wanted, nil
	}
	if rules.From != nil {
		types = append(types, "Ingress")
	}
	if rules.To != nil {
		types = append(types, "Egress")
	}
	return []string{policyKubernetes}, types
}

// lowerDirections returns the rules of the author, by direction. Rules for hosts are left out: they
// are part of the external hosts.
func lowerDirections(errs *mistakes, r *score.Rules, policies []string) (allowFrom, allowTo object.Value) {
	if r == nil {
		return allowFrom, allowTo
	}
	checkRules(errs, r, policies)
	return lowerRules(r.From), lowerRules(slices.DeleteFunc(slices.Clone(r.To), isExternal))
}

// isExternal reports whether a rule is about a host outside of the cluster.
func isExternal(r score.Rule) bool { return r.Host.Value != "" || r.Service.Value != "" }

func lowerRules(rules []score.Rule) object.Value {
	items := make([]object.Value, len(rules))
	for i, r := range rules {
		items[i] = r.Peer
		if len(r.Ports) > 0 {
			items[i] = addMember(r.Peer, "ports", alwaysList(networkPorts(r.Ports)))
		}
	}
	return lowerList(items, object.Pos{})
}

// checkRules reports rules that no policy of the project can enforce.
func checkRules(errs *mistakes, r *score.Rules, policies []string) {
	const hint = "add cilium or kubernetes to spec.workloads.network.policies of the Project"
	for _, rule := range r.To {
		switch {
		case rule.Host.Value == "" || !slices.Contains(policies, policyKubernetes):
		case len(policies) == 1:
			errs.fail(rule.Host.Pos, errs.extra("network", "allowTo"),
				"write cidr, or add cilium or istio to spec.workloads.network.policies of the Project",
				"a NetworkPolicy of Kubernetes knows no hosts, and no other policy is made")
		case slices.Contains(policies, policyCilium):
			errs.warn(rule.Host.Pos, errs.extra("network", "allowTo"), "ask for one of cilium and kubernetes",
				"the NetworkPolicy knows no hosts and opens the ports to all addresses, also where Cilium does not")
		}
	}

	// Istio by itself enforces little: hosts for calls of pods, and namespaces for callers.
	if len(policies) != 1 || policies[0] != policyIstio {
		return
	}
	unenforced := slices.IndexFunc(r.To, func(rule score.Rule) bool { return !isExternal(rule) })
	switch {
	case unenforced >= 0:
		errs.fail(r.To[unenforced].Pos, errs.extra("network", "allowTo"), hint,
			"istio alone enforces nothing on calls that pods make, but for hosts")
	case r.To != nil && len(r.To) == 0:
		errs.fail(r.Pos, errs.extra("network", "allowTo"), hint, "istio alone enforces nothing on calls that pods make")
	}
	for _, rule := range r.From {
		if labels, ok := rule.Peer.Get("labels"); ok {
			errs.fail(labels.Pos, errs.extra("network", "allowFrom"), hint+", or leave the labels out",
				"istio knows the namespace of a caller and no labels")
		}
	}
}

// checkHosts warns of external hosts for which a NetworkPolicy, which knows no hosts, has to open
// their ports to all addresses.
func checkHosts(errs *mistakes, external []network.External, policies, types []string) {
	cilium := slices.Contains(policies, policyCilium)
	enforced := slices.Contains(policies, policyKubernetes) && (types == nil || slices.Contains(types, "Egress"))
	for _, e := range external {
		switch {
		case e.CIDR != "" || !e.Pos.IsValid() || !enforced:
		case cilium:
			errs.warnAt(e.Pos, e.Path, "ask for one of cilium and kubernetes",
				"the NetworkPolicy knows no hosts and opens the ports of %s to all addresses, also where Cilium does not", e.Host)
		case !slices.Contains(policies, policyIstio):
			errs.warnAt(e.Pos, e.Path, "cilium and istio know hosts: add one to spec.workloads.network.policies of the Project",
				"a NetworkPolicy of Kubernetes knows no hosts, and opens the ports of %s to all addresses", e.Host)
		}
	}
}

// checkTokens warns of policies that keep pods from the tokens of the cloud account that they act
// as: the metadata server of GKE, with or without Dataplane V2, the STS of AWS, and Microsoft
// Entra.
func checkTokens(errs *mistakes, r *Resolved, policies []string) {
	rules := r.Workload.Network
	unrestricted := len(r.Config.Policies) == 0 && (rules == nil || rules.To == nil)
	if unrestricted || slices.Equal(policies, []string{policyIstio}) {
		return
	}
	for _, cloud := range []struct{ annotation, host, v1, v2, hint string }{
		{
			"iam.gke.io/gcp-service-account", "$^", "169.254.169.252:988", "169.254.169.254:80",
			"{cidr: 169.254.169.252/32, ports: [988]}, with Dataplane V2 {cidr: 169.254.169.254/32, ports: [80]}",
		},
		{
			"eks.amazonaws.com/role-arn", `^(sts|\*)(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?$`, "0.0.0.0:443", "0.0.0.0:443",
			"{host: sts.REGION.amazonaws.com, ports: [443]}",
		},
		{
			"azure.workload.identity/client-id", `^(login|\*)(\.partner)?\.microsoftonline\.(com|us|cn)$`,
			"0.0.0.0:443", "0.0.0.0:443", "{host: login.microsoftonline.com, ports: [443]}",
		},
	} {
		for _, a := range r.Workload.ServiceAccount.Annotations {
			if a.Name != cloud.annotation {
				continue
			}
			host := regexp.MustCompile(cloud.host)
			isTokenHost := func(e network.External) bool { return host.MatchString(e.Host) }
			opens := func(r score.Rule) bool {
				return reaches(r, netip.MustParseAddrPort(cloud.v1)) || reaches(r, netip.MustParseAddrPort(cloud.v2))
			}
			allowed := rules != nil && slices.ContainsFunc(rules.To, opens)
			if allowed || slices.ContainsFunc(r.Network.External, isTokenHost) {
				continue
			}
			errs.warn(a.NamePos, errs.extra("network", "allowTo"), "allow "+cloud.hint+"; where policies know no hosts, a cidr with its ports",
				"no rule lets the pods get the tokens of their identity, %s", a.Name)
		}
	}
}

// reaches reports whether a rule opens a port of an address. A rule without ports opens all ports.
// The addresses of a host are not known here, and 0.0.0.0 stands for them: a public cidr is taken to
// hold them, and so is a private cidr with ports, which may be a private endpoint.
func reaches(r score.Rule, target netip.AddrPort) bool {
	opens := func(p score.Port) bool { return p.Port == int(target.Port()) && p.Protocol == network.ProtocolTCP }
	if len(r.Ports) > 0 && !slices.ContainsFunc(r.Ports, opens) {
		return false
	}
	holds := func(v object.Value) bool {
		prefix, err := netip.ParsePrefix(v.Text)
		if address := prefix.Addr(); err == nil && target.Addr().IsUnspecified() {
			return !address.IsLinkLocalUnicast() && (!address.IsPrivate() || len(r.Ports) > 0)
		}
		return err == nil && prefix.Contains(target.Addr())
	}
	cidr, ranged := r.Peer.Get("cidr")
	if !ranged {
		return len(r.Peer.Members) == 0 && !isExternal(r)
	}
	except, _ := r.Peer.Get("except")
	excluded := !target.Addr().IsUnspecified() && slices.ContainsFunc(except.Items, holds)
	return holds(cidr) && !excluded
}

func networkPorts(ports []score.Port) []object.Value {
	items := make([]object.Value, len(ports))
	for i, p := range ports {
		items[i] = networkPort(p)
	}
	return items
}

// networkPort returns a target port: policies see packets after the Service rewrote them.
func networkPort(p score.Port) object.Value {
	return MapOf(p.Pos, IntMember("port", cmp.Or(p.Target, p.Port), p.Pos), StringMember("protocol", p.Protocol, p.Pos))
}
