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
// declares no fields and so may read any, the error becomes a warning and the warning is left out.
func CheckConfig(config spec.Workloads, provisioners []resource.Provisioner) (errs object.Errors) {
	var fields []string
	anyField := false
	for _, p := range provisioners {
		fields = append(fields, p.Config...)
		anyField = anyField || p.AnyConfig
	}
	for _, m := range config.Config.Members {
		_, near := object.Nearest(m.Name, fields)
		readElsewhere := anyField && !near
		if slices.Contains(fields, m.Name) || readElsewhere || len(provisioners) == 0 {
			continue
		}
		e := &object.Error{
			Stage: object.StageSpec, Pos: m.Pos, Path: object.Fields("spec", "workloads", "config", m.Name).String(),
			Err: fmt.Errorf("no provisioner reads %q", m.Name), Hint: object.Suggest(m.Name, fields),
		}
		if !near || anyField {
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

// Join relates the workloads of a project: it finds the provisioner of each resource, the resources
// that several workloads share, references between resources, and calls between workloads. If two
// workloads have one name, which render/spec reports, the first counts. The errors include
// warnings. Mistakes in texts come from [Compilation.Finish], which needs the outputs. Calls to the
// workloads in broken are not reported: mistakes that are reported already keep those workloads out
// of sources.
func Join(
	sources []Source, config spec.Workloads, provisioners []resource.Provisioner, broken ...string,
) (*Project, object.Errors) {
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
	instances, mistakes := p.makeInstances()
	errs = append(errs, mistakes...)
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
		networks := make([]*network.Workload, len(p.members))
		for n, m := range p.members {
			networks[n] = m.network
		}
		errs = append(errs, network.Agree(networks, open)...)
	}

	// Choose the workloads that make shared objects.
	p.assignStores()
	errs = append(errs, p.findPulls()...)
	errs = append(errs, p.findServices()...)
	return p, errs.Sorted()
}

// checkEnvironment reports a document that is for another environment than the rendered one.
func (m *member) checkEnvironment() object.Errors {
	environment, selected := m.source.Spec.Environment, m.source.Context.Environment
	if environment.Value == "" || selected == "" || environment.Value == selected {
		return nil
	}
	path := m.path("environment").String()
	if m.source.Spec.Score {
		path = "metadata.environment"
	}
	return object.Errors{{
		Stage: object.StageSpec, Pos: environment.Pos, Path: path,
		Err:  fmt.Errorf("the workload %q is for %q, not for the environment %q", m.name(), environment.Value, selected),
		Hint: "leave the file out, or remove environment so that it is for all",
	}}
}

// identity identifies a shared resource: resources with equal fields are made once.
type identity struct{ kind, class, id string }

// makeInstances makes the resources of all workloads, each once, in the order of the workloads
// and of their names.
func (p *Project) makeInstances() ([]*instance, object.Errors) {
	var (
		instances []*instance
		errs      object.Errors
		shared    = map[identity]*instance{}
	)
	for _, m := range p.members {
		resources := m.source.Spec.Resources
		m.instances = make([]*instance, len(resources))
		for n := range resources {
			r := &resources[n]
			key := identity{r.Type.Value, resource.Class(r), r.ID.Value}
			i := &instance{owner: m, resource: r, shared: isShared(r)}
			if same := shared[key]; i.shared && same != nil {
				i = same
				if p.follows(i.owner, m, map[*member]bool{}) {
					i.owner, i.resource = m, r // All objects of the other workload come after m.
				}
				errs = append(errs, i.takeParams(m, r)...)
			} else {
				errs = append(errs, i.takeParams(m, r)...)
				instances = append(instances, i)
			}
			if i.shared {
				shared[key] = i
			}
			m.instances[n] = i
		}
	}
	return instances, errs
}

// follows reports whether m comes after another workload, directly or through those that it
// depends on.
func (p *Project) follows(m, other *member, seen map[*member]bool) bool {
	seen[m] = true
	return slices.ContainsFunc(m.source.Spec.DependsOn, func(d score.Text) bool {
		next := p.byName[d.Value]
		return next == other || (next != nil && !seen[next] && p.follows(next, other, seen))
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
// that has a resource, and one in each namespace if the store belongs to a namespace. It does not
// look for the first with a secret: the secret outputs are known only when all resources are made,
// and a workload must not have to wait for the others.
func (p *Project) assignStores() {
	secrets := p.config.Secrets
	if secrets.Provider.Kind == object.KindNone || secrets.Backend != spec.BackendExternalSecrets {
		return
	}
	assigned := map[string]bool{}
	for _, m := range p.members {
		namespace := ""
		if secrets.StoreKind == storeOfNamespace {
			namespace = m.source.Context.Namespace
		}
		if (len(m.instances) > 0 || m.readsSecrets()) && !assigned[namespace] {
			m.ownsStore = true
			assigned[namespace] = true
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
	ours := r.Type.Value == network.TypeRoute && i.entry.Name == spec.DefaultProvisioners
	if !ours || len(i.owner.source.Spec.Ports) > 0 || i.owner.source.Partial {
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
	sources := p.config.Images.PullSecretsFrom
	if p.config.Secrets.Backend == spec.BackendKubernetes || len(sources) == 0 {
		return nil
	}
	pulls := make(map[string]resource.Reference, len(sources))
	for _, name := range object.SortedKeys(sources) {
		ref, err := referenceTo(&p.config.Secrets, sources[name], "")
		if err != nil {
			err.Stage, err.Pos = object.StageSpec, sources[name].Pos
			err.Path = object.Fields("spec", "workloads", "images", "pullSecretsFrom", name).String()
			errs = append(errs, err)
			continue
		}
		pulls[name] = ref
	}
	assigned := map[string]bool{}
	for _, m := range p.members {
		if namespace := m.source.Context.Namespace; !assigned[namespace] {
			m.pulls = pulls
			assigned[namespace] = true
		}
	}
	return errs
}

// readsSecrets reports whether m may read a secret that is no output of a resource.
func (m *member) readsSecrets() bool {
	return len(m.config.Secrets.Bindings)+len(m.config.Images.PullSecretsFrom) > 0 ||
		slices.ContainsFunc(m.source.Spec.Containers, func(c score.Container) bool { return len(c.Secrets) > 0 })
}
