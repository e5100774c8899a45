// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Request is a request for resources to one module of provisioners.
type Request struct {
	// Module is the index of the module in the project's list.
	Module int
	// Context is the context of the workload that owns the resources: of the workload that
	// is compiled, or of the first that shares them. The request is evaluated in it, and the
	// ids of nodes begin with its name, so that a shared resource is the same for every
	// workload.
	Context object.Context
	// Input is the input of the module (schema.#Requests). Its parts have the
	// positions of what the user wrote.
	Input object.Value
	// InputPath is the path of Input in the document of that workload.
	InputPath object.Path
	// Resources are the keys of Input.resources, sorted.
	Resources []string

	owner *member
}

// requested is one resource of a request with its params resolved.
type requested struct {
	instance *instance
	params   object.Value
}

// requests returns requests for resources: one for each module and workload that owns some of
// them. They are sorted, so that shared resources are made in the same context for every workload.
func (p *Project) requests(resources []requested) []Request {
	slices.SortFunc(resources, func(a, b requested) int {
		return cmp.Or(
			strings.Compare(a.instance.owner.name(), b.instance.owner.name()),
			cmp.Compare(a.instance.entry.Module, b.instance.entry.Module),
			strings.Compare(a.instance.resource.Name, b.instance.resource.Name),
		)
	})

	var out []Request
	for len(resources) > 0 {
		first := resources[0].instance
		n := slices.IndexFunc(resources, func(a requested) bool {
			return a.instance.owner != first.owner || a.instance.entry.Module != first.entry.Module
		})
		if n < 0 {
			n = len(resources)
		}
		out = append(out, p.request(resources[:n]))
		resources = resources[n:]
	}
	return out
}

// request returns the request to the module of the owner for its resources (schema.#Requests).
func (p *Project) request(all []requested) Request {
	owner := all[0].instance.owner
	pos := owner.source.Spec.Pos
	config := p.config.Config
	if config.Kind != object.KindMap {
		config = generate.MapOf(pos)
	}
	r := Request{
		Module: all[0].instance.entry.Module, Context: owner.source.Context, owner: owner,
		InputPath: owner.path(), Resources: make([]string, 0, len(all)),
	}

	// Each resource has its provisioner, its description and its params.
	resources := generate.MapOf(pos)
	ports := portsOf(owner.network)
	for _, a := range all {
		name, resourcePos := a.instance.resource.Name, a.instance.resource.Pos
		params := a.params
		if params.Kind != object.KindMap {
			params = generate.MapOf(resourcePos)
		}
		r.Resources = append(r.Resources, name)
		resources.Members = append(resources.Members, object.Member{Name: name, Pos: resourcePos, Value: generate.MapOf(resourcePos,
			generate.IntMember("provisioner", a.instance.entry.Index, a.instance.resource.Type.Pos),
			object.Member{Name: "resource", Pos: resourcePos, Value: p.describe(a, ports)},
			object.Member{Name: "params", Pos: params.Pos, Value: params},
		)})
	}

	// The config of the project comes with each request.
	r.Input = generate.MapOf(pos,
		object.Member{Name: "config", Pos: config.Pos, Value: config},
		object.Member{Name: "resources", Pos: pos, Value: resources},
	)
	return r
}

// Without returns the request without the resources that errors are about. It has no Resources if
// none is left, or if the errors are about something else.
func (r Request) Without(errs object.Errors) Request {
	wrong := func(name string) bool {
		path := append(r.InputPath, object.Fields("resources", name)...).String()
		return slices.ContainsFunc(errs, func(e *object.Error) bool {
			return object.Within(e.Path, path)
		})
	}
	before := len(r.Resources)
	r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), wrong)
	if len(r.Resources) == before {
		r.Resources = nil
		return r
	}
	r.Input.Members = slices.Clone(r.Input.Members)
	for i, m := range r.Input.Members {
		if m.Name == "resources" {
			m.Value.Members = slices.DeleteFunc(slices.Clone(m.Value.Members), func(m object.Member) bool { return wrong(m.Name) })
			r.Input.Members[i] = m
		}
	}
	return r
}

// describe returns the resource as its provisioner sees it (schema.#Resource).
func (p *Project) describe(a requested, ports object.Value) object.Value {
	i, r := a.instance, a.instance.resource
	t := p.target(i, a.params)
	other := generate.MapOf(t.Pos,
		generate.StringMember("name", t.Name, t.Pos),
		generate.StringMember("namespace", t.Namespace, t.Pos),
		generate.BoolMember("known", t.Workload != nil, t.Pos),
	)
	if t.Workload != nil {
		other.Members = append(other.Members, object.Member{Name: "ports", Pos: t.Pos, Value: portsOf(t.Workload)})
	}

	// Say what every resource has, then what only some have.
	out := generate.MapOf(r.Pos,
		generate.StringMember("name", r.Name, r.Pos),
		generate.StringMember("type", r.Type.Value, r.Type.Pos),
		generate.StringMember("class", resource.Class(r), cmp.Or(r.Class.Pos, r.Pos)),
		generate.StringMember("id", i.id(), cmp.Or(r.ID.Pos, r.Pos)),
		generate.StringMember("uid", i.uid(), r.Pos),
		generate.BoolMember("shared", i.shared, r.Pos),
		generate.StringMember("workload", i.owner.name(), r.Pos),
		generate.StringMember("namespace", i.owner.source.Context.Namespace, r.Pos),
		object.Member{Name: "users", Pos: r.Pos, Value: p.users(i)},
		object.Member{Name: "ports", Pos: r.Pos, Value: ports},
	)
	if r.Metadata.Kind == object.KindMap {
		out.Members = append(out.Members, object.Member{Name: "metadata", Pos: r.Metadata.Pos, Value: r.Metadata})
	}
	if r.Direction.Value != "" {
		out.Members = append(out.Members, generate.StringMember("direction", r.Direction.Value, r.Direction.Pos))
	}
	out.Members = append(out.Members,
		object.Member{Name: "target", Pos: t.Pos, Value: other},
		generate.StringMember("secrets", p.config.Secrets.Backend, r.Pos),
		object.Member{Name: "store", Pos: r.Pos, Value: generate.MapOf(r.Pos,
			generate.StringMember("name", p.config.Secrets.StoreName, r.Pos),
			generate.StringMember("kind", p.config.Secrets.StoreKind, r.Pos),
			generate.StringMember("refreshInterval", p.config.Secrets.RefreshInterval, r.Pos),
		)},
	)
	return out
}

// users returns the workloads that have the resource i (schema.#Resource), by name.
func (p *Project) users(i *instance) object.Value {
	out := object.Value{Kind: object.KindList, Pos: i.resource.Pos}
	candidates := []*member{i.owner}
	if i.shared {
		candidates = p.members
	}
	for _, m := range candidates {
		if slices.Contains(m.instances, i) {
			out.Items = append(out.Items, generate.MapOf(i.resource.Pos,
				generate.StringMember("name", m.name(), i.resource.Pos),
				generate.StringMember("namespace", m.source.Context.Namespace, i.resource.Pos),
			))
		}
	}
	return out
}

// portsOf returns the ports of the service of m by name (schema.#ResourcePort).
func portsOf(m *network.Workload) object.Value {
	out := generate.MapOf(m.Pos)
	for _, port := range m.Ports {
		out.Members = append(out.Members, object.Member{Name: port.Name, Pos: port.Pos, Value: portOf(port)})
	}
	return out
}

func portOf(p score.Port) object.Value {
	return generate.MapOf(p.Pos,
		generate.IntMember("port", p.Port, p.Pos),
		generate.IntMember("target", cmp.Or(p.Target, p.Port), p.Pos),
		generate.StringMember("protocol", cmp.Or(p.Protocol, "TCP"), p.Pos),
	)
}
