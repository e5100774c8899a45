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

// Compiled is a compiled workload: the input of the module that makes its objects, and the
// objects of its resources.
type Compiled struct {
	// Input of the module; its parts have the positions of what the user wrote.
	Input object.Value
	// Nodes are the objects of the resources that this workload owns.
	Nodes []*object.Node
	// Complete is set if every resource that the workload needs was made. Otherwise
	// Input lacks the texts that need the others.
	Complete bool
	// Secret is the position of a text that is read from the store of secrets although
	// no store is configured; otherwise it is not valid.
	Secret object.Pos
	// Routes lists the hosts and paths whose requests reach the workload.
	Routes []Route
	// Existing lists the resources that it owns and that no render makes.
	Existing []Existing
	// Callers names the other workloads whose calls reach the workload, sorted. It includes
	// workloads outside of the project that this workload allows.
	Callers []string

	needs map[object.ID]object.Pos
}

// Route is the host and the path of one resource of type route.
type Route struct {
	Host, Path string
	// Pos and In are the position and the path of the resource.
	Pos object.Pos
	In  string
}

// Locate sets the positions of the dependencies of the nodes that the module made of Input to the
// line that asks for them: a resource, or an entry of dependsOn. The module knows only its own
// line, at which a user cannot fix a cycle.
func (c Compiled) Locate(nodes []*object.Node) {
	for _, n := range nodes {
		n.DependsOn = slices.Clone(n.DependsOn)
		for i, d := range n.DependsOn {
			if pos, ok := c.needs[d.ID]; ok && pos.IsValid() {
				n.DependsOn[i].Pos = pos
			}
		}
	}
}

// Finish resolves all texts of the workload and makes the input of the module that makes its
// objects. The errors hold warnings too. If any of them is a failure, or a resource was not made,
// the result is not complete: the workload must not be evaluated then.
func (c *Compilation) Finish() (Compiled, object.Errors) {
	r := c.resolve()
	if c.member.source.Partial {
		return Compiled{}, c.errs.Failures().Sorted()
	}
	nodes := c.nodes()
	c.errs = append(c.errs, c.member.warnImages(nodes)...)
	input, errs := generate.Input(r)
	return Compiled{
		Input: input, Nodes: r.WithoutReplaced(nodes), Complete: c.complete(), needs: c.needs,
		Secret: storedText(input, r.Config), Routes: c.hosts(), Existing: c.existing(), Callers: c.member.callers(),
	}, append(c.errs, errs...).Sorted()
}

// callers returns the names of the workloads that call m, sorted.
func (m *member) callers() []string {
	var out []string
	for _, peer := range m.network.Inbound {
		if peer.Name != m.name() {
			out = append(out, peer.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// storedText returns the position of the first text of input that is read from a store although no
// store is configured, or a position that is not valid.
func storedText(input object.Value, config spec.Workloads) object.Pos {
	if config.Secrets.StorePos.IsValid() {
		return object.Pos{}
	}
	secrets, _ := input.Get("secrets")
	pulls, _ := input.Get("pulls")
	texts := slices.Concat(secrets.Members, pulls.Members)
	if scaling, found := input.Lookup(object.Fields("autoscaling", "queue", "secret")); found == 3 {
		texts = append(texts, object.Member{Value: scaling})
	}
	for _, s := range texts {
		if _, hasStore := s.Value.Get("store"); hasStore {
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

// hosts returns the hosts and paths of the routes that the workload owns.
func (c *Compilation) hosts() []Route {
	var out []Route
	for _, i := range c.owned() {
		if i.resource.Type.Value != network.TypeRoute {
			continue
		}
		params := c.state[i].params
		host, _ := params.Get("host")
		path, _ := params.Get("path")
		out = append(out, Route{
			Host: cmp.Or(host.Text, c.state[i].result.Outputs["host"]), Path: cmp.Or(path.Text, "/"),
			Pos: i.resource.Pos, In: i.owner.resourcePath(i.resource),
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
		Workload:  m.source.Spec,
		Context:   m.source.Context,
		Config:    c.project.config,
		OwnsStore: m.ownsStore,
		Pulls:     m.pulls,
		Opened:    m.source.Opened,

		Containers: c.resolveContainers(),
		Patch:      patch,
		DependsOn:  c.dependsOn(),
	}
	c.errs = append(c.errs, errs...)

	// Secrets get their names when all texts are resolved.
	r.Queue = c.resolveQueue()
	nameSecrets(c.used)

	// Rules of the network are made for policies, and for workloads with rules of their own.
	if len(c.project.config.Policies) > 0 || m.network.Rules != nil {
		cluster := c.project.cluster
		cluster.Domain = m.source.Context.ClusterDomain
		var errs object.Errors
		r.Network, errs = m.network.Reach(made, cluster)
		c.errs = append(c.errs, errs...)
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
			out = append(out, resource.Made{
				Resource: r,
				Path:     c.member.resourcePath(r),
				Params:   s.params,
				External: i.external,
				Result:   s.result,
			})
		}
	}
	return out
}

// complete reports whether all that the workload needs is made.
func (c *Compilation) complete() bool {
	return !slices.ContainsFunc(c.needed, func(i *instance) bool { return c.state[i].result == nil })
}

// nodes returns the objects of the resources that the workload owns.
func (c *Compilation) nodes() []*object.Node {
	var out []*object.Node
	for _, i := range c.owned() {
		out = append(out, c.result(i).Nodes...)
	}
	return out
}

// dependsOn returns the nodes that come before the pods: the nodes of resources, unless they may
// come later, the pods of workloads that the workload waits for, and specs. It records the line
// that asks for each.
func (c *Compilation) dependsOn() []string {
	var out []string
	need := func(id string, full object.ID, pos object.Pos) {
		out = append(out, id)
		if _, known := c.needs[full]; !known {
			c.needs[full] = pos
		}
	}

	// Objects of resources. An object of another workload is in the spec of its owner.
	for n, i := range c.member.instances {
		r := c.result(i)
		if r == nil {
			continue
		}
		if r.After {
			c.errs = append(c.errs, c.member.warnAfter(n)...)
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

// podsNode is the name of the node of the pods in the module that makes the objects.
const podsNode = "pods"

// warnAfter warns that waiting for objects that come later has no effect. A workload that waits
// for a call waits for the pods of the other workload, whatever objects the resource has.
func (m *member) warnAfter(n int) object.Errors {
	r := &m.source.Spec.Resources[n]
	waits := slices.ContainsFunc(m.network.Calls, func(c network.Call) bool { return c.Resource == r })
	if !r.Wait || waits {
		return nil
	}
	kind := m.instances[n].resource.Type.Value
	return object.Errors{{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: r.Pos, Path: m.resourcePath(r),
		Err:  fmt.Errorf("the objects of a resource of type %q come with the workload or after it: nothing waits for them", kind),
		Hint: "remove waitFor",
	}}
}

// nameSecrets names the secrets that the texts hold, such as db__password. Secrets with the same
// name all get a hash of what they stand for, so that none depends on an order.
func nameSecrets(used map[usedSecret]*generate.Secret) {
	byName := make(map[string][]usedSecret, len(used))
	for key := range used {
		name := identifier(key.resource) + "__" + identifier(key.output)
		byName[name] = append(byName[name], key)
	}
	for name, keys := range byName {
		for _, key := range keys {
			s := used[key]
			text := key.resource + "\x00" + key.output
			s.Name = name
			if len(keys) == 1 {
				continue
			}
			if s.Written != "" { // no output of a resource
				text += fmt.Sprintf("%#v", key.ref)
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
