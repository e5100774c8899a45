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

// Rules are the traffic that the author allows beside the calls between workloads.
type Rules struct {
	Pos object.Pos
	// From lists the peers that may call the pods, and To the peers that the pods may call.
	// A direction is nil if it was not given, and empty if it allows nothing.
	From, To []Rule
}

// Rule is one kind of peer with the ports that are open to it.
type Rule struct {
	Pos object.Pos
	// Peer is {namespace, labels} or {cidr, except}, each valid; it is empty for a host and
	// for any peer.
	Peer object.Value
	// Host is a DNS name, or a pattern such as *.example.com, and Service an external service of
	// the project.
	Host, Service Text
	// Ports are the ports of the called pods; an empty list means all ports.
	Ports []Port
}

// network decodes {allowFrom, allowTo}.
func (p part) network() *Rules {
	out := &Rules{Pos: p.Pos, From: p.field("allowFrom").rules(false), To: p.field("allowTo").rules(true)}
	if out.From == nil && out.To == nil {
		return nil
	}
	return out
}

// rules decodes one direction: outbound or inbound.
func (p part) rules(outbound bool) []Rule {
	if !p.given() {
		return nil
	}
	rules := []Rule{}
	for _, item := range p.parts() {
		rules = append(rules, item.rule(outbound))
	}
	return rules
}

// rule decodes one peer. A NetworkPolicy rejects, or silently drops, the rules that are checked here.
func (p part) rule(outbound bool) Rule {
	namespace, labels, cidr, except, host := p.field("namespace"), p.field("labels"), p.field("cidr"), p.field("except"), p.field("host")
	service, ports := p.field("externalService"), p.field("ports")
	isCIDR, isHost, isPods := count(cidr) > 0, count(host) > 0, count(namespace, labels) > 0
	switch {
	case service.given() && len(p.Members) > 1:
		p.reject("remove the rest, or write two rules", "the project says the host and the ports of an externalService")
	case service.given() && !outbound:
		service.reject("write it under allowTo", "an external service is called, and calls no pods")
	case (isCIDR && isHost) || ((isCIDR || isHost) && isPods):
		p.reject("write two rules", "expected one of cidr, host, and namespace with labels")
	case len(p.Members) == 0:
		p.reject("write namespace, labels, cidr, host, externalService or ports", "the rule says nothing")
	case except.given() && !cidr.given():
		except.reject("write cidr too", "excludes addresses of a cidr, and there is none")
	case host.given() && !outbound:
		host.reject("write cidr", "callers have addresses and no host")
	case host.given() && !ports.given() && !p.Known(p.loc.Path()):
		host.reject("write ports: [443], or those that they are", "a host needs ports")
	}
	if prefix := cidr.cidr(); prefix.IsValid() {
		except.checkInside(prefix)
	}

	// The peer has the other fields.
	r := Rule{
		Pos: p.Pos, Host: host.host(), Service: service.asText(), Ports: ports.numbers(),
		Peer: object.Value{Kind: object.KindMap, Pos: p.Pos},
	}
	for _, m := range p.Members {
		if m.Name != "host" && m.Name != "externalService" && m.Name != "ports" {
			r.Peer.Members = append(r.Peer.Members, m)
		}
	}
	return r
}

// cidr returns a range of addresses. It is not valid if none is given or if it has a mistake.
func (p part) cidr() netip.Prefix {
	if !p.given() {
		return netip.Prefix{}
	}
	prefix, err := netip.ParsePrefix(p.Text)
	address, notAddress := netip.ParseAddr(p.Text)
	switch {
	case notAddress == nil:
		p.reject("write "+netip.PrefixFrom(address, address.BitLen()).String(), "%s is an address: expected a range", shown(p.Text))
	case err != nil || prefix.Addr().Is4In6():
		p.reject("", "%s is not a range of addresses: expected one such as 10.0.0.0/8", shown(p.Text))
	case prefix != prefix.Masked():
		p.reject("write "+prefix.Masked().String(), "%s has bits of an address after the first %d", shown(p.Text), prefix.Bits())
	default:
		return prefix
	}
	return netip.Prefix{}
}

// checkInside reports ranges that are not smaller than outer, or not inside of it.
func (p part) checkInside(outer netip.Prefix) {
	for _, item := range p.parts() {
		inner := item.cidr()
		if inner.IsValid() && (inner.Bits() <= outer.Bits() || !outer.Contains(inner.Addr())) {
			item.reject("", "%s is not inside of the cidr, which is %s", shown(item.Text), outer)
		}
	}
}

// host decodes the name of a host outside of the cluster.
func (p part) host() Text {
	t := p.asText()
	p.warnLiterals(useValue)
	name := strings.TrimPrefix(t.Value, "*.")
	_, err := netip.ParseAddr(t.Value)
	switch {
	case t.Value == "":
	case err == nil:
		p.reject("write cidr", "%s is an address and no host", shown(t.Value))
	case !kinds.Subdomain(name, 1) || !strings.Contains(name, "."):
		p.reject("", "%s is not a host: expected a DNS name such as api.example.com or *.example.com", shown(t.Value))
	case strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".cluster.local"):
		p.reject("write namespace and labels", "%s is in the cluster, where policies go by the labels of pods", shown(t.Value))
	}
	return t
}

// numbers decodes ports: numbers of TCP, or {port, protocol}.
func (p part) numbers() []Port {
	var out []Port
	for _, item := range p.parts() {
		number, protocol := item, "TCP"
		if item.Kind == object.KindMap {
			number, protocol = item.field("port"), cmp.Or(item.field("protocol").Text, protocol)
		}
		n, ok := number.number()
		twice := slices.ContainsFunc(out, func(o Port) bool { return o.Port == n && o.Protocol == protocol })
		if ok && twice {
			item.reject("", "port %d of %s is written twice", n, protocol)
		}
		if ok && !twice {
			out = append(out, Port{Pos: item.Pos, Port: n, Target: n, Protocol: protocol})
		}
	}
	return out
}
