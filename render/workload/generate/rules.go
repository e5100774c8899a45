// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// The kinds of network policy.
const (
	policyCilium     = "cilium"
	policyKubernetes = "kubernetes"
	policyIstio      = "istio"
)

// policies are the kinds of policy that are made. An author's rules must not vanish in a
// project that asks for none: a NetworkPolicy enforces those, in the directions that they
// are about, and leaves the other open.
func (l *lowering) policies() (policies, types []string) {
	rules := l.spec.Network
	if len(l.r.Config.Policies) > 0 || rules == nil {
		return l.r.Config.Policies, nil
	}
	if rules.From != nil {
		types = append(types, "Ingress")
	}
	if rules.To != nil {
		types = append(types, "Egress")
	}
	return []string{policyKubernetes}, types
}

// rules are those of the author, by direction; hosts are with the others outside of the
// cluster.
func (l *lowering) rules(policies []string) (from, to object.Value) {
	r := l.spec.Network
	if r == nil {
		return from, to
	}
	l.checkRules(r, policies)
	return lowerRules(r.From), lowerRules(slices.DeleteFunc(slices.Clone(r.To), func(r score.Rule) bool { return r.Host.Value != "" }))
}

func lowerRules(rules []score.Rule) object.Value {
	items := make([]object.Value, len(rules))
	for i, r := range rules {
		items[i] = r.Peer
		if len(r.Ports) > 0 {
			items[i] = addMember(r.Peer, "ports", always(networkPorts(r.Ports)))
		}
	}
	return lowerList(items, object.Pos{})
}

// checkRules refuses what no policy of the project can enforce.
func (l *lowering) checkRules(r *score.Rules, policies []string) {
	const hint = "add cilium or kubernetes to spec.workloads.network.policies of the Project"
	for _, to := range r.To {
		switch {
		case to.Host.Value == "" || !slices.Contains(policies, policyKubernetes):
		case len(policies) == 1:
			l.fail(to.Host.Pos, l.extra("network", "allowTo"), "write cidr, or add cilium or istio to spec.workloads.network.policies of the Project",
				"a NetworkPolicy of Kubernetes knows no hosts, and no other policy is made")
		case slices.Contains(policies, policyCilium):
			l.warn(to.Host.Pos, l.extra("network", "allowTo"), "ask for one of cilium and kubernetes",
				"the NetworkPolicy knows no hosts and opens the ports to all addresses, also where Cilium does not")
		}
	}
	if len(policies) != 1 || policies[0] != policyIstio {
		return
	}
	unenforced := slices.IndexFunc(r.To, func(to score.Rule) bool { return to.Host.Value == "" })
	switch {
	case unenforced >= 0:
		l.fail(r.To[unenforced].Pos, l.extra("network", "allowTo"), hint, "istio alone enforces nothing on calls that pods make, but for hosts")
	case r.To != nil && len(r.To) == 0:
		l.fail(r.Pos, l.extra("network", "allowTo"), hint, "istio alone enforces nothing on calls that pods make")
	}
	for _, from := range r.From {
		if labels, ok := from.Peer.Get("labels"); ok {
			l.fail(labels.Pos, l.extra("network", "allowFrom"), hint+", or leave the labels out", "istio knows the namespace of a caller and no labels")
		}
	}
}
