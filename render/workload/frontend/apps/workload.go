// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apps

import (
	"cmp"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// sourceFolder is the annotation with the folder that the image is built from.
const sourceFolder = "apps.ropewalk.dev/path"

// The directions of a network policy.
const (
	allowFrom = "allow_from"
	allowTo   = "allow_to"
)

// workload returns the application as a document of kind Workload.
func (a *app) workload() object.Value {
	// Write each field at its place. An absent value writes nothing.
	body := builder.Pairs(a.Pos, "containers", builder.Pairs(a.Pos, a.label, builder.Pairs(a.Pos, "image", object.TextAt(".", a.name.Pos))))
	for _, f := range fields() {
		hasEffect := f.types == "" || strings.Contains(f.types, a.At("scaling", "type").Text)
		if f.to == "" || !hasEffect {
			continue
		}
		mapPath, _ := parent(f.from)
		pos := a.At(strings.Split(mapPath, ".")...).Pos
		v := a.value(f.from)
		path, name := f.to, ""
		for path != "" {
			path, name = parent(path)
			v = builder.Pairs(pos, strings.Replace(name, "*", a.label, 1), v)
		}
		body = body.Merge(v)
	}

	// Add the server of a queue. Without a required field, replicas would only have mistakes that follow.
	scaling, complete := a.scaling()
	body = body.Merge(scaling)
	if !complete {
		body = body.Without(object.Fields("replicas"))
	}
	return builder.Pairs(a.Pos, "apiVersion", object.TextAt(spec.APIVersion, a.Pos), "kind", object.TextAt(spec.KindWorkload, a.Pos),
		"metadata", builder.Pairs(a.Pos, "name", object.TextAt(a.label, a.name.Pos)), "spec", body)
}

// value returns the value of a field in the form of a Workload.
func (a *app) value(path string) object.Value {
	p := a.At(strings.Split(path, ".")...)
	s := a.At("security")
	switch path {
	case "environment":
		return a.variables(p)
	case "path":
		return builder.Pairs(p.Pos, sourceFolder, p.Value)
	case "port":
		return a.service(p)
	case "scaling.min_instances":
		if a.At("scaling", "type").Text == "none" && p.Text == "0" {
			p.Fail("", "expected a whole number from 1 on, got 0: nothing starts a pod with the type none")
		}
	case "security.create_service_account":
		if create := p.Text == "true"; create || s.At("service_account").Given() {
			return object.BoolAt(!create, p.Pos)
		}
		return object.Value{}
	case "security.network_policy.allow_from":
		return rules(s.At("network_policy"), p, allowFrom)
	case "security.network_policy.allow_to":
		return rules(s.At("network_policy"), p, allowTo)
	case "security.service_account_annotations":
		if create := s.At("create_service_account"); p.Given() && create.Text != "true" && !a.known(create.Path.String()) {
			p.Fail("write create_service_account: true, or annotate the account where it is made",
				"only an account that is made here has annotations")
			return object.Value{}
		}
	}
	return p.Value
}

// on reports whether a map is given and not switched off.
func on(p document.Part) bool {
	return p.Given() && p.At("enabled").Text != "false"
}

// service returns the ports that routes name, which lead to the port of the container. The first
// port is called http.
func (a *app) service(target document.Part) object.Value {
	var ports builder.Fields
	numbers := a.ports[a.label]
	if len(numbers) == 0 && target.Given() {
		numbers = []object.Value{target.Value}
	}
	for i, port := range numbers {
		name := map[bool]string{true: "http", false: "http-" + port.Text}[i == 0]
		ports.Put(name, builder.Pairs(port.Pos, "port", port, "targetPort", target.Value))
	}
	return builder.Pairs(a.Pos, "ports", ports.Value(a.Pos))
}

// scaling returns the server of a queue, which the project names. It reports missing fields, and
// returns false if a field is missing.
func (a *app) scaling() (object.Value, bool) {
	s := a.At("scaling")
	server := a.project.At("queue")
	complete := true
	kind := s.At("type").Text

	// Report the fields that the type requires.
	needs := map[string]string{"keda-cron": "cron_schedules", "keda-queue": "queue_name"}[kind]
	for _, name := range []string{"type", "max_instances", needs} {
		required := name == "type" || (kind != "" && kind != "none")
		if !s.Given() || name == "" || s.At(name).Given() || !required {
			continue
		}
		if field := a.written.At("scaling", name); !a.known(field.Path.String()) {
			field.Fail("write "+name+" under scaling", "is missing")
		}
		complete = false
	}
	if kind != "keda-queue" {
		return object.Value{}, complete
	}

	// The server of a queue is a resource, or an address.
	if !server.Given() {
		s.Fail("write spec.workloads.config.apps.queue of the Project: {address: HOST:PORT}, "+
			"or {resource: {type: redis, id: NAME, params: {host: HOST}}} where the server wants a password",
			"the address of the queue is not known")
		return object.Value{}, false
	}
	queue := server.Without(object.Fields("resource"))
	if r := server.At("resource"); r.Given() {
		queue = queue.Merge(builder.Pairs(r.Pos, "resource", object.TextAt("queue", r.Pos)))
	}
	return builder.Pairs(s.Pos,
		"replicas", builder.Pairs(s.Pos, "queue", queue),
		"resources", builder.Pairs(s.Pos, "queue", server.At("resource").Value),
	), complete
}

// rules returns one direction of the traffic: an absent value if it is open, and an empty list if
// nothing is allowed. A policy without directions is a policy of Ingress, like a NetworkPolicy
// without policyTypes.
func rules(policy, p document.Part, name string) object.Value {
	if name == allowFrom && on(policy) && !p.Given() && !policy.At(allowTo).Given() {
		return object.Value{Kind: object.KindList, Pos: policy.Pos}
	}
	if !on(policy) || !p.Given() {
		return object.Value{}
	}
	out := object.Value{Kind: object.KindList, Pos: p.Pos}
	for _, rule := range policy.List(name) {
		v := builder.Pairs(rule.Pos,
			"namespace", rule.At("namespace").Value, "labels", rule.At("pod_labels").Value, "cidr", rule.At("cidr").Value)
		v.Kind = object.KindMap
		v.Pos = rule.Pos
		out.Items = append(out.Items, v)
	}
	return out
}

// variables returns texts, and secrets: of a provider, or of the namespace in the environment
// local, where the key is the name of the variable by default.
func (a *app) variables(p document.Part) object.Value {
	var out builder.Fields
	for _, m := range p.Members {
		e := p.At(m.Name)
		v := e.Value
		secret := e.At("secret")
		switch {
		case e.Kind != object.KindMap:
			v = object.TextAt(e.Written(), e.Pos)
		case secret.Given() && a.environment == local:
			// The Secret is called by the name alone; the name in Google Cloud includes the project.
			_, secret.Text, _ = spec.SplitGoogleSecret(secret.Text)
			v = builder.Pairs(e.Pos, "local", secret.Value, "key", object.TextAt(cmp.Or(e.At("key").Text, m.Name), e.Pos))
		}
		out = append(out, object.Member{Name: m.Name, Pos: m.Pos, Value: v})
	}
	return out.Value(p.Pos)
}
