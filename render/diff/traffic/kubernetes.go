// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// compareKubernetes compares two versions of a NetworkPolicy.
func (c *comparison) compareKubernetes(before, after object.Object) {
	for _, d := range []struct{ kind, peers string }{{"Ingress", "from"}, {"Egress", "to"}} {
		switch {
		case !isolates(before, d.kind):
		case !isolates(after, d.kind):
			c.report("", "it no longer restricts %s", d.kind)
		default:
			c.reportUncovered(networkRules(after, d.kind, d.peers), networkRules(before, d.kind, d.peers), allowsMore)
		}
	}
}

// isolates reports whether a NetworkPolicy restricts a direction. The API server defaults
// policyTypes to Ingress, and to Egress too if there are rules for it.
func isolates(o object.Object, kind string) bool {
	types := o.List("spec", "policyTypes")
	if len(types) == 0 {
		return kind == "Ingress" || len(o.List("spec", "egress")) > 0
	}
	return slices.Contains(types, any(kind))
}

func networkRules(o object.Object, kind, peers string) (out []rule) {
	field := strings.ToLower(kind)
	for i, r := range o.List("spec", field) {
		path := at("spec."+field, i)
		out = append(out, rule{path, sameAs("", r), []axis{
			listed(path+"."+peers, asList(asMap(r)[peers]), func(path string, peer any) entry {
				return entry{path, networkPeer(asMap(peer), o.Namespace())}
			}),
			listed(path+".ports", asList(asMap(r)["ports"]), func(path string, p any) entry {
				m := asMap(p)
				return entry{path, portOf(cmp.Or(asText(m["protocol"]), "TCP"), m["port"], m["endPort"])}
			}),
		}})
	}
	return out
}

// networkPeer returns a peer of a NetworkPolicy. Without a selector of namespaces its pods are in
// the namespace of the policy.
func networkPeer(m map[string]any, namespace string) limit {
	if b, ok := m["ipBlock"]; ok {
		return blockOf(asText(asMap(b)["cidr"]), asList(asMap(b)["except"]), true)
	}
	out := selector(m["podSelector"], func(key string) string { return "pod " + key })
	if _, ok := m["namespaceSelector"]; ok {
		return append(out, selector(m["namespaceSelector"], func(key string) string { return "namespace " + key })...)
	}
	return append(out, requirement{"namespace kubernetes.io/metadata.name", "In", []string{namespace}})
}
