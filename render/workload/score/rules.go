// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// Rules are traffic that the author allows beside that of the calls between workloads.
type Rules struct {
	Pos object.Pos
	// From may call the pods, and To may be called by them; nil where that direction was
	// not given, and empty where nothing is allowed.
	From, To []Rule
}

// Rule is one kind of peer with the ports that are open to it.
type Rule struct {
	Pos object.Pos
	// Peer is {namespace, labels} or {cidr, except}, each valid; empty for a host, and
	// where any peer is meant.
	Peer object.Value
	// Host is a DNS name, or a pattern such as *.example.com, and Service an external service of
	// the project.
	Host, Service Text
	// Ports are those of the pods that are called, none for all of them.
	Ports []Port
}

// network decodes {allowFrom, allowTo}.
func (p part) network() *Rules {
	out := &Rules{Pos: p.Pos, From: p.get("allowFrom").rules(false), To: p.get("allowTo").rules(true)}
	if out.From == nil && out.To == nil {
		return nil
	}
	return out
}

// rules decodes one direction, which out names.
func (p part) rules(out bool) []Rule {
	if !p.given() {
		return nil
	}
	all := []Rule{}
	for _, item := range p.items() {
		all = append(all, item.rule(out))
	}
	return all
}

// rule decodes one peer. A NetworkPolicy refuses what is checked here, or drops it silently.
func (p part) rule(out bool) Rule {
	namespace, labels, cidr, except, host := p.get("namespace"), p.get("labels"), p.get("cidr"), p.get("except"), p.get("host")
	service, ports := p.get("externalService"), p.get("ports")
	switch {
	case service.given() && len(p.Members) > 1:
		p.fail("remove the rest, or write two rules", "the project says the host and the ports of an externalService")
	case service.given() && !out:
		service.fail("write it under allowTo", "an external service is called, and calls no pods")
	case count(cidr, host) == 2 || count(cidr, host) > 0 && count(namespace, labels) > 0:
		p.fail("write two rules", "expected one of cidr, host, and namespace with labels")
	case len(p.Members) == 0:
		p.fail("write namespace, labels, cidr, host, externalService or ports", "the rule says nothing")
	case except.given() && !cidr.given():
		except.fail("write cidr too", "excludes addresses of a cidr, and there is none")
	case host.given() && !out:
		host.fail("write cidr", "callers have addresses and no host")
	case host.given() && !ports.given() && !p.Known(p.at.Path()):
		host.fail("write ports: [443], or those that they are", "a host needs ports")
	}
	if prefix := cidr.cidr(); prefix.IsValid() {
		except.checkInside(prefix)
	}
	r := Rule{Pos: p.Pos, Host: host.host(), Service: service.text(), Ports: ports.numbers(), Peer: object.Value{Kind: object.KindMap, Pos: p.Pos}}
	for _, m := range p.Members {
		if m.Name != "host" && m.Name != "externalService" && m.Name != "ports" {
			r.Peer.Members = append(r.Peer.Members, m)
		}
	}
	return r
}

// cidr returns a range of addresses. It is not valid if there is none.
func (p part) cidr() netip.Prefix {
	if !p.given() {
		return netip.Prefix{}
	}
	prefix, err := netip.ParsePrefix(p.Text)
	address, single := netip.ParseAddr(p.Text)
	switch {
	case single == nil:
		p.fail("write "+netip.PrefixFrom(address, address.BitLen()).String(), "%s is an address: expected a range", shown(p.Text))
	case err != nil || prefix.Addr().Is4In6():
		p.fail("", "%s is not a range of addresses: expected one such as 10.0.0.0/8", shown(p.Text))
	case prefix != prefix.Masked():
		p.fail("write "+prefix.Masked().String(), "%s has bits of an address after the first %d", shown(p.Text), prefix.Bits())
	default:
		return prefix
	}
	return netip.Prefix{}
}

// checkInside reports ranges that are not smaller than whole, or not inside of it.
func (p part) checkInside(whole netip.Prefix) {
	for _, item := range p.items() {
		inner := item.cidr()
		if inner.IsValid() && (inner.Bits() <= whole.Bits() || !whole.Contains(inner.Addr())) {
			item.fail("", "%s is not inside of the cidr, which is %s", shown(item.Text), whole)
		}
	}
}

// host decodes the name of a host outside of the cluster.
func (p part) host() Text {
	t := p.text()
	p.warnLiterals(useValue)
	name := strings.TrimPrefix(t.Value, "*.")
	_, err := netip.ParseAddr(t.Value)
	switch {
	case t.Value == "":
	case err == nil:
		p.fail("write cidr", "%s is an address and no host", shown(t.Value))
	case !kinds.Subdomain(name, 1) || !strings.Contains(name, "."):
		p.fail("", "%s is not a host: expected a DNS name such as api.example.com or *.example.com", shown(t.Value))
	case strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".cluster.local"):
		p.fail("write namespace and labels", "%s is in the cluster, where policies go by the labels of pods", shown(t.Value))
	}
	return t
}

// numbers decodes ports: numbers of TCP, or {port, protocol}.
func (p part) numbers() []Port {
	var out []Port
	for _, item := range p.items() {
		number, protocol := item, "TCP"
		if item.Kind == object.KindMap {
			number, protocol = item.get("port"), cmp.Or(item.get("protocol").Text, protocol)
		}
		n, ok := number.number()
		twice := slices.ContainsFunc(out, func(o Port) bool { return o.Port == n && o.Protocol == protocol })
		if ok && twice {
			item.fail("", "port %d of %s is written twice", n, protocol)
		}
		if ok && !twice {
			out = append(out, Port{Pos: item.Pos, Port: n, Target: n, Protocol: protocol})
		}
	}
	return out
}
