// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/network"
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

// secretIn returns the mistake of a secret in a text that cannot hold one. The argument resource
// is the name of the resource that has the text, or "".
func secretIn(pos object.Pos, path, what, resource string) *object.Error {
	e := &object.Error{
		Stage: object.StageSpec, Pos: pos, Path: path,
		Err:  fmt.Errorf("%s cannot hold a secret", what),
		Hint: "refer to outputs that are not secrets; secrets go into variables and files",
	}
	if resource != "" {
		e.Err = fmt.Errorf("%s cannot hold a secret, and this text of the resource %q refers to one", what, resource)
	}
	return e
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

// Finish resolves all texts of the workload and makes the input of the module that makes its
// objects. The errors hold warnings too. If any of them is a failure, or a resource was not made,
// the result is not complete: the workload must not be evaluated then.
func (c *Compilation) Finish() (Compiled, object.Errors) {
	r := c.resolve()
	if c.member.source.Partial {
		return Compiled{}, c.errs.Failures().Sorted()
	}
	c.warnImages(c.nodes())
	input, errs := generate.Input(r)
	return Compiled{
		Input: input, Nodes: r.WithoutReplaced(c.nodes()), Complete: c.complete(), needs: c.needs,
		Secret: storedText(input, r.Config), Routes: c.hosts(), Existing: c.existing(), Callers: c.callers(),
	}, append(c.errs, errs...).Sorted()
}

// callers returns the names of the workloads that call this one, sorted.
func (c *Compilation) callers() []string {
	var out []string
	for _, peer := range c.member.network.Inbound {
		if peer.Name != c.member.name() {
			out = append(out, peer.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// storedText returns the position of the first text of input that is read from a store that is
// not configured. The position is not valid if there is none.
func storedText(input object.Value, config spec.Workloads) object.Pos {
	if config.Secrets.StorePos.IsValid() {
		return object.Pos{}
	}
	secrets, _ := input.Get("secrets")
	pulls, _ := input.Get("pulls")
	all := slices.Concat(secrets.Members, pulls.Members)
	if scaling, found := input.Lookup(object.Fields("autoscaling", "queue", "secret")); found == 3 {
		all = append(all, object.Member{Value: scaling})
	}
	for _, s := range all {
		if _, other := s.Value.Get("store"); other {
			continue
		}
		template, _ := s.Value.Get("template")
		for _, m := range template.Members {
			if m.Value.Pos.IsValid() {
				return m.Value.Pos
			}
		}
	}
	return object.Pos{}
}

// hosts returns what the routes that the workload owns let in.
func (c *Compilation) hosts() []Route {
	var out []Route
	for n, i := range c.member.instances {
		s := c.state[i]
		if i.resource.Type.Value != network.TypeRoute || i.owner != c.member || s.result == nil || slices.Contains(c.member.instances[:n], i) {
			continue
		}
		host, _ := s.params.Get("host")
		path, _ := s.params.Get("path")
		out = append(out, Route{
			Host: host.Text, Path: cmp.Or(path.Text, "/"), Pos: i.resource.Pos, In: i.owner.resourcePath(i.resource),
		})
	}
	return out
}

// resolve resolves all texts of the workload.
func (c *Compilation) resolve() generate.Resolved {
	m := c.member
	made := c.made()
	patch, errs := resource.Patch(made)
	r := generate.Resolved{
		Workload: m.source.Spec, Context: m.source.Context, Config: c.project.config, OwnsStore: m.ownsStore, Pulls: m.pulls, Opened: m.source.Opened,
		Containers: c.resolveContainers(), Patch: patch, DependsOn: c.dependsOn(),
	}
	c.errs = append(c.errs, errs...)
	r.Queue = c.resolveQueue()
	c.nameSecrets()
	if len(c.project.config.Policies) > 0 || m.network.Rules != nil {
		r.Network = c.network(made)
	}
	r.Routes = m.network.Routes(made)
	return r
}

// made returns the resources of the workload that are made, in the order of their names.
func (c *Compilation) made() []resource.Made {
	var out []resource.Made
	for n, i := range c.member.instances {
		if s := c.state[i]; s.result != nil {
			r := &c.member.source.Spec.Resources[n]
			out = append(out, resource.Made{Resource: r, Path: c.member.resourcePath(r), Params: s.params, Result: s.result})
		}
	}
	return out
}

// network returns what the workload talks to.
func (c *Compilation) network(made []resource.Made) network.Network {
	cluster := c.project.cluster
	cluster.Domain = c.member.source.Context.ClusterDomain
	return c.member.network.Reach(made, cluster)
}

// complete reports whether all that the workload needs is made.
func (c *Compilation) complete() bool {
	return !slices.ContainsFunc(c.needed, func(i *instance) bool { return c.state[i].result == nil })
}

// nodes returns the objects of the resources that the workload owns.
func (c *Compilation) nodes() []*object.Node {
	var out []*object.Node
	for n, i := range c.member.instances {
		if r := c.result(i); r != nil && i.owner == c.member && !slices.Contains(c.member.instances[:n], i) {
			out = append(out, r.Nodes...)
		}
	}
	return out
}

// dependsOn returns the nodes that come before the pods: those of resources, unless they may come
// later, the pods of workloads that the workload waits for, and specs. It records where each is
// asked for.
func (c *Compilation) dependsOn() []string {
	var out []string
	need := func(id string, full object.ID, pos object.Pos) {
		out = append(out, id)
		if _, known := c.needs[full]; !known {
			c.needs[full] = pos
		}
	}

	// Objects of resources. Those of another workload are in its spec.
	for n, i := range c.member.instances {
		r := c.result(i)
		if r == nil {
			continue
		}
		if r.After {
			c.warnAfter(n, i)
			continue
		}
		for _, node := range r.Nodes {
			id := node.ID.Node()
			full := object.MakeID(i.owner.name(), id)
			if i.owner != c.member {
				id = string(full)
			}
			need(id, full, c.member.source.Spec.Resources[n].Pos)
		}
	}

	// Pods of workloads that the workload waits for.
	for _, call := range c.member.network.Calls {
		if call.Resource.Wait && call.Target.Workload != nil && call.Target.Workload != c.member.network {
			full := object.MakeID(call.Target.Name, podsNode)
			need(string(full), full, call.Resource.Pos)
		}
	}

	// Specs that the author names.
	for _, d := range c.member.source.Spec.DependsOn {
		full := object.MakeID(d.Value, "")
		need(string(full), full, d.Pos)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// podsNode is what the module that makes the objects calls the node of the pods.
const podsNode = "pods"

// warnAfter warns that waiting for objects that come later has no effect. A workload that waits
// for a call waits for the pods of the other workload, whatever objects the resource has.
func (c *Compilation) warnAfter(n int, i *instance) {
	own := &c.member.source.Spec.Resources[n]
	calls := slices.ContainsFunc(c.member.network.Calls, func(o network.Call) bool { return o.Resource == own })
	if !own.Wait || calls {
		return
	}
	c.errs = append(c.errs, &object.Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: own.Pos, Path: c.member.resourcePath(own),
		Err:  fmt.Errorf("the objects of a resource of type %q come with the workload or after it: nothing waits for them", i.resource.Type.Value),
		Hint: "remove waitFor",
	})
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

// nameSecrets names the secrets that the texts hold, such as db__password. Secrets with the same
// name all get a hash of what they stand for, so that none depends on an order.
func (c *Compilation) nameSecrets() {
	byName := make(map[string][]usedSecret, len(c.used))
	for key := range c.used {
		name := identifier(key.resource) + "__" + identifier(key.output)
		byName[name] = append(byName[name], key)
	}
	for name, keys := range byName {
		for _, key := range keys {
			s := c.used[key]
			text := key.resource + "\x00" + key.output
			s.Name = name
			if len(keys) == 1 {
				continue
			}
			if s.Written != "" { // no output of a resource
				text += fmt.Sprintf("%#v", key.at)
			}
			s.Name += "_" + object.ShortHash(text)
		}
	}
}

// identifier returns name with _ for every character that an identifier cannot hold.
func identifier(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}
