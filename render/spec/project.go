// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// decodeProject decodes a Project document.
func (d *decoder) decodeProject(v object.Value) Project {
	doc := d.hold(projectTable(), v, nil)
	p := Project{Pos: v.Pos, Environments: map[string]Environment{}}
	p.Name, _, _ = doc.metadata(v)

	// Specs, context and policies hold in every environment.
	spec := doc.at("spec")
	for _, item := range spec.List("specs") {
		p.Specs = append(p.Specs, Pattern{Glob: item.Text, Pos: item.Pos})
	}
	p.Context = spec.at("context").context()
	p.Policies = spec.policies("policies")
	if previews := spec.at("previews"); previews.Given() {
		namespace, host := previews.at("namespace"), previews.at("host")
		p.Previews = Previews{
			Pos: previews.Pos, Namespace: Text{Text: namespace.Text, Pos: namespace.Pos}, Host: Text{Text: host.Text, Pos: host.Pos},
		}
	}

	// Workloads are decoded here only to find their mistakes: an environment is merged over what was
	// written.
	spec.at("workloads").workloads()
	written, _ := v.Get("spec")
	p.WorkloadDefaults, _ = written.Get("workloads")

	// An environment has a context, inputs and workloads of its own.
	environments, _ := written.Get("environments")
	environmentOf := map[string]string{}
	for _, m := range environments.Members {
		env := spec.at("environments", m.Name)
		e := Environment{Name: m.Name, Pos: m.Pos, Inputs: map[string]Input{}, Context: env.at("context").context()}
		for _, in := range env.at("inputs").Members {
			e.Inputs[in.Name] = Input{Pos: in.Pos, Value: in.Value}
		}
		inputs, _ := m.Value.Get("inputs")
		for _, in := range inputs.Members {
			if in.Value.Kind == object.KindNull { // It lays nothing over its spec, which must be there.
				e.Inputs[in.Name] = Input{Pos: in.Pos}
			}
		}
		env.at("workloads").workloads()
		e.Workloads, _ = m.Value.Get("workloads")
		e.Isolation = env.at("isolation").isolation()
		for _, item := range env.List("clusters") {
			if other, twice := environmentOf[item.Text]; twice {
				item.Fail("remove one of them", "%s is listed already, in environment %q", item.Text, other)
			}
			environmentOf[item.Text] = m.Name
			e.Clusters = append(e.Clusters, Text{Text: item.Text, Pos: item.Pos})
		}
		p.Environments[m.Name] = e
	}
	return p
}

// isolation returns the isolation of an environment.
func (p part) isolation() Isolation {
	if !p.Given() {
		return Isolation{}
	}
	quota, security := p.at("quota"), p.at("podSecurity")
	out := Isolation{
		Pos: p.Pos, Namespace: p.Flag("namespace"), PodSecurity: security.Text, DefaultDeny: p.Flag("defaultDeny"), DenyPos: p.at("defaultDeny").Pos,
	}
	out.Quota.CPU, out.Quota.Memory, out.Quota.Pods = quota.at("cpu").Text, quota.at("memory").Text, quota.at("pods").Text
	if security.Given() && !out.Namespace {
		security.Fail("write namespace: true beside it", "it is a label of the Namespace, which is not made")
	}
	return out
}

// context returns the context of a project, an environment or a case.
func (p part) context() Context {
	if !p.Given() {
		return Context{}
	}
	version, _ := ParseKubeVersion(p.at("kubeVersion").Text)
	return Context{
		Pos: p.Pos, Namespace: p.at("namespace").Text, Engine: p.at("engine").Text, ClusterDomain: p.at("clusterDomain").Text, KubeVersion: version,
	}
}

// ParseKubeVersion returns a version of Kubernetes without its v and without what vendors add to
// it, such as v1.36.2-gke.100 or 1.36+. It reports false if text is no version.
func ParseKubeVersion(text string) (version string, ok bool) {
	version = strings.TrimPrefix(text, "v")
	if end := strings.IndexAny(version, "-+"); end > 0 {
		version = version[:end]
	}
	parts := strings.Split(version, ".")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "1" {
		return text, false
	}
	for _, p := range parts[1:] {
		if p == "" || len(p) > 3 || strings.Trim(p, "0123456789") != "" {
			return text, false
		}
	}
	return version, true
}

// Overlay returns the project in an environment: its context with that of the environment on top,
// and the inputs that the environment merges over those of the specs. The environment "" is the
// project without an environment. The argument specs has the names of all specs of the project; an
// overlay for another is an error, in every environment.
func (p Project) Overlay(environment string, specs []string) (Context, map[string]Input, error) {
	var errs object.Errors
	for _, name := range object.SortedKeys(p.Environments) {
		errs = append(errs, p.Environments[name].unknownInputs(specs)...)
	}
	if environment == "" {
		return p.Context, nil, errs.Sorted().Err()
	}
	env, ok := p.Environments[environment]
	if !ok {
		errs = append(errs, mistake(object.Pos{File: "--env " + environment}, nil,
			object.Suggest(environment, object.SortedKeys(p.Environments)), "environment %q is not known", environment))
	}
	return p.Context.Merge(env.Context), env.Inputs, errs.Sorted().Err()
}

// unknownInputs returns the mistakes of the overlays for specs that do not exist.
func (e Environment) unknownInputs(specs []string) object.Errors {
	var errs object.Errors
	for _, name := range object.SortedKeys(e.Inputs) {
		if !slices.Contains(specs, name) {
			errs = append(errs, mistake(e.Inputs[name].Pos, object.Fields("spec", "environments", e.Name, "inputs", name),
				object.Suggest(name, specs), "there is no spec %q", name))
		}
	}
	return errs
}

// Merge returns c with over on top.
func (c Context) Merge(over Context) Context {
	set := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	set(&c.Namespace, over.Namespace)
	set(&c.ClusterDomain, over.ClusterDomain)
	set(&c.KubeVersion, over.KubeVersion)
	set(&c.Engine, over.Engine)
	if over.Pos.IsValid() {
		c.Pos = over.Pos
	}
	return c
}
