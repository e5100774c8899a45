// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/diff/traffic"
	"github.com/ropewalk/ropewalk/render/object"
)

func reach(o object.Object) []string {
	switch t := o.Text("spec", "type"); t {
	case "LoadBalancer", "NodePort":
		return []string{"type " + t}
	}
	if len(o.List("spec", "externalIPs")) > 0 {
		return []string{"externalIPs"}
	}
	return nil
}

// Hosts returns the hosts that an object leads to workloads. It returns no hosts for any other
// kind.
func Hosts(o object.Object) (out []string) {
	// Each host is returned once.
	known := map[string]bool{}
	add := func(h string) {
		if h != "" && !known[h] {
			known[h] = true
			out = append(out, h)
		}
	}
	field := func(list, name string) {
		for _, e := range o.List("spec", list) {
			m, _ := e.(map[string]any)
			h, _ := m[name].(string)
			add(h)
		}
	}

	// Each kind names hosts in fields of its own.
	switch o.Ref().GroupKind() {
	case "Ingress.networking.k8s.io":
		field("rules", "host")
	case "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io":
		out = texts(o.Get("spec", "hostnames"))
	case "Gateway.gateway.networking.k8s.io":
		field("listeners", "hostname")
	case "VirtualService.networking.istio.io":
		out = texts(o.Get("spec", "hosts"))
	case "IngressRoute.traefik.io":
		for _, r := range o.List("spec", "routes") {
			m, _ := r.(map[string]any)
			match, _ := m["match"].(string)
			for _, call := range regexp.MustCompile(`Host\(([^)]*)\)`).FindAllStringSubmatch(match, -1) {
				for _, h := range strings.Split(call[1], ",") {
					add(strings.Trim(h, " `\"'"))
				}
			}
		}
	}
	return out
}

// unserved returns a danger for each host of before that neither after nor anything else of its
// snapshot leads to.
func unserved(before, after []string, served map[string]bool) []Danger {
	lost := slices.DeleteFunc(slices.Clone(before), func(h string) bool { return served[h] })
	return added(after, lost, DangerUnreachable, "the host %s is no longer served")
}

// restricts returns what happens if an object is deleted that restricts others. It returns "" for
// all other objects.
func restricts(o object.Object) string {
	switch o.Ref().GroupKind() {
	case "NetworkPolicy.networking.k8s.io", "CiliumNetworkPolicy.cilium.io", "CiliumClusterwideNetworkPolicy.cilium.io",
		"AuthorizationPolicy.security.istio.io":
		return "the traffic that it did not allow may be allowed from now on"
	case "SecurityPolicy.gateway.envoyproxy.io", "RequestAuthentication.security.istio.io", "PeerAuthentication.security.istio.io":
		return "what it protects takes requests that it refused"
	case "PodDisruptionBudget.policy":
		return "all pods that it protects may be evicted at once"
	case "ResourceQuota", "LimitRange":
		return "what its namespace may use is no longer limited by it"
	case "ValidatingAdmissionPolicy.admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io", "MutatingWebhookConfiguration.admissionregistration.k8s.io",
		"Policy.kyverno.io", "ClusterPolicy.kyverno.io":
		return "the API server accepts objects that it refused or changed"
	}
	return ""
}

// selectors returns the changes of which pods an object is about.
func selectors(o object.Object, changed []Field) []Danger {
	var fields []string
	effect := "it restricts other pods"
	switch o.Ref().GroupKind() {
	case "Service":
		fields, effect = []string{"spec.selector"}, "it sends its traffic to other pods"
	case "NetworkPolicy.networking.k8s.io":
		fields = []string{"spec.podSelector"}
	case "CiliumNetworkPolicy.cilium.io", "CiliumClusterwideNetworkPolicy.cilium.io":
		fields = []string{"spec.endpointSelector", "spec.nodeSelector"}
	case "AuthorizationPolicy.security.istio.io":
		fields = []string{"spec.selector", "spec.targetRef", "spec.targetRefs"}
	case "PodDisruptionBudget.policy":
		fields, effect = []string{"spec.selector"}, "it protects other pods"
	}
	if slices.ContainsFunc(changed, func(f Field) bool { return under(f.Path, fields...) }) {
		return []Danger{danger(DangerSelector, "its selector changes: %s", effect)}
	}
	return nil
}

// loosened returns what a policy of the network lets through that it did not before. A part that
// is among the changes is called as it is there.
func loosened(before, after object.Object, changed []Field) (out []Danger) {
	found := traffic.Loosened(before, after)
	if len(found) == 0 {
		return nil
	}
	paths := make(map[string]string, len(changed))
	for _, c := range changed {
		paths[c.At.String()] = c.Path
	}
	for _, f := range found {
		f.Path = cmp.Or(paths[f.Path], f.Path)
		if f.Path != "" {
			f.What += ": " + f.Path
		}
		out = append(out, danger(DangerPolicy, "%s", f.What))
	}
	return out
}

// podSecurity returns the danger of a namespace that enforces less on its pods.
func podSecurity(before, after object.Object) []Danger {
	const label = "pod-security.kubernetes.io/enforce"
	levels := []string{"privileged", "", "baseline", "restricted"}
	was, is := before.Labels()[label], after.Labels()[label]
	if before == nil || slices.Index(levels, is) >= slices.Index(levels, was) {
		return nil
	}
	if is == "" {
		is = "that of the cluster"
	}
	return []Danger{danger(DangerPolicy, "the level of pod security that it enforces goes from %s to %s", was, is)}
}
