// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-connections/nat"
	"github.com/mattn/go-shellwords"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// words returns a command from a list, or from a text that is split as a shell splits it.
func words(p document.Part) []object.Value {
	if p.Kind != object.KindString {
		var out []object.Value
		for _, item := range p.Parts() {
			out = append(out, object.TextAt(item.Written(), item.Pos))
		}
		return out
	}
	words, err := shellwords.Parse(p.Text)
	if err != nil {
		p.Fail("write a list", "the command cannot be split into words: a quote or a backslash is not closed")
	}
	out := make([]object.Value, len(words))
	for i, w := range words {
		out[i] = object.TextAt(w, p.Pos)
	}
	return out
}

// setPorts sets the ports of the service. In Compose other services reach a service by the port
// of the container, so that each container port is a port of the Service, besides the published
// ports.
func (s *service) setPorts() {
	type key struct {
		port     int
		protocol string
	}
	targets := map[key]int{}
	var ports builder.Fields

	// A port is added once, and two targets of one port are a mistake.
	add := func(field document.Part, port, target int, protocol, name string) {
		protocol = cmp.Or(strings.ToUpper(protocol), "TCP")
		k := key{port, protocol}
		if existing, found := targets[k]; found {
			if existing != target {
				field.Fail("publish one of them under another port", "%s port %d leads to %d already, not to %d", protocol, port, existing, target)
			}
			return
		}
		targets[k] = target
		var f builder.Fields
		f.Put("port", object.NumberAt(port, field.Pos))
		if port != target {
			f.Put("targetPort", object.NumberAt(target, field.Pos))
		}
		if protocol != "TCP" {
			f.Put("protocol", object.TextAt(protocol, field.Pos))
		}
		ports.Put(cmp.Or(name, strings.ToLower(protocol)+"-"+strconv.Itoa(port)), f.Value(field.Pos))
	}

	entries := append(s.List("ports"), s.exposed()...)

	// Published ports come first.
	for _, p := range entries {
		warnUnused(p, "app_protocol", "mode")
		target, ok := integer(p.At("target"), 1)
		if published := p.At("published"); ok && isAnyPort(published) {
			published.Warn("remove it", "a free port of a host has no meaning in Kubernetes: the Service has the port %d of the container", target)
		} else if n, isPort := integer(published, 1); ok && isPort {
			add(p, n, target, p.At("protocol").Written(), p.At("name").Written())
		}
		if ip := p.At("host_ip"); ip.Given() {
			ip.Warn("", "the address of a host has no meaning in Kubernetes: the Service is reached inside of the cluster")
		}
	}

	// Container ports follow, unless a published port has their number.
	for _, p := range entries {
		target, _ := p.At("target").Number()
		k := key{target, cmp.Or(strings.ToUpper(p.At("protocol").Written()), "TCP")}
		if _, found := targets[k]; target > 0 && !found {
			name := ""
			if published := p.At("published"); !published.Given() || isAnyPort(published) {
				name = p.At("name").Written()
			}
			add(p, target, target, p.At("protocol").Written(), name)
		}
	}

	// A service without ports is headless.
	service := builder.Fields{}
	service.Put("ports", ports.Value(s.Pos))
	headless := strings.EqualFold(s.kompose["service.type"].Text, "headless")
	if (len(ports) == 0 && !s.job) || headless {
		// In Compose the name of each service leads to its containers, at any port.
		service.Put("headless", object.BoolAt(true, s.NamePos))
	}
	s.spec.Put("service", service.Value(s.Pos))
}

// isAnyPort reports whether a published port is any free port of the host: 0, or a range.
func isAnyPort(published document.Part) bool {
	if !published.Given() {
		return false
	}
	first, last, err := nat.ParsePortRange(published.Written())
	return err == nil && (last == 0 || first != last)
}

// exposed returns the ports of expose in the form of ports.
func (s *service) exposed() []document.Part {
	var out []document.Part
	for _, p := range s.List("expose") {
		for _, v := range port(document.Part{Decoder: p.Decoder, Value: object.TextAt(p.Written(), p.Pos), Path: p.Path}) {
			out = append(out, document.Part{Decoder: p.Decoder, Value: v, Path: p.Path})
		}
	}
	return out
}

// setProbes turns the health check into a readiness probe. Compose never restarts a service for its
// health, so that only the labels of kompose make a liveness probe.
func (s *service) setProbes() {
	h := s.At("healthcheck")
	warnUnused(h, "start_interval")
	const usualSeconds, usualRetries = 30, 3
	retries, _ := h.At("retries").Number()
	timing := builder.Pairs(h.Pos,
		"periodSeconds", object.NumberAt(cmp.Or(seconds(h.At("interval")), usualSeconds), h.Pos),
		"timeoutSeconds", object.NumberAt(cmp.Or(seconds(h.At("timeout")), usualSeconds), h.Pos),
		"failureThreshold", object.NumberAt(cmp.Or(retries, usualRetries), h.Pos)).Members

	// Labels of kompose win over the health check.
	ready, live := s.komposeProbe("readiness"), s.komposeProbe("liveness")
	if test := s.healthTest(h); len(ready) == 0 {
		ready = test
	}
	if delay := seconds(h.At("start_period")); delay > 0 && len(live) > 0 {
		live.Put("initialDelaySeconds", object.NumberAt(delay, h.At("start_period").Pos))
	}

	// A health check that is disabled removes the defaults of the project, too.
	disabled := h.At("disable")
	for i, name := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		switch action := [][]object.Member{ready, live, nil}[i]; {
		case len(action) > 0:
			s.container.Put(name, builder.Fields(append(action, timing...)).Value(cmp.Or(h.Pos, s.Pos)))
		case disabled.True():
			null := object.Value{Kind: object.KindNull, Pos: disabled.Pos}
			s.container = append(s.container, object.Member{Name: name, Pos: disabled.Pos, Value: null})
		}
	}
}

// healthTest returns the action of the probe for a health check, or nothing if it has no test.
func (s *service) healthTest(h document.Part) builder.Fields {
	test := h.At("test")
	words := words(test)
	shell := []object.Value{object.TextAt("/bin/sh", test.Pos), object.TextAt("-c", test.Pos)}
	switch {
	case h.Flag("disable") || len(words) == 0 || words[0].Text == "NONE":
		if h.Given() && !test.Given() && !h.Flag("disable") {
			h.Warn("write test", "the health check of an image is not known here: there is no probe")
		}
		return nil
	case test.Kind == object.KindString:
		words = append(shell, test.Value)
	case words[0].Text == "CMD-SHELL":
		words = append(shell, words[1:]...)
	case words[0].Text == "CMD":
		words = words[1:]
	default:
		test.Fail(`write ["CMD", …] or ["CMD-SHELL", …]`, "the test begins with CMD, CMD-SHELL or NONE, got %q", words[0].Text)
		return nil
	}
	for i, w := range words {
		words[i].Text = literal(w.Text)
	}
	command := builder.Pairs(test.Pos, "command", object.ListAt(test.Pos, words...))
	return builder.Fields{{Name: "exec", Pos: test.Pos, Value: command}}
}

// komposeProbe returns the action of a probe that labels describe, or nothing.
func (s *service) komposeProbe(kind string) (action builder.Fields) {
	label := func(name string) document.Part { return s.kompose["service.healthcheck."+kind+"."+name] }
	if p := label("http_get_port"); p.Decoder != nil {
		path := label("http_get_path")
		pathValue := object.TextAt(cmp.Or(path.Text, "/"), cmp.Or(path.Pos, p.Pos))
		action.Put("httpGet", builder.Pairs(p.Pos, "port", numberOf(p), "path", pathValue))
	} else if p := label("tcp_port"); p.Decoder != nil {
		action.Put("tcpSocket", builder.Pairs(p.Pos, "port", numberOf(p)))
	}
	return action
}

// setAmounts sets requests and limits.
func (s *service) setAmounts() {
	resources := s.At("deploy", "resources")
	amounts := map[string]*builder.Fields{"limits": {}, "requests": {}}
	limits, reservations := resources.At("limits"), resources.At("reservations")
	for _, name := range []string{"devices", "generic_resources"} {
		if p := reservations.At(name); p.Given() {
			s.app.failBeside(p,
				"write x-ropewalk: {containers: {"+s.label+": {resources: {limits: {nvidia.com/gpu: 1}}}}}",
				"a reservation of devices has no counterpart: the name of the resource depends on the cluster")
		}
	}
	warnUnused(limits, "pids")

	// The fields of deploy win over the older fields.
	either := func(p, fallback document.Part) document.Part {
		if p.Given() {
			return p
		}
		return fallback
	}
	amounts["limits"].Put("cpu", cpus(either(limits.At("cpus"), s.At("cpus"))))
	amounts["limits"].Put("memory", bytes(either(limits.At("memory"), s.At("mem_limit"))))
	amounts["requests"].Put("cpu", cpus(reservations.At("cpus")))
	amounts["requests"].Put("memory", bytes(either(reservations.At("memory"), s.At("mem_reservation"))))
	resourcesValue := builder.Pairs(s.Pos, "limits", amounts["limits"].Value(s.Pos), "requests", amounts["requests"].Value(s.Pos))
	s.container.Put("resources", resourcesValue)
}

// secure sets the security context of the container.
func (s *service) secure() {
	if p := s.At("privileged"); p.True() {
		p.Fail("name what it needs in cap_add, or write x-ropewalk: {containers: {"+s.label+": {securityContext: {privileged: true}}}}",
			"a privileged container owns its node")
	}

	// The user and the group. Kubernetes takes numbers only.
	user := s.At("user")
	uid, gid, grouped := strings.Cut(user.Written(), ":")
	for _, id := range []struct{ name, field string }{{uid, "runAsUser"}, {gid, "runAsGroup"}} {
		if id.name == "root" {
			id.name = "0"
		}
		n, err := strconv.Atoi(id.name)
		switch {
		case !user.Given() || (id.field == "runAsGroup" && !grouped):
		case err != nil || n < 0:
			user.Fail(`write its number, such as "1000:1000"`, "the user or group %q is a name of the image, and Kubernetes takes numbers", id.name)
		default:
			s.security.Put(id.field, object.NumberAt(n, user.Pos))
		}
	}

	// The file system and the capabilities.
	if p := s.At("read_only"); p.True() {
		s.security.Put("readOnlyRootFilesystem", object.BoolAt(true, p.Pos))
	}
	var caps builder.Fields
	for _, field := range [][2]string{{"cap_add", "add"}, {"cap_drop", "drop"}} {
		var names []object.Value
		for _, c := range s.List(field[0]) {
			names = append(names, object.TextAt(strings.TrimPrefix(strings.ToUpper(c.Written()), "CAP_"), c.Pos))
		}
		caps.Put(field[1], object.ListAt(s.At(field[0]).Pos, names...))
	}
	s.security.Put("capabilities", caps.Value(s.Pos))

	// Further options, some of which have a field.
	for _, o := range s.List("security_opt") {
		name, value, _ := strings.Cut(strings.Replace(o.Written(), "=", ":", 1), ":")
		switch {
		case name == "no-new-privileges" && value != "false":
			s.security.Put("allowPrivilegeEscalation", object.BoolAt(false, o.Pos))
		case (name == "seccomp" || name == "apparmor") && value == "unconfined":
			field := map[string]string{"seccomp": "seccompProfile", "apparmor": "appArmorProfile"}[name]
			s.security.Put(field, builder.Pairs(o.Pos, "type", object.TextAt("Unconfined", o.Pos)))
		case name != "no-new-privileges":
			o.Fail("write x-ropewalk: {containers: {"+s.label+": {securityContext: …}}}", "the option %q has no counterpart", name)
		}
	}
}

// setPods sets the fields of the pods.
func (s *service) setPods() {
	s.setHostname()
	if p := s.At("stop_grace_period"); p.Given() {
		s.pod.Put("terminationGracePeriodSeconds", object.NumberAt(seconds(p), p.Pos))
	}

	// Add names of hosts.
	var aliases []object.Value
	for _, h := range s.At("extra_hosts").Entries() {
		for _, v := range values(h.Part) {
			ip, err := netip.ParseAddr(strings.Trim(v.Text, "[]"))
			if err != nil {
				h.Fail("write an address", "%q is not an address: there is no gateway of a host in Kubernetes", v.Text)
				continue
			}
			hostnames := object.ListAt(h.NamePos, object.TextAt(h.Name, h.NamePos))
			aliases = append(aliases, builder.Pairs(v.Pos, "ip", object.TextAt(ip.String(), v.Pos), "hostnames", hostnames))
		}
	}
	s.pod.Put("hostAliases", object.ListAt(s.At("extra_hosts").Pos, aliases...))

	// Set the servers that resolve names.
	var dns builder.Fields
	dns.Put("nameservers", object.ListAt(s.At("dns").Pos, s.At("dns").Items...))
	dns.Put("searches", object.ListAt(s.At("dns_search").Pos, s.At("dns_search").Items...))
	var options []object.Value
	for _, o := range s.List("dns_opt") {
		name, value, found := strings.Cut(o.Written(), ":")
		option := builder.Pairs(o.Pos, "name", object.TextAt(name, o.Pos))
		if found {
			option.Members = append(option.Members, object.Member{Name: "value", Pos: o.Pos, Value: object.TextAt(value, o.Pos)})
		}
		options = append(options, option)
	}
	dns.Put("options", object.ListAt(s.At("dns_opt").Pos, options...))
	s.pod.Put("dnsConfig", dns.Value(s.At("dns").Pos))

	// Set the kernel and the groups, for all containers.
	var sysctls, groups []object.Value
	for _, c := range s.At("sysctls").Entries() {
		sysctls = append(sysctls, builder.Pairs(c.NamePos, "name", object.TextAt(c.Name, c.NamePos), "value", object.TextAt(c.Written(), c.Pos)))
	}
	s.podSecurity.Put("sysctls", object.ListAt(s.At("sysctls").Pos, sysctls...))
	for _, g := range s.List("group_add") {
		if n, err := strconv.Atoi(g.Written()); err == nil {
			groups = append(groups, object.NumberAt(n, g.Pos))
		} else {
			g.Fail("write its number", "the group %q is a name of the image, and Kubernetes takes numbers", g.Written())
		}
	}
	s.podSecurity.Put("supplementalGroups", object.ListAt(s.At("group_add").Pos, groups...))
}

// setHostname sets the name that the pods have for themselves. No message shows the resulting
// name: a variable in it may be a secret.
func (s *service) setHostname() {
	p := s.At("hostname")
	name := p.Written()
	if name == "" {
		return
	}
	label := builder.Label(name)
	switch {
	case label == "":
		p.Fail("remove it, or write a name of letters, digits and -", "Kubernetes has no host names such as %q", name)
		return
	case label != name:
		p.Warn("write one of lower-case letters, digits and -, at most 63",
			`Kubernetes has no host names such as %q: it is written with "-" for the others`, name)
	}
	s.pod.Put("hostname", object.TextAt(label, p.Pos))
}

// setNetworks lets the services of one network call each other, if the project makes network
// policies: each network is a label of the pods, and a rule in both directions.
func (s *service) setNetworks() {
	const prefix = "compose.ropewalk.dev/"
	declared := s.app.root.At("networks")
	names := s.At("networks").Entries()
	if len(names) == 0 {
		names = []document.Entry{{Part: document.Part{Decoder: s.Decoder, Value: object.Value{Pos: s.Pos}}, Name: "default", NamePos: s.Pos}}
	}

	// Check each network, also if there are no policies.
	var labels builder.Fields
	var rules []object.Value
	for _, n := range names {
		warnUnused(n.Part, "ipv4_address", "ipv6_address", "link_local_ips", "mac_address",
			"driver_opts", "interface_name", "use_service_name_alias")
		if n.Name != "default" && !declared.Has(n.Name) {
			reportUndeclared(declared, n.Part, n.Name, "declare it under networks", "network")
		}
		for _, a := range n.List("aliases") {
			if a.Written() != s.label {
				a.Fail("call the service by its own name", "Kubernetes knows the service as %q only, not as %q", s.label, a.Written())
			}
		}
		label := builder.Pairs(n.NamePos, prefix+builder.Label(n.Name), object.TextAt(cmp.Or(builder.Label(s.app.app), "true"), n.NamePos))
		labels = append(labels, label.Members...)
		rules = append(rules, builder.Pairs(n.NamePos, "labels", label))
	}
	if !s.app.project.NetworkPolicies() {
		return
	}

	// Add the rules of the author to the rules of the networks.
	s.spec.Put("labels", labels.Value(s.Pos))
	networks, rulesOfAuthor := s.At("networks"), s.At(extension, "network")
	s.spec.Put("network", builder.Pairs(cmp.Or(networks.Pos, s.Pos),
		"allowFrom", object.ListAt(s.Pos, append(slices.Clip(rules), rulesOfAuthor.At("allowFrom").Items...)...),
		"allowTo", object.ListAt(s.Pos, append(slices.Clip(rules), rulesOfAuthor.At("allowTo").Items...)...)))
}
