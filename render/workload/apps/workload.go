// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apps

import (
	"cmp"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/reader"
)

// sources is the annotation with the folder that the image is built from.
const sources = "apps.ropewalk.dev/path"

// The directions of a network policy.
const (
	allowFrom = "allow_from"
	allowTo   = "allow_to"
)

// workload is the application as a document of kind Workload.
func (a *app) workload() object.Value {
	body := reader.Pairs(a.Pos, "containers", reader.Pairs(a.Pos, a.label, reader.Pairs(a.Pos, "image", object.TextAt(".", a.name.Pos))))
	for _, f := range fields() {
		if f.to == "" || !strings.Contains(f.types, a.At("scaling", "type").Text) && f.types != "" {
			continue
		}
		in, _ := parent(f.from)
		pos, v, to, name := a.At(strings.Split(in, ".")...).Pos, a.value(f.from), f.to, ""
		for to != "" {
			to, name = parent(to)
			v = reader.Pairs(pos, strings.Replace(name, "*", a.label, 1), v) // Nothing stays nothing.
		}
		body = body.Merge(v)
	}
	before := len(a.Part.Errs.Failures())
	if body = body.Merge(a.scaling()); len(a.Part.Errs.Failures()) > before { // What is missing may be all that is wrong.
		body = body.Without(object.Fields("replicas"))
	}
	return reader.Pairs(a.Pos, "apiVersion", object.TextAt(spec.APIVersion, a.Pos), "kind", object.TextAt(spec.KindWorkload, a.Pos),
		"metadata", reader.Pairs(a.Pos, "name", object.TextAt(a.label, a.name.Pos)), "spec", body)
}

// value is the value of a field as a Workload has it.
func (a *app) value(from string) object.Value {
	p, s := a.At(strings.Split(from, ".")...), a.At("security")
	switch from {
	case "environment":
		return a.variables(p)
	case "path":
		return reader.Pairs(p.Pos, sources, p.Value)
	case "port":
		return a.service(p)
	case "scaling.min_instances":
		if a.At("scaling", "type").Text == "none" { // Nothing starts a pod there.
			p.Integer(1)
		}
	case "security.create_service_account":
		if create := p.Flag(); create || s.At("service_account").Given() {
			return object.BoolAt(!create, p.Pos)
		}
		return object.Value{}
	case "security.network_policy.allow_from":
		return rules(s.At("network_policy"), p, allowFrom)
	case "security.network_policy.allow_to":
		return rules(s.At("network_policy"), p, allowTo)
	case "security.service_account_annotations":
		if create := s.At("create_service_account"); p.Given() && (!create.Given() || create.Text == "false") {
			p.Fail("write create_service_account: true, or annotate the account where it is made", "only an account that is made here has annotations")
			return object.Value{}
		}
	}
	return p.Value
}

// on reports whether a map is given and not switched off.
func on(p reader.Part) bool {
	enabled := p.At("enabled")
	return p.Kind == object.KindMap && (!enabled.Given() || enabled.Flag())
}

// service is the ports that routes name, which lead to the one of the container. The first
// is called http.
func (a *app) service(target reader.Part) object.Value {
	var ports reader.Fields
	all := a.ports[a.label]
	if _, ok := target.Integer(1); !ok {
		target.Value = object.Value{}
	} else if len(all) == 0 {
		all = []object.Value{target.Value}
	}
	for i, port := range all {
		name := map[bool]string{true: "http", false: "http-" + port.Text}[i == 0]
		ports.Put(name, reader.Pairs(port.Pos, "port", port, "targetPort", target.Value))
	}
	return reader.Pairs(a.Pos, "ports", ports.Value(a.Pos))
}

// scaling reports what is missing, and is the server of a queue, which the project names.
func (a *app) scaling() object.Value {
	s, server := a.At("scaling"), a.project.At("queue")
	kind := s.At("type").Text
	needs := map[string]string{"keda-cron": "cron_schedules", "keda-queue": "queue_name"}[kind]
	for _, name := range []string{"type", "max_instances", needs} {
		if s.Kind == object.KindMap && name != "" && !s.At(name).Given() && (name == "type" || name == needs || types[kind] && kind != "none") {
			s.At(name).Fail("write "+name+" under scaling", "is missing")
		}
	}
	if kind != "keda-queue" {
		return object.Value{}
	}
	if !server.Given() {
		s.Fail("write spec.workloads.config.apps.queue of the Project: {address: HOST:PORT}, or {resource: {type: redis, id: NAME, params: {host: HOST}}} where the server wants a password",
			"the address of the queue is not known")
	}
	queue := server.Without(object.Fields("resource"))
	if r := server.At("resource"); r.Given() {
		queue = queue.Merge(reader.Pairs(r.Pos, "resource", object.TextAt("queue", r.Pos)))
	}
	return reader.Pairs(s.Pos, "replicas", reader.Pairs(s.Pos, "queue", queue), "resources", reader.Pairs(s.Pos, "queue", server.At("resource").Value))
}

// rules are one direction of the traffic: nothing where it is open, an empty list where
// nothing is allowed. A policy that names no direction is one of Ingress, as a NetworkPolicy
// without policyTypes is.
func rules(policy, p reader.Part, name string) object.Value {
	if p.Kind != object.KindList && policy.Has(name) {
		p.Fail("write a list of {namespace, pod_labels, cidr}, which allows nothing where it is empty, or remove "+name, "expected a list, got %s", strings.Replace("a "+p.Kind.String(), "a null", "null", 1))
		return object.Value{}
	}
	if name == allowFrom && on(policy) && !policy.Has(allowFrom) && !policy.Has(allowTo) {
		return object.Value{Kind: object.KindList, Pos: policy.Pos}
	}
	if !on(policy) || p.Kind != object.KindList {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindList, Pos: p.Pos}
	for _, rule := range p.List() {
		rule.Only("cidr", "namespace", "pod_labels")
		v := reader.Pairs(rule.Pos, "namespace", rule.At("namespace").Value, "labels", rule.At("pod_labels").Value, "cidr", rule.At("cidr").Value)
		v.Kind, v.Pos = object.KindMap, rule.Pos
		if len(v.Members) > 0 || len(rule.Members) == 0 {
			out.Items = append(out.Items, v)
		}
	}
	return out
}

// variables are texts, and secrets: of a provider, or of the namespace in the environment
// local, where the key is the name of the variable unless one is given.
func (a *app) variables(p reader.Part) object.Value {
	var out reader.Fields
	for _, e := range p.Entries() {
		v, secret := e.Value, e.At("secret")
		switch {
		case e.Given() && e.Kind != object.KindMap:
			v = object.TextAt(e.Loose(), e.Pos)
		case secret.Given() && a.environment == local:
			e.Only("key", "local", "provider", "secret", "version")
			v = reader.Pairs(e.Pos, "local", secret.Value, "key", object.TextAt(cmp.Or(e.At("key").Text, e.Name), e.Pos))
		}
		out = append(out, object.Member{Name: e.Name, Pos: e.NamePos, Value: v})
	}
	return out.Value(p.Pos)
}
