// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// requirement is one of a label selector.
type requirement struct {
	key, operator string
	values        []string
}

// labels are pods, and namespaces, with all of the requirements.
type labels []requirement

// selector returns a label selector; the key of each requirement is changed by rename.
func selector(v any, rename func(string) string) (out labels) {
	m := asMap(v)
	for _, name := range object.SortedKeys(asMap(m["matchLabels"])) {
		out = append(out, requirement{rename(name), "In", []string{fmt.Sprint(asMap(m["matchLabels"])[name])}})
	}
	for _, e := range asList(m["matchExpressions"]) {
		r := requirement{key: rename(asText(asMap(e)["key"])), operator: asText(asMap(e)["operator"])}
		for _, value := range asList(asMap(e)["values"]) {
			r.values = append(r.values, fmt.Sprint(value))
		}
		out = append(out, r)
	}
	return out
}

func (l labels) holds(other limit) bool {
	o, ok := other.(labels)
	return ok && !slices.ContainsFunc(l, func(r requirement) bool { return !slices.ContainsFunc(o, r.follows) })
}

// follows reports whether all that meets o meets r.
func (r requirement) follows(o requirement) bool {
	if r.key != o.key {
		return false
	}
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(b, v) })
	}
	switch r.operator {
	case "In":
		return o.operator == "In" && within(o.values, r.values)
	case "NotIn":
		apart := !slices.ContainsFunc(o.values, func(v string) bool { return slices.Contains(r.values, v) })
		switch o.operator {
		case "In":
			return apart
		case "NotIn":
			return within(r.values, o.values)
		}
		return o.operator == "DoesNotExist"
	case "Exists":
		return o.operator == "In" || o.operator == "Exists"
	}
	return r.operator == o.operator
}

// block is a range of addresses without some of them. With pods, pods may have these addresses.
type block struct {
	prefix netip.Prefix
	except []netip.Prefix
	pods   bool
}

// blockOf returns a range, or a limit of its own if cidr is malformed.
func blockOf(cidr string, except []any, pods bool) limit {
	prefix, err := parsePrefix(cidr)
	if err != nil {
		return same("cidr " + cidr)
	}
	out := block{prefix: prefix, pods: pods}
	for _, e := range except {
		if p, err := parsePrefix(asText(e)); err == nil {
			out.except = append(out.except, p)
		}
	}
	return out
}

// parsePrefix returns a range; an address is a range of one address.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

func contains(p, o netip.Prefix) bool { return p.Bits() <= o.Bits() && p.Overlaps(o) }

func (b block) holds(other limit) bool {
	everything := b.prefix.Bits() == 0 && len(b.except) == 0
	switch o := other.(type) {
	case labels:
		return everything && b.pods
	case host, entity:
		return everything && (other != entity("all") && other != entity("cluster"))
	case block:
		left := func(e netip.Prefix) bool {
			return e.Overlaps(o.prefix) && !slices.ContainsFunc(o.except, func(x netip.Prefix) bool { return contains(x, e) })
		}
		return contains(b.prefix, o.prefix) && !slices.ContainsFunc(b.except, left)
	}
	return false
}

// entity is one of the groups of peers that Cilium knows.
type entity string

func (e entity) holds(other limit) bool {
	switch o := other.(type) {
	case labels:
		return e == "all" || e == "cluster"
	case block, host:
		return e == "all" || e == "world"
	case entity:
		switch e {
		case "all", o:
			return true
		case "cluster":
			return slices.Contains([]entity{"health", "host", "ingress", "init", "remote-node", "unmanaged"}, o)
		case "world":
			return strings.HasPrefix(string(o), "world-")
		}
		return false
	}
	return e == "all"
}

// host is a name outside of the cluster, or a pattern in which * is all but dots.
type host string

func (h host) holds(other limit) bool {
	o, ok := other.(host)
	if !ok {
		return false
	}
	return h == "*" || h == o || glob(string(h), string(o))
}

// glob reports whether a name without wildcards matches a pattern.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 || strings.Contains(name, "*") {
		return false
	}
	if !strings.HasPrefix(name, parts[0]) || !strings.HasSuffix(name, parts[len(parts)-1]) {
		return false
	}
	middle := strings.TrimSuffix(name[len(parts[0]):], parts[len(parts)-1])
	return len(parts) == 2 && len(name) >= len(pattern)-1 && !strings.Contains(middle, ".")
}

// port is a range of ports of a protocol, "" for all protocols, or one by its name. More has
// what Cilium asks of requests to them.
type port struct {
	protocol, name string
	from, to       int64
	asked          requests
}

const lastPort = 65535

func (p port) holds(other limit) bool {
	o, ok := other.(port)
	if !ok || p.name != o.name {
		return false
	}
	sameProtocol := p.protocol == "" || p.protocol == o.protocol
	inRange := p.from <= o.from && p.to >= o.to
	return sameProtocol && inRange && p.asked.hold(o.asked)
}

// portOf returns a port by number or name, up to end if that is given. 0 and no number stand for
// all ports.
func portOf(protocol string, number, end any) port {
	out := port{protocol: protocol, to: lastPort}
	switch n := number.(type) {
	case int64:
		out.from, out.to = n, n
	case string:
		if number, err := strconv.ParseInt(n, 10, 32); err == nil {
			out.from, out.to = number, number
		} else {
			out.name = n
		}
	}
	if last, ok := end.(int64); ok && last > out.from {
		out.to = last
	}
	if out.from == 0 && out.name == "" {
		out.to = lastPort
	}
	return out
}
