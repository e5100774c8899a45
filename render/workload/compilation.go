// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// Compilation compiles one workload: it requests resources until nothing is left to request, and
// is then finished. It is for one goroutine; several of one project may run at the same time.
type Compilation struct {
	project *Project
	member  *member
	// needed lists the resources of the workload, and those that their params refer to:
	needed []*instance
	state  map[*instance]*progress
	errs   object.Errors
	// used maps the secrets in texts of the workload to their references.
	used map[usedSecret]*generate.Secret
	// needs maps the nodes that come before the pods to the lines that ask for them.
	needs map[object.ID]object.Pos
}

// usedSecret identifies a secret: an output of a resource, or a secret that the project or the
// workload names. Two secrets of the latter kind may share a name and differ in their references.
type usedSecret struct {
	resource, output string
	ref              resource.Reference
}

// progress records whether a resource was requested, and its result.
type progress struct {
	requested bool
	result    *resource.Result
	// params are the params of the request.
	params object.Value
}

// Compile begins the compilation of the workload called name. It returns nil if the project has
// none of this name.
func (p *Project) Compile(name string) *Compilation {
	m := p.byName[name]
	if m == nil {
		return nil
	}
	c := &Compilation{
		project: p, member: m, used: map[usedSecret]*generate.Secret{}, needs: map[object.ID]object.Pos{},
		state: make(map[*instance]*progress, len(m.instances)),
	}
	for _, i := range m.instances {
		c.need(i)
	}
	return c
}

// need adds i to the resources that are needed, and the resources that it refers to.
func (c *Compilation) need(i *instance) {
	if c.state[i] != nil {
		return
	}
	c.state[i] = &progress{}
	c.needed = append(c.needed, i)
	for _, r := range i.references {
		c.need(r.to)
	}
}

// result returns the result of i, or nil if i is not made.
func (c *Compilation) result(i *instance) *resource.Result {
	if s := c.state[i]; s != nil {
		return s.result
	}
	return nil
}

func (c *Compilation) scope(m *member) scope {
	return scope{
		member: m, result: c.result, secret: c.secret,
		alone: len(c.project.members) == 1 && len(c.project.config.Policies) == 0,
	}
}

// Next returns the requests that can be made now, for the resources whose params are resolved.
// The first call requests all resources in most projects, and a later one only those whose params
// need an output of another resource. The caller evaluates and answers each request. An empty
// result means that nothing is left to request.
func (c *Compilation) Next() []Request {
	var ready []requested
	for _, i := range c.needed {
		s := c.state[i]
		if s.requested || i.broken || !c.ready(i) {
			continue
		}
		s.requested = true
		if params, ok := c.resolveParams(i); ok {
			s.params = params
			ready = append(ready, requested{i, params})
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return c.project.requests(ready)
}

// ready reports whether all resources that the params of i refer to are made.
func (c *Compilation) ready(i *instance) bool {
	return !slices.ContainsFunc(i.references, func(r reference) bool { return c.state[r.to].result == nil })
}

// resolveParams returns the params of i with all placeholders resolved. A param cannot hold a
// secret: a provisioner would have to know the value to use it.
func (c *Compilation) resolveParams(i *instance) (object.Value, bool) {
	if len(i.params.Members) == 0 {
		return i.params, true
	}
	s := c.scope(i.writer)
	path := i.writer.paramsPath(i.written)
	resolve := func(v object.Value, path object.Path) (object.Value, bool, object.Errors) {
		t, ok, errs := s.expand(v.Text, position{pos: v.Pos, path: path.String})
		if ok && t.Tainted() {
			err := secretIn(v.Pos, path.String(), "a param of a resource", i.written.Name)
			return v, false, object.Errors{err}
		}
		v.Text = t.Plain()
		return v, ok, errs
	}
	out, ok, errs := mapTexts(i.params, path, resolve)
	c.errs = append(c.errs, errs...)
	return out, ok
}

// Answer records what a module made of the resources of a request, by their keys. A resource
// without an answer could not be made, and the caller has reported why.
func (c *Compilation) Answer(req Request, answers map[string]resource.Answer) object.Errors {
	var errs object.Errors
	for _, name := range req.Resources {
		answer, ok := answers[name]
		n, declared := req.owner.resource(name)
		if !ok || !declared {
			continue
		}
		i := req.owner.instances[n]
		r, mistakes := resource.Decode(i.resource, i.owner.resourcePath(i.resource), i.entry, answer)
		errs = append(errs, mistakes...)
		if s := c.state[i]; s != nil && len(mistakes) == 0 {
			s.result = r
		}
	}
	return errs.Sorted()
}

// secret returns the reference to an output of a resource, one for each output of this workload.
func (c *Compilation) secret(resource, output string, ref resource.Reference) *generate.Secret {
	key := usedSecret{resource, output, ref}
	s := c.used[key]
	if s == nil {
		s = &generate.Secret{Resource: resource, Output: output, Reference: ref}
		c.used[key] = s
	}
	return s
}

// owned returns the made resources whose objects belong to the workload, each once.
func (c *Compilation) owned() []*instance {
	var out []*instance
	for n, i := range c.member.instances {
		if c.result(i) != nil && i.owner == c.member && !slices.Contains(c.member.instances[:n], i) {
			out = append(out, i)
		}
	}
	return out
}
