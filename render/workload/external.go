// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/network"
)

// findService gives i the external service of the project that it names by its id, or by its own
// name. A resource with params.host names no service of the project. A resource with neither is a
// mistake, unless a provisioner of the platform makes it.
func (p *Project) findService(i *instance) object.Errors {
	r := i.resource
	if r.Type.Value != typeExternal || i.broken {
		return nil
	}
	name, pos, field := r.Name, r.Pos, []string{}
	if r.ID.Value != "" {
		name, pos, field = r.ID.Value, r.ID.Pos, []string{"id"}
	}

	// Choose by what names the service: params.host, the project, or the platform.
	_, hasHost := i.params.Get("host")
	s, declared := p.config.ExternalServices[name]
	e := &object.Error{Stage: object.StageSpec, Pos: pos, Path: i.owner.resourcePath(r, field...)}
	switch {
	case hasHost && (!declared || r.ID.Value == ""):
		return nil
	case declared && len(i.params.Members) > 0:
		e.Pos, e.Path = i.params.Pos, i.writer.paramsPath(i.written).String()
		e.Err = fmt.Errorf("the project declares the external service %q, at %s, so that it is the same for all", name, s.Pos)
		e.Hint = "remove params, or write another id"
	case declared && !s.Complete():
		i.broken = true
		return nil
	case declared:
		i.params, i.writer, i.written = paramsOf(s), i.owner, r
		if i.entry.Name == spec.DefaultProvisioners {
			i.external = &s
		}
		return nil
	case i.entry.Name != spec.DefaultProvisioners:
		return nil
	default:
		p.declare(e, name)
		e.Hint += ", or write params.host"
	}
	i.broken = true
	return object.Errors{e}
}

// declare writes into a mistake that the project does not declare a service, and the nearest
// service that it declares.
func (p *Project) declare(e *object.Error, name string) {
	e.Err = fmt.Errorf("the project declares no external service %q", name)
	e.Hint = "declare it under spec.workloads.externalServices of " + spec.ProjectFile
	if near, ok := object.Nearest(name, object.SortedKeys(p.config.ExternalServices)); ok {
		e.Hint = fmt.Sprintf("did you mean %q? If not, %s", near, e.Hint)
	}
}

// paramsOf returns the params by which a provisioner makes a service that the project declares.
func paramsOf(s spec.ExternalService) object.Value {
	return generate.MapOf(s.Pos, generate.StringMember("host", s.Host, s.Pos), generate.IntMember("port", s.Ports[0], s.Pos),
		generate.StringMember("protocol", s.Protocol, s.Pos), generate.StringMember("url", s.URL, s.Pos))
}

// checkServices reports external services without an address or ports in this environment.
func (p *Project) checkServices() object.Errors {
	var errs object.Errors
	for _, name := range object.SortedKeys(p.config.ExternalServices) {
		s := p.config.ExternalServices[name]
		e := &object.Error{Stage: object.StageSpec, Pos: s.Pos, Path: object.Fields("spec", "workloads", "externalServices", name).String()}
		switch {
		case s.Host == "":
			e.Err, e.Hint = errors.New("the service has no address"), "write url, or host and ports"
		case len(s.Ports) == 0:
			e.Err, e.Hint = errors.New("the service has no ports"), "write ports: [443], or those that it has"
		default:
			continue
		}
		errs = append(errs, e)
	}
	return errs
}

// findServices checks the external services, finds the services that rules name, and lets the
// first workload of each namespace that uses a host make its ServiceEntry.
func (p *Project) findServices() object.Errors {
	errs := p.checkServices()
	entries := network.Entries(p.config.ExternalServices)
	hasEntry := map[[2]string]bool{}
	for _, m := range p.members {
		var services []*spec.ExternalService
		for _, i := range m.instances {
			if i.external != nil {
				services = append(services, i.external)
			}
		}
		errs = append(errs, p.findAllowed(m)...)
		services = append(services, m.network.Allowed...)

		// The members are sorted by name, so that the same one makes it in each render.
		m.network.Entries = make(map[string]network.Entry, len(services))
		for _, s := range services {
			e, key := entries[s.Host], [2]string{m.source.Context.Namespace, s.Host}
			if _, seen := m.network.Entries[s.Host]; seen {
				continue
			}
			if hasEntry[key] {
				e.Ports = nil
			}
			hasEntry[key] = true
			m.network.Entries[s.Host] = e
		}
	}
	return errs
}

// findAllowed finds the services that the rules of m name.
func (p *Project) findAllowed(m *member) object.Errors {
	var errs object.Errors
	if m.network.Rules == nil {
		return nil
	}
	for _, r := range m.network.Rules.To {
		s, declared := p.config.ExternalServices[r.Service.Value]
		switch {
		case r.Service.Value == "":
		case declared:
			m.network.Allowed = append(m.network.Allowed, &s)
		default:
			e := &object.Error{Stage: object.StageSpec, Pos: r.Service.Pos, Path: m.extra("network", "allowTo").String()}
			p.declare(e, r.Service.Value)
			errs = append(errs, e)
		}
	}
	return errs
}
