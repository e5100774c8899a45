// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxPatterns is how many patterns a project may have: each is compared with all files.
const maxPatterns = 1000

// project decodes a Project document.
func (d *decoder) project(v object.Value) Project {
	doc := d.fields(v, nil)
	p := Project{Pos: v.Pos, Environments: map[string]Environment{}}
	p.Name, _, _ = doc.metadata()
	if spec, ok := doc.child("spec"); ok {
		p.Specs = spec.patterns("specs")
		p.Context = spec.context("context")
		p.Policies = spec.policies("policies")
		p.WorkloadDefaults = spec.workloads("workloads")
		spec.environments(&p)
		spec.done()
	}
	doc.done()
	return p
}

// patterns decodes the list of specs of a project.
func (f *fields) patterns(name string) []Pattern {
	items, path := f.list(name)
	var out []Pattern
	for i, v := range items {
		at := path.Append(object.Index(i))
		if i == maxPatterns {
			f.fail(v.Pos, path, "write patterns that match several files", "more than %d patterns, which no flag allows", maxPatterns)
			break
		}
		if !f.kind(v, at, object.KindString) {
			continue
		}
		if v.Text == "" || strings.HasPrefix(v.Text, "/") || strings.Contains(v.Text, `\`) {
			f.fail(v.Pos, at, "", "%q is not a path relative to the project's folder, with / between folders", v.Text)
			continue
		}
		out = append(out, Pattern{Glob: v.Text, Pos: v.Pos})
	}
	return out
}

// context decodes the context of a project or an environment.
func (f *fields) context(name string) Context {
	c, ok := f.child(name)
	if !ok {
		return Context{}
	}
	defer c.done()
	return c.contextFields()
}

// domain is an optional DNS name.
func (f *fields) domain(name string) string {
	text, pos := f.text(name)
	if err := CheckDomain(text); text != "" && err != nil {
		f.fail(pos, f.path.Append(object.Field(name)), "", "%v", err)
	}
	return text
}

// kubeVersion is an optional version of Kubernetes. YAML reads 1.30 as the
// number 1.3, so it must be quoted.
func (f *fields) kubeVersion(name string) string {
	text, pos := f.text(name)
	if text == "" {
		return ""
	}
	version, good := ParseKubeVersion(text)
	if !good {
		f.fail(pos, f.path.Append(object.Field(name)), "", "%q is not a version of Kubernetes: expected one such as 1.36 or v1.36.2", text)
	}
	return version
}

// ParseKubeVersion is a version of Kubernetes without its v and without what vendors add to
// it, such as v1.36.2-gke.100 or 1.36+; ok is false where text is none.
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

// environments decodes the environments of a project.
func (f *fields) environments(p *Project) {
	all, ok := f.child("environments")
	if !ok {
		return
	}
	for _, m := range all.value.Members {
		path := all.path.Append(object.Field(m.Name))
		if bad := badLabel(m.Name); bad != "" {
			f.fail(m.Pos, path, "", "%q %s", m.Name, bad)
		}
		e := Environment{Name: m.Name, Pos: m.Pos, Inputs: map[string]Input{}}
		// An environment may be empty: it still has a name.
		if m.Value.Kind != object.KindNull {
			env := f.fields(m.Value, path)
			e.Context = env.context("context")
			env.inputs(e.Inputs)
			e.Workloads = env.workloads("workloads")
			env.done()
		}
		p.Environments[m.Name] = e
	}
}

// inputs decodes the overlays of an environment, by spec.
func (f *fields) inputs(out map[string]Input) {
	all, ok := f.child("inputs")
	if !ok {
		return
	}
	for _, m := range all.value.Members {
		path := all.path.Append(object.Field(m.Name))
		if m.Value.Kind == object.KindNull || !f.kind(m.Value, path, object.KindMap) {
			continue
		}
		out[m.Name] = Input{Pos: m.Pos, Value: m.Value}
	}
}

// Overlay is the project in an environment: its context with that of
// the environment on top, and the inputs that the environment merges over those
// of the specs. The environment "" is the project without an environment. specs are the names
// of all specs of the project; an overlay for another is an error, in every
// environment.
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

// unknownInputs are the mistakes of the overlays for specs that do not exist.
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

// Merge is c with over on top.
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
