// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// section is one spec of a policy of Cilium, joined with the specs of the same selector, which add
// up.
type section struct {
	path     string
	selector same
	rules    map[string][]rule
	denies   map[string]bool
}

// directions returns the fields of Cilium by direction.
func directions() [2]struct{ field, peers string } {
	return [2]struct{ field, peers string }{{"ingress", "from"}, {"egress", "to"}}
}

// compareCilium compares two versions of a CiliumNetworkPolicy.
func (c *comparison) compareCilium(before, after object.Object) {
	was, is := sections(before), sections(after)
	for _, b := range was {
		i := slices.IndexFunc(is, func(a section) bool { return a.selector == b.selector })
		if i < 0 && len(was) == 1 && len(is) == 1 {
			i = 0 // The change of the selector is another danger.
		}
		if i < 0 {
			c.report(b.path, "it no longer restricts what this selected")
			continue
		}
		for _, d := range directions() {
			switch {
			case !b.denies[d.field]:
			case !is[i].denies[d.field]:
				c.report("", "it no longer restricts %s", d.field)
			default:
				c.reportUncovered(is[i].rules[d.field], b.rules[d.field], allowsMore)
			}
			c.reportUncovered(b.rules[d.field+"Deny"], is[i].rules[d.field+"Deny"], deniesLess)
		}
	}
}

// sections returns the specs of a policy, which may have one or several.
func sections(o object.Object) (out []section) {
	add := func(path string, spec map[string]any) {
		of := sameAs("", []any{spec["endpointSelector"], spec["nodeSelector"]})
		i := slices.IndexFunc(out, func(s section) bool { return s.selector == of })
		if i < 0 {
			i = len(out)
			out = append(out, section{path: path, selector: of, rules: map[string][]rule{}, denies: map[string]bool{}})
		}
		for _, d := range directions() {
			rules, deny := asList(spec[d.field]), asList(spec[d.field+"Deny"])
			denies, isWritten := asMap(spec["enableDefaultDeny"])[d.field].(bool)
			if !isWritten {
				denies = len(rules)+len(deny) > 0
			}
			out[i].denies[d.field] = out[i].denies[d.field] || denies
			for field, list := range map[string][]any{d.field: rules, d.field + "Deny": deny} {
				out[i].rules[field] = append(out[i].rules[field], ciliumRules(o.Namespace(), path+"."+field, d.peers, list)...)
			}
		}
	}
	if spec := o.Map("spec"); spec != nil {
		add("spec", spec)
	}
	for i, s := range o.List("specs") {
		add(at("specs", i), asMap(s))
	}
	return out
}

// ciliumRules returns the rules in one direction. An empty rule is about nothing: it only turns
// the default to deny.
func ciliumRules(namespace, path, peers string, list []any) (out []rule) {
	for i, item := range list {
		m := asMap(item)
		path := at(path, i)
		allowed := axis{path: path, anything: true}
		ports := axis{path: path + ".toPorts", anything: true}
		other := fixed{}

		// Ports and peers are compared entry by entry, and all else as it is.
		for _, name := range object.SortedKeys(m) {
			switch peer := strings.TrimPrefix(name, peers); {
			case name == "toPorts" || name == "icmps":
				ports.anything = ports.anything && len(asList(m[name])) == 0
				for i, p := range asList(m[name]) {
					ports.entries = append(ports.entries, ciliumPorts(at(path+"."+name, i), name, asMap(p))...)
				}
			case peer == name || peer == "Requires":
				other[name] = sameAs("", m[name])
			default:
				allowed.path, allowed.anything = path+"."+name, false
				for i, p := range asList(m[name]) {
					allowed.entries = append(allowed.entries, entry{at(path+"."+name, i), ciliumPeer(namespace, peer, p)})
				}
			}
		}
		if len(m) > 0 {
			out = append(out, rule{path, sameAs("", m), []axis{allowed, ports, {path: path, entries: []entry{{path, other}}}}})
		}
	}
	return out
}

// ciliumPeer returns a peer of a rule. The argument field is the name of its field without the
// from or to that it begins with.
func ciliumPeer(namespace, field string, v any) limit {
	m := asMap(v)
	switch field {
	case "Endpoints":
		out := selector(v, func(key string) string { return strings.TrimPrefix(strings.TrimPrefix(key, "k8s:"), "any:") })
		scoped := func(r requirement) bool {
			return strings.HasPrefix(r.key, "io.kubernetes.pod.namespace") || strings.HasPrefix(r.key, "io.cilium.k8s.namespace.labels")
		}
		if namespace != "" && !slices.ContainsFunc(out, scoped) {
			out = append(out, requirement{"io.kubernetes.pod.namespace", "In", []string{namespace}})
		}
		return out
	case "CIDR":
		return blockOf(asText(v), nil, false)
	case "CIDRSet":
		if cidr := asText(m["cidr"]); cidr != "" {
			return blockOf(cidr, asList(m["except"]), false)
		}
	case "Entities":
		return entity(asText(v))
	case "FQDNs":
		return host(asText(m["matchName"]) + asText(m["matchPattern"]))
	}
	return sameAs(field, v)
}

// ciliumPorts returns the ports of an item of toPorts or icmps, each with the rules for requests to
// it.
func ciliumPorts(path, field string, m map[string]any) (out []entry) {
	if field == "icmps" {
		for i, f := range asList(m["fields"]) {
			out = append(out, entry{at(path+".fields", i), sameAs("icmp", f)})
		}
		return out
	}
	asked := requests{rules: asMap(m["rules"]), fixed: fixed{}}
	for _, name := range object.SortedKeys(m) {
		if name != "ports" && name != "rules" {
			asked.fixed[name] = sameAs("", m[name])
		}
	}
	for i, p := range asList(m["ports"]) {
		protocol := strings.TrimPrefix(asText(asMap(p)["protocol"]), "ANY")
		of := portOf(protocol, asMap(p)["port"], asMap(p)["endPort"])
		of.asked = asked
		out = append(out, entry{at(path+".ports", i), of})
	}
	if len(out) == 0 {
		of := portOf("", nil, nil)
		of.asked = asked
		out = append(out, entry{path, of})
	}
	return out
}

// requests hold the rules of Cilium for requests: a request must meet one of the rules of its
// protocol. The fixed fields are compared as they are.
type requests struct {
	rules map[string]any
	fixed fixed
}

func (r requests) hold(o requests) bool {
	if !r.fixed.holds(o.fixed) {
		return false
	}
	for protocol, rules := range r.rules {
		asked, wanted := asList(rules), asList(o.rules[protocol])
		if len(asked) == 0 {
			continue
		}
		met := func(v any) bool {
			return slices.ContainsFunc(asked, func(rule any) bool { return meets(asMap(rule), asMap(v)) })
		}
		if len(wanted) == 0 || slices.ContainsFunc(wanted, func(v any) bool { return !met(v) }) {
			return false
		}
	}
	return true
}

// meets reports whether a rule of requests requires all that other requires. Patterns match names
// of the DNS.
func meets(rule, other map[string]any) bool {
	for name, v := range rule {
		switch {
		case v == "":
		case name == "matchPattern" && host(asText(v)).holds(host(asText(other["matchName"])+asText(other["matchPattern"]))):
		case asList(v) != nil:
			for _, item := range asList(v) {
				if !slices.ContainsFunc(asList(other[name]), func(o any) bool { return sameAs("", o) == sameAs("", item) }) {
					return false
				}
			}
		case sameAs("", v) != sameAs("", other[name]):
			return false
		}
	}
	return true
}
