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
	doc := d.check(projectTable(), v, nil)
	p := Project{Pos: v.Pos, Environments: map[string]Environment{}}
	p.Name, _, _ = doc.metadata(v)

	// Specs, context and policies hold in every environment.
	spec := doc.child("spec")
	for _, item := range spec.List("specs") {
		p.Specs = append(p.Specs, Pattern{Glob: item.Text, Pos: item.Pos})
	}
	p.Context = spec.child("context").context()
	p.Policies = spec.policies("policies")
	if previews := spec.child("previews"); previews.Given() {
		namespace, host := previews.child("namespace"), previews.child("host")
		p.Previews = Previews{
			Pos: previews.Pos, Namespace: Text{Text: namespace.Text, Pos: namespace.Pos}, Host: Text{Text: host.Text, Pos: host.Pos},
		}
	}

	// Workloads are decoded here only to find their mistakes: an environment is merged over the
	// written values.
	spec.child("workloads").workloads()
	written, _ := v.Get("spec")
	p.WorkloadDefaults, _ = written.Get("workloads")

	// An environment has a context, inputs and workloads of its own.
	environments, _ := written.Get("environments")
	environmentOf := map[string]string{}
	for _, m := range environments.Members {
		env := spec.child("environments", m.Name)
		e := Environment{Name: m.Name, Pos: m.Pos, Inputs: map[string]Input{}, Context: env.child("context").context()}
		for _, input := range env.child("inputs").Members {
			e.Inputs[input.Name] = Input{Pos: input.Pos, Value: input.Value}
		}
		inputs, _ := m.Value.Get("inputs")
		for _, input := range inputs.Members {
			if input.Value.Kind == object.KindNull { // It overlays nothing, but its spec must exist.
				e.Inputs[input.Name] = Input{Pos: input.Pos}
			}
		}
		env.child("workloads").workloads()
		e.Workloads, _ = m.Value.Get("workloads")
		e.Isolation = env.child("isolation").isolation()
		for _, item := range env.List("clusters") {
			if listedIn, listed := environmentOf[item.Text]; listed {
				item.Fail("remove one of them", "%s is listed already, in environment %q", item.Text, listedIn)
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
	quota, security := p.child("quota"), p.child("podSecurity")
	out := Isolation{
		Pos: p.Pos, Namespace: p.Flag("namespace"), PodSecurity: security.Text,
		DefaultDeny: p.Flag("defaultDeny"), DenyPos: p.child("defaultDeny").Pos,
	}
	out.Quota.CPU, out.Quota.Memory, out.Quota.Pods = quota.child("cpu").Text, quota.child("memory").Text, quota.child("pods").Text
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
	version, _ := ParseKubeVersion(p.child("kubeVersion").Text)
	return Context{
		Pos: p.Pos, Namespace: p.child("namespace").Text, Engine: p.child("engine").Text,
		ClusterDomain: p.child("clusterDomain").Text, KubeVersion: version,
	}
}

// ParseKubeVersion returns a version of Kubernetes without its v and without the suffix of a vendor,
// such as v1.36.2-gke.100 or 1.36+. It reports false if text is not a version.
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

// Overlay returns the project in an environment: its context with the context of the environment on
// top, and the inputs that the environment merges over the inputs of the specs. The environment "" is
// the project without an environment. The argument specs has the names of all specs of the project;
// an overlay for another name is an error, in every environment.
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

// Merge returns c with top merged over it.
func (c Context) Merge(top Context) Context {
	override := func(target *string, value string) {
		if value != "" {
			*target = value
		}
	}
	override(&c.Namespace, top.Namespace)
	override(&c.ClusterDomain, top.ClusterDomain)
	override(&c.KubeVersion, top.KubeVersion)
	override(&c.Engine, top.Engine)
	if top.Pos.IsValid() {
		c.Pos = top.Pos
	}
	return c
}
