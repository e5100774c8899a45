// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-shellwords"

	"github.com/ropewalk/ropewalk/render/object"
)

// words is a command: a list, or a text that is split as a shell splits it.
func (p part) words() []object.Value {
	if p.Kind != object.KindString {
		var out []object.Value
		for _, item := range p.items() {
			out = append(out, text(item.text(), item.Pos))
		}
		return out
	}
	words, err := shellwords.Parse(p.Text)
	if err != nil {
		p.fail("write a list", "the command cannot be split into words: a quote or a backslash is not closed")
	}
	out := make([]object.Value, len(words))
	for i, w := range words {
		out[i] = text(w, p.Pos)
	}
	return out
}

// ports sets the ports of the service. Others reach a service by the port of the container,
// in Compose, so that each of those is a port of the Service, beside those that are
// published.
func (s *service) ports() {
	type key struct {
		port     int
		protocol string
	}
	targets := map[key]int{}
	var ports fields
	add := func(at part, port, target int, protocol, name string) {
		protocol = cmp.Or(strings.ToUpper(protocol), "TCP")
		k := key{port, protocol}
		if known, taken := targets[k]; taken {
			if known != target {
				at.fail("publish one of them under another port", "%s port %d leads to %d already, not to %d", protocol, port, known, target)
			}
			return
		}
		targets[k] = target
		var f fields
		f.put("port", number(port, at.Pos))
		if port != target {
			f.put("targetPort", number(target, at.Pos))
		}
		if protocol != "TCP" {
			f.put("protocol", text(protocol, at.Pos))
		}
		ports.put(cmp.Or(name, strings.ToLower(protocol)+"-"+strconv.Itoa(port)), f.value(at.Pos))
	}
	all := append(s.get("ports").items(), s.exposed()...)
	for _, p := range all {
		p.only("target", "published", "protocol", "host_ip", "mode", "name", "app_protocol")
		p.unused("app_protocol", "mode")
		target, ok := p.get("target").integer(1)
		if published := p.get("published"); ok && published.given() {
			if n, good := published.integer(1); good {
				add(p, n, target, p.get("protocol").text(), p.get("name").text())
			}
		}
		if ip := p.get("host_ip"); ip.given() {
			ip.warn("", "the address of a host has no meaning in Kubernetes: the Service is reached inside of the cluster")
		}
	}
	for _, p := range all {
		target, _ := p.get("target").integer(1)
		if _, taken := targets[key{target, cmp.Or(strings.ToUpper(p.get("protocol").text()), "TCP")}]; target > 0 && !taken {
			add(p, target, target, p.get("protocol").text(), "")
		}
	}
	if len(ports) == 0 && s.reached && !s.job {
		at := s.part
		at.Pos = s.namePos
		at.warn("write expose: [5432], or the port that it is", "other services depend on this one, and it has no port: without one Kubernetes has no name for it")
	}
	s.spec.put("service", pairs(s.Pos, "ports", ports.value(s.Pos)))
}

// exposed is the ports of expose in the form of ports.
func (s *service) exposed() []part {
	var out []part
	for _, p := range s.get("expose").items() {
		for _, v := range (part{p.reading, text(p.text(), p.Pos), p.path}).port() {
			out = append(out, part{p.reading, v, p.path})
		}
	}
	return out
}

// probes sets a readiness probe and a liveness probe from the health check, with the
// defaults of Compose.
func (s *service) probes() {
	h := s.get("healthcheck")
	h.only("test", "interval", "timeout", "retries", "start_period", "start_interval", "disable")
	h.unused("start_interval")
	for _, kind := range []string{"readiness", "liveness"} {
		action := s.komposeProbe(kind)
		test := h.get("test")
		words := test.words()
		switch {
		case len(action) > 0:
		case h.get("disable").flag() || len(words) == 0 || words[0].Text == "NONE":
			if h.given() && !test.given() && !h.get("disable").flag() {
				h.warn("write test", "the health check of an image is not known here: there is no probe")
			}
			return
		case test.Kind == object.KindString:
			words = []object.Value{text("/bin/sh", test.Pos), text("-c", test.Pos), test.Value}
		case words[0].Text == "CMD-SHELL":
			words = append([]object.Value{text("/bin/sh", test.Pos), text("-c", test.Pos)}, words[1:]...)
		case words[0].Text == "CMD":
			words = words[1:]
		default:
			test.fail(`write ["CMD", …] or ["CMD-SHELL", …]`, "the test begins with CMD, CMD-SHELL or NONE, got %q", words[0].Text)
			return
		}
		if len(action) == 0 {
			action.put("exec", pairs(test.Pos, "command", list(test.Pos, words...)))
		}
		const usual, tries = 30, 3
		action.put("periodSeconds", number(max(1, h.get("interval").seconds(usual)), h.Pos))
		action.put("timeoutSeconds", number(max(1, h.get("timeout").seconds(usual)), h.Pos))
		retries, ok := h.get("retries").integer(0)
		if !ok || retries == 0 {
			retries = tries
		}
		action.put("failureThreshold", number(retries, h.Pos))
		if n := h.get("start_period").seconds(0); n > 0 {
			action.put("initialDelaySeconds", number(n, h.get("start_period").Pos))
		}
		s.container.put(kind+"Probe", action.value(cmp.Or(h.Pos, s.Pos)))
	}
}

// komposeProbe is the action of a probe that labels describe, nothing where none do.
func (s *service) komposeProbe(kind string) (action fields) {
	of := func(name string) part { return s.kompose["service.healthcheck."+kind+"."+name] }
	if p := of("http_get_port"); p.reading != nil {
		path := of("http_get_path")
		action.put("httpGet", pairs(p.Pos, "port", numberOf(p), "path", text(cmp.Or(path.Text, "/"), cmp.Or(path.Pos, p.Pos))))
	} else if p := of("tcp_port"); p.reading != nil {
		action.put("tcpSocket", pairs(p.Pos, "port", numberOf(p)))
	}
	return action
}

// amounts sets requests and limits.
func (s *service) amounts() {
	resources := s.at("deploy", "resources")
	resources.only("limits", "reservations")
	out := map[string]*fields{"limits": {}, "requests": {}}
	cpu := func(to string, p part) {
		if p.given() {
			out[to].put("cpu", text(p.text(), p.Pos))
		}
	}
	limits, reservations := resources.get("limits"), resources.get("reservations")
	limits.only("cpus", "memory", "pids")
	reservations.only("cpus", "memory", "devices", "generic_resources")
	for _, name := range []string{"devices", "generic_resources"} {
		if p := reservations.get(name); p.given() {
			p.fail("write x-ropewalk: {containers: {"+s.label+": {resources: {limits: {nvidia.com/gpu: 1}}}}}", "a reservation of devices has no counterpart: the name of the resource depends on the cluster")
		}
	}
	limits.unused("pids")
	first := func(p, o part) part {
		if p.given() {
			return p
		}
		return o
	}
	cpu("limits", first(limits.get("cpus"), s.get("cpus")))
	out["limits"].put("memory", first(limits.get("memory"), s.get("mem_limit")).bytes())
	cpu("requests", reservations.get("cpus"))
	out["requests"].put("memory", first(reservations.get("memory"), s.get("mem_reservation")).bytes())
	s.container.put("resources", pairs(s.Pos, "limits", out["limits"].value(s.Pos), "requests", out["requests"].value(s.Pos)))
}

// secure sets what the container may do.
func (s *service) secure() {
	if p := s.get("privileged"); p.flag() {
		p.fail("name what it needs in cap_add, or write x-ropewalk: {containers: {"+s.label+": {securityContext: {privileged: true}}}}",
			"a privileged container owns its node")
	}
	user := s.get("user")
	uid, gid, grouped := strings.Cut(user.text(), ":")
	for _, id := range []struct{ name, field string }{{uid, "runAsUser"}, {gid, "runAsGroup"}} {
		if id.name == "root" {
			id.name = "0"
		}
		n, err := strconv.Atoi(id.name)
		switch {
		case !user.given() || id.field == "runAsGroup" && !grouped:
		case err != nil || n < 0:
			user.fail(`write its number, such as "1000:1000"`, "the user or group %q is a name of the image, and Kubernetes takes numbers", id.name)
		default:
			s.security.put(id.field, number(n, user.Pos))
		}
	}
	if p := s.get("read_only"); p.flag() {
		s.security.put("readOnlyRootFilesystem", boolean(true, p.Pos))
	}
	var caps fields
	for _, field := range [][2]string{{"cap_add", "add"}, {"cap_drop", "drop"}} {
		var names []object.Value
		for _, c := range s.get(field[0]).items() {
			names = append(names, text(strings.TrimPrefix(strings.ToUpper(c.text()), "CAP_"), c.Pos))
		}
		caps.put(field[1], list(s.get(field[0]).Pos, names...))
	}
	s.security.put("capabilities", caps.value(s.Pos))
	for _, o := range s.get("security_opt").items() {
		name, value, _ := strings.Cut(strings.Replace(o.text(), "=", ":", 1), ":")
		switch {
		case name == "no-new-privileges" && value != "false":
			s.security.put("allowPrivilegeEscalation", boolean(false, o.Pos))
		case (name == "seccomp" || name == "apparmor") && value == "unconfined":
			s.security.put(map[string]string{"seccomp": "seccompProfile", "apparmor": "appArmorProfile"}[name], pairs(o.Pos, "type", text("Unconfined", o.Pos)))
		case name != "no-new-privileges":
			o.fail("write x-ropewalk: {containers: {"+s.label+": {securityContext: …}}}", "the option %q has no counterpart", name)
		}
	}
}

// pods sets the fields of the pods.
func (s *service) pods() {
	if p := s.get("hostname"); p.given() {
		s.pod.put("hostname", p.Value)
	}
	if p := s.get("stop_grace_period"); p.given() {
		s.pod.put("terminationGracePeriodSeconds", number(p.seconds(0), p.Pos))
	}
	var aliases []object.Value
	for _, h := range s.get("extra_hosts").members() {
		for _, v := range h.values() {
			ip, err := netip.ParseAddr(strings.Trim(v.Text, "[]"))
			if err != nil {
				h.fail("write an address", "%q is not an address: there is no gateway of a host in Kubernetes", v.Text)
				continue
			}
			aliases = append(aliases, pairs(v.Pos, "ip", text(ip.String(), v.Pos), "hostnames", list(h.namePos, text(h.name, h.namePos))))
		}
	}
	s.pod.put("hostAliases", list(s.get("extra_hosts").Pos, aliases...))
	var dns fields
	dns.put("nameservers", list(s.get("dns").Pos, s.get("dns").Items...))
	dns.put("searches", list(s.get("dns_search").Pos, s.get("dns_search").Items...))
	var options []object.Value
	for _, o := range s.get("dns_opt").items() {
		name, value, found := strings.Cut(o.text(), ":")
		option := pairs(o.Pos, "name", text(name, o.Pos))
		if found {
			option.Members = append(option.Members, object.Member{Name: "value", Pos: o.Pos, Value: text(value, o.Pos)})
		}
		options = append(options, option)
	}
	dns.put("options", list(s.get("dns_opt").Pos, options...))
	s.pod.put("dnsConfig", dns.value(s.get("dns").Pos))
	var sysctls, groups []object.Value
	for _, c := range s.get("sysctls").members() {
		sysctls = append(sysctls, pairs(c.namePos, "name", text(c.name, c.namePos), "value", text(c.text(), c.Pos)))
	}
	s.podSecurity.put("sysctls", list(s.get("sysctls").Pos, sysctls...))
	for _, g := range s.get("group_add").items() {
		if n, err := strconv.Atoi(g.text()); err == nil {
			groups = append(groups, number(n, g.Pos))
		} else {
			g.fail("write its number", "the group %q is a name of the image, and Kubernetes takes numbers", g.text())
		}
	}
	s.podSecurity.put("supplementalGroups", list(s.get("group_add").Pos, groups...))
}

// networks lets the services of one network call each other, where the project makes network
// policies: each is a label of the pods, and a rule in both directions.
func (s *service) networks() {
	const prefix = "compose.ropewalk.dev/"
	all := s.app.root.get("networks")
	names := s.get("networks").members()
	if len(names) == 0 {
		names = []member{{part: part{s.reading, object.Value{Pos: s.Pos}, nil}, name: "default", namePos: s.Pos}}
	}
	var labels fields
	var rules []object.Value
	for _, n := range names {
		n.only("aliases", "ipv4_address", "ipv6_address", "link_local_ips", "mac_address", "priority", "driver_opts", "gw_priority", "interface_name")
		n.unused("ipv4_address", "ipv6_address", "link_local_ips", "mac_address", "driver_opts", "interface_name")
		if n.name != "default" && !all.has(n.name) {
			n.fail("declare it under networks", "there is no network %q", n.name)
		}
		for _, a := range n.get("aliases").items() {
			if a.text() != s.label {
				a.fail("call the service by its own name", "Kubernetes knows the service as %q only, not as %q", s.label, a.text())
			}
		}
		one := pairs(n.namePos, prefix+label(n.name), text(cmp.Or(label(s.app.root.app), "true"), n.namePos))
		labels = append(labels, one.Members...)
		rules = append(rules, pairs(n.namePos, "labels", one))
	}
	if !s.project.NetworkPolicies() {
		return
	}
	s.spec.put("labels", labels.value(s.Pos))
	own, more := s.get("networks"), s.at("x-ropewalk", "network")
	s.spec.put("network", pairs(cmp.Or(own.Pos, s.Pos),
		"allowFrom", list(s.Pos, append(slices.Clip(rules), more.get("allowFrom").Items...)...),
		"allowTo", list(s.Pos, append(slices.Clip(rules), more.get("allowTo").Items...)...)))
}
