// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// Compilation is the compilation of one workload: it requests resources until
// none is left, and is then finished. It is for one goroutine;
// several of one project may run at the same time.
type Compilation struct {
	project *Project
	member  *member
	// needed are the resources of the workload, and what their params refer to:
	// a shared resource may refer to resources of the workload that wrote it.
	needed []*instance
	state  map[*instance]*progress
	errs   object.Errors
	// used are the secrets that texts of the workload hold.
	used map[usedSecret]*generate.Secret
	// needs are the nodes that come before the pods, with the line that wants it.
	needs map[object.ID]object.Pos
}

// usedSecret is an output of a resource, or a secret that is none: two of those may have
// one name and differ in where they are read.
type usedSecret struct {
	resource, output string
	at               resource.Reference
}

// progress is how far a resource is.
type progress struct {
	requested bool
	result    *resource.Result
	// params are those of the request.
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

// result returns what became of i, or nil if it is not made.
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

// Next returns what can be requested now: the resources whose params are resolved. The first call
// requests all resources in most projects, and a later one only those whose params need an output
// of another resource. Each request is to be evaluated and answered. There is nothing left if
// Next returns none.
func (c *Compilation) Next() []Request {
	var all []requested
	for _, i := range c.needed {
		s := c.state[i]
		if s.requested || i.broken || !c.ready(i) {
			continue
		}
		s.requested = true
		if params, ok := c.resolveParams(i); ok {
			s.params = params
			all = append(all, requested{i, params})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return c.project.requests(all)
}

// ready reports whether all that the params of i refer to is made.
func (c *Compilation) ready(i *instance) bool {
	return !slices.ContainsFunc(i.references, func(r reference) bool { return c.state[r.to].result == nil })
}

// resolveParams returns the params of i with all placeholders resolved. A secret cannot be a
// param: a provisioner would have to know it to do anything with it.
func (c *Compilation) resolveParams(i *instance) (object.Value, bool) {
	if len(i.params.Members) == 0 {
		return i.params, true
	}
	s := c.scope(i.writer)
	out, ok, errs := mapTexts(i.params, i.writer.paramsPath(i.written), func(v object.Value, path object.Path) (object.Value, bool, object.Errors) {
		t, ok, errs := s.expand(v.Text, position{pos: v.Pos, path: path.String})
		if ok && t.Tainted() {
			return v, false, object.Errors{secretIn(v.Pos, path.String(), "a param of a resource", i.written.Name)}
		}
		v.Text = t.Plain()
		return v, ok, errs
	})
	c.errs = append(c.errs, errs...)
	return out, ok
}

// Answer records what a module made of the resources of a request, by their keys. A resource
// without an answer could not be made, and the caller has reported why.
func (c *Compilation) Answer(req Request, answers map[string]resource.Answer) object.Errors {
	var errs object.Errors
	for _, name := range req.Resources {
		answer, ok := answers[name]
		n, known := req.owner.resource(name)
		if !ok || !known {
			continue
		}
		i := req.owner.instances[n]
		r, more := resource.Decode(i.resource, i.owner.resourcePath(i.resource), i.entry, answer)
		errs = append(errs, more...)
		if s := c.state[i]; s != nil && len(more) == 0 {
			s.result = r
		}
	}
	return errs.Sorted()
}

// secret returns the reference that an output of a resource is in this workload.
func (c *Compilation) secret(resource, output string, at resource.Reference) *generate.Secret {
	key := usedSecret{resource, output, at}
	s := c.used[key]
	if s == nil {
		s = &generate.Secret{Resource: resource, Output: output, Reference: at}
		c.used[key] = s
	}
	return s
}

// owned returns the resources that are made and whose objects the workload has, each once.
func (c *Compilation) owned() []*instance {
	var out []*instance
	for n, i := range c.member.instances {
		if c.result(i) != nil && i.owner == c.member && !slices.Contains(c.member.instances[:n], i) {
			out = append(out, i)
		}
	}
	return out
}
