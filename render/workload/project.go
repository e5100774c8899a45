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
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// CheckConfig reports the fields of spec.workloads.config that no provisioner declares. That is
// an error if a field of a similar name is declared, and otherwise a warning. If a provisioner
// declares none and so may read any field, the error is a warning and the warning is not
// reported.
func CheckConfig(config spec.Workloads, provisioners []resource.Provisioner) (errs object.Errors) {
	var known []string
	unknown := false
	for _, p := range provisioners {
		known = append(known, p.Config...)
		unknown = unknown || p.AnyConfig
	}
	for _, m := range config.Config.Members {
		_, near := object.Nearest(m.Name, known)
		if slices.Contains(known, m.Name) || unknown && !near || len(provisioners) == 0 {
			continue
		}
		e := &object.Error{
			Stage: object.StageSpec, Pos: m.Pos, Path: object.Fields("spec", "workloads", "config", m.Name).String(),
			Err: fmt.Errorf("no provisioner reads %q", m.Name), Hint: object.Suggest(m.Name, known),
		}
		if !near || unknown {
			e.Severity = object.SeverityWarning
		}
		errs = append(errs, e)
	}
	return errs
}

func newMember(s Source) *member {
	spec := s.Spec
	return &member{source: s, network: &network.Workload{
		Name: spec.Name.Value, Namespace: s.Context.Namespace, Ports: spec.Ports, Pos: spec.Pos, Rules: spec.Network,
		ServiceAccount: cmp.Or(spec.ServiceAccount.Name.Value, spec.Name.Value),
		Serverless:     spec.Kind.Value == score.KindKnativeService,
	}}
}

// Join looks at all workloads of a project at once: which provisioner makes a resource, which
// resources are the same, what refers to what, and which workload calls which. Two workloads of
// one name are a mistake that render/spec reports; the first one counts here. The errors hold
// warnings too, and no mistake of texts: those come from [Compilation.Finish], which needs the
// outputs. Nothing is reported on calls to the workloads that broken names: mistakes that are
// reported already keep those out of sources.
func Join(sources []Source, config spec.Workloads, provisioners []resource.Provisioner, broken ...string) (*Project, object.Errors) {
	p := &Project{
		broken: broken,
		config: config, catalog: resource.NewCatalog(provisioners),
		members: make([]*member, 0, len(sources)), byName: make(map[string]*member, len(sources)),
		cluster: network.Cluster{Namespaces: map[string]bool{}},
	}

	// Take each workload once, sorted by name.
	for _, s := range sources {
		m := newMember(s)
		m.config = &p.config
		if _, twice := p.byName[m.name()]; !twice {
			p.byName[m.name()] = m
			p.members = append(p.members, m)
			p.cluster.Namespaces[s.Context.Namespace] = true
		}
	}
	slices.SortStableFunc(p.members, func(a, b *member) int { return strings.Compare(a.name(), b.name()) })

	// Relate the resources to provisioners and to each other.
	var errs object.Errors
	for _, m := range p.members {
		errs = append(errs, m.checkEnvironment()...)
	}
	instances, more := p.makeInstances()
	errs = append(errs, more...)
	for _, i := range instances {
		errs = append(errs, p.match(i)...)
		errs = append(errs, p.findService(i)...)
		errs = append(errs, i.refer()...)
	}
	errs = append(errs, reportCycles(instances)...)

	// Relate the workloads. Without policies and rules nothing has to agree.
	errs = append(errs, p.findCalls()...)
	ruled := func(m *member) bool { return m.network.Rules != nil }
	if open := len(config.Policies) == 0; !open || slices.ContainsFunc(p.members, ruled) {
		all := make([]*network.Workload, len(p.members))
		for n, m := range p.members {
			all[n] = m.network
		}
		errs = append(errs, network.Agree(all, open)...)
	}

	// Choose which workloads make what all share.
	p.assignStores()
	errs = append(errs, p.findPulls()...)
	errs = append(errs, p.findServices()...)
	return p, errs.Sorted()
}

// checkEnvironment reports a document that is for another environment than the one that is
// rendered.
func (m *member) checkEnvironment() object.Errors {
	own, selected := m.source.Spec.Environment, m.source.Context.Environment
	if own.Value == "" || selected == "" || own.Value == selected {
		return nil
	}
	path := m.at("environment").String()
	if m.source.Spec.Score {
		path = "metadata.environment"
	}
	return object.Errors{{
		Stage: object.StageSpec, Pos: own.Pos, Path: path,
		Err:  fmt.Errorf("the workload %q is for %q, not for the environment %q", m.name(), own.Value, selected),
		Hint: "leave the file out, or remove environment so that it is for all",
	}}
}

// identity is what makes two resources one.
type identity struct{ kind, class, id string }

// makeInstances makes the resources of all workloads, each once, in the order of the workloads
// and of their names.
func (p *Project) makeInstances() ([]*instance, object.Errors) {
	var (
		all    []*instance
		errs   object.Errors
		shared = map[identity]*instance{}
	)
	for _, m := range p.members {
		resources := m.source.Spec.Resources
		m.instances = make([]*instance, len(resources))
		for n := range resources {
			r := &resources[n]
			key := identity{r.Type.Value, resource.Class(r), r.ID.Value}
			i := &instance{owner: m, resource: r, shared: isShared(r)}
			if first := shared[key]; i.shared && first != nil {
				i = first
				if p.follows(i.owner, m, map[*member]bool{}) {
					i.owner, i.resource = m, r // All objects of the other come after this one.
				}
				errs = append(errs, i.takeParams(m, r)...)
			} else {
				errs = append(errs, i.takeParams(m, r)...)
				all = append(all, i)
			}
			if i.shared {
				shared[key] = i
			}
			m.instances[n] = i
		}
	}
	return all, errs
}

// follows reports whether m comes after another workload, directly or through those that it
// depends on.
func (p *Project) follows(m, other *member, seen map[*member]bool) bool {
	seen[m] = true
	return slices.ContainsFunc(m.source.Spec.DependsOn, func(d score.Text) bool {
		next := p.byName[d.Value]
		return next == other || next != nil && !seen[next] && p.follows(next, other, seen)
	})
}

// isShared reports whether workloads that write the same type, class and id mean the same
// resource. The id of a service names the workload that is called, and calls are never shared:
// each has a direction and a caller.
func isShared(r *score.Resource) bool { return r.ID.Value != "" && !network.IsCall(r.Type.Value) }

// takeParams takes the params that a workload gives, and reports params that differ from what
// another workload gave.
func (i *instance) takeParams(m *member, r *score.Resource) object.Errors {
	switch {
	case r.Params.Kind == object.KindNone || r.Params.Kind == object.KindNull:
		return nil
	case i.writer == nil:
		i.params, i.writer, i.written = r.Params, m, r
		return nil
	case string(i.params.JSON()) == string(r.Params.JSON()):
		return nil
	}
	return object.Errors{{
		Stage: object.StageSpec, Pos: r.Params.Pos, Path: m.paramsPath(r).String(),
		Err: fmt.Errorf("the params of the shared %s %q differ from those that the workload %q gives at %s",
			r.Type.Value, r.ID.Value, i.writer.name(), i.params.Pos),
		Hint:  "give the same params in both, or in one of them only",
		Notes: []object.Note{{Pos: i.params.Pos, Text: fmt.Sprintf("the params that the workload %q gives", i.writer.name())}},
	}}
}

// assignStores chooses the workload that makes the store of the environment: the first by name
// that has a resource, and one in each namespace if the store belongs to a namespace. It is not
// the first with a secret: which outputs are secret is known only when all is made, and a
// workload must not have to wait for the others.
func (p *Project) assignStores() {
	secrets := p.config.Secrets
	if secrets.Provider.Kind == object.KindNone || secrets.Backend != spec.BackendExternalSecrets {
		return
	}
	owned := map[string]bool{}
	for _, m := range p.members {
		namespace := ""
		if secrets.StoreKind == storeOfNamespace {
			namespace = m.source.Context.Namespace
		}
		if (len(m.instances) > 0 || m.readsSecrets()) && !owned[namespace] {
			m.ownsStore = true
			owned[namespace] = true
		}
	}
}

// storeOfNamespace is the kind of a store that serves one namespace.
const storeOfNamespace = "SecretStore"

// match finds the provisioner of i. Without one i is broken.
func (p *Project) match(i *instance) object.Errors {
	r := i.resource
	if r.Type.Value == "" {
		i.broken = true // The document is partial, which is reported.
		return nil
	}
	entry, err := p.catalog.Find(r, func(field string) string { return i.owner.resourcePath(r, field) })
	if err != nil {
		i.broken = true
		return object.Errors{err}
	}
	i.entry = entry
	return i.checkRoute()
}

// checkRoute reports a route that leads nowhere. The provisioner of Ropewalk reports it too, and
// knows only the position of the params. A provisioner of a platform may lead elsewhere.
func (i *instance) checkRoute() object.Errors {
	r := i.resource
	if r.Type.Value != network.TypeRoute || i.entry.Name != spec.DefaultProvisioners || len(i.owner.source.Spec.Ports) > 0 || i.owner.source.Partial {
		return nil
	}
	i.broken = true
	return object.Errors{{
		Stage: object.StageSpec, Pos: r.Pos, Path: i.owner.resourcePath(r),
		Err:  fmt.Errorf("the workload %q has no port that a route could lead to", i.owner.name()),
		Hint: "give it one under service.ports",
	}}
}

// findPulls lets the first workload of each namespace make the Secrets that images are pulled
// with.
func (p *Project) findPulls() object.Errors {
	var errs object.Errors
	from := p.config.Images.PullSecretsFrom
	if p.config.Secrets.Backend == spec.BackendKubernetes || len(from) == 0 {
		return nil
	}
	pulls := make(map[string]resource.Reference, len(from))
	for _, name := range object.SortedKeys(from) {
		at, err := referenceTo(&p.config.Secrets, from[name], "")
		if err != nil {
			err.Stage, err.Pos = object.StageSpec, from[name].Pos
			err.Path = object.Fields("spec", "workloads", "images", "pullSecretsFrom", name).String()
			errs = append(errs, err)
			continue
		}
		pulls[name] = at
	}
	made := map[string]bool{}
	for _, m := range p.members {
		if namespace := m.source.Context.Namespace; !made[namespace] {
			m.pulls = pulls
			made[namespace] = true
		}
	}
	return errs
}

// readsSecrets reports whether m may read a secret that is no output of a resource.
func (m *member) readsSecrets() bool {
	return len(m.config.Secrets.Bindings)+len(m.config.Images.PullSecretsFrom) > 0 ||
		slices.ContainsFunc(m.source.Spec.Containers, func(c score.Container) bool { return len(c.Secrets) > 0 })
}
