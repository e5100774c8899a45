// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/preview"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
)

// The context where neither project, environment nor caller set it.
const (
	DefaultNamespace     = "default"
	DefaultKubeVersion   = "1.36.3"
	DefaultClusterDomain = "cluster.local"
)

// settings are the settings of the project in the environment of a render, with the options laid
// over them.
type settings struct {
	// project has the context of its specs, of which every field is set.
	project spec.Project
	// placed is set where the project or the options name a namespace for all specs.
	placed  bool
	preview preview.Rules
	// inputs are the inputs in the environment, by spec.
	inputs map[string]spec.Input
	// overlays are the values that the options lay over inputs.
	overlays *project.Overlays
}

// readSettings overlays the project with its environment and with the options, but for the values
// of specs: see readOverlays.
func readSettings(f found, docs documents) settings {
	p, err := docs.OneProject()
	f.Errs = append(f.Errs, object.AsErrors(err, object.StageSpec)...)
	refuseStray(f, p)
	p.Environments = withSources(p.Environments, docs.Sources)

	// Overlays are for specs, by name. A name may belong to a spec that could not be read.
	hasNoSpecs := len(f.Files)+len(docs.Packages)+len(f.Bundles) == 0
	overlays := f.Overlays(project.Names(docs.Documents), docs.Incomplete || f.Missed || hasNoSpecs)
	context, inputs, err := p.Overlay(f.opts.Environment, overlays.Names)
	for _, e := range object.AsErrors(err, object.StageSpec) {
		if !overlays.NamesIncomplete || !strings.Contains(e.Path, ".inputs.") {
			f.Errs = append(f.Errs, e)
		}
	}
	_, isDeclared := p.Environments[f.opts.Environment]
	overlays.Incomplete = f.opts.Environment != "" && !isDeclared

	// The options win over both.
	checkContext(f, f.opts.Context)
	context = context.Merge(f.opts.Context)
	out := settings{placed: context.Namespace != "", inputs: inputs, overlays: overlays}
	p.Context = withDefaults(context, f.opts.Emit.Dialect)
	out.project = p
	out.preview = previewOf(f, docs, p)
	return out
}

// chooseEnvironment returns the environment of a render: the environment that the options or the
// Installation name, or else the environment that has the Installation among its clusters. An
// environment that lists clusters is for no other cluster.
func chooseEnvironment(f found, docs documents) string {
	i := f.opts.Installation
	if i.Name == "" {
		return f.opts.Environment
	}
	p, _ := docs.OneProject() // readSettings reports its mistakes.
	listed := environmentsFor(p.Environments, i.Name)

	// The Installation and the project must agree.
	if i.Environment != "" {
		clusters := p.Environments[i.Environment].Clusters
		switch {
		case slices.Contains(listed, i.Environment):
		case len(clusters) > 0:
			f.Fail(clusters[0].Pos, "add "+i.Name+" to its clusters, or change spec.environment in "+i.File,
				fmt.Errorf("environment %q is not for %s, and %s names it", i.Environment, i.Name, i.File))
		case len(listed) > 0:
			f.Fail(p.Environments[listed[0]].Pos, "change spec.environment in "+i.File+", or the clusters here",
				fmt.Errorf("%s is a cluster of environment %q, and %s names %q", i.Name, listed[0], i.File, i.Environment))
		}
		return i.Environment
	}

	// Without a choice nothing would be rendered that was meant.
	switch len(listed) {
	case 0:
		f.Fail(object.Pos{File: i.File}, "write spec.environment there, or add "+i.Name+" to the clusters of an environment in "+spec.ProjectFile,
			fmt.Errorf("%s names no environment, and no environment lists it", i.Name))
		return ""
	case 1:
		return listed[0]
	}
	f.Fail(p.Environments[listed[1]].Pos, "write "+i.Name+" itself into the clusters of the one that is meant",
		fmt.Errorf("environments %s are all for %s", strings.Join(listed, ", "), i.Name))
	return ""
}

// environmentsFor returns the environments that have an Installation among their clusters, sorted.
// The name of the Installation comes before a pattern: eu-1 before eu-*.
func environmentsFor(environments map[string]spec.Environment, installation string) []string {
	var exact, matching []string
	for _, name := range object.SortedKeys(environments) {
		clusters := environments[name].Clusters
		fits := func(c spec.Text) bool { ok, _ := path.Match(c.Text, installation); return ok }
		switch {
		case slices.ContainsFunc(clusters, func(c spec.Text) bool { return c.Text == installation }):
			exact = append(exact, name)
		case slices.ContainsFunc(clusters, fits):
			matching = append(matching, name)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return matching
}

// refuseStray refuses a project that a search found in a file of another name: its list of specs
// would be ignored.
func refuseStray(f found, p spec.Project) {
	for _, file := range f.Files {
		if p.Pos.IsValid() && file.Name == p.Pos.File && file.Found {
			f.Fail(p.Pos, "rename the file to "+spec.ProjectFile, errors.New("a Project must be in a file named "+spec.ProjectFile))
		}
	}
}

// withSources returns the environments of a project, with the environments for which documents of
// front ends have overrides.
func withSources(own map[string]spec.Environment, sources []spec.Document) map[string]spec.Environment {
	merged := maps.Clone(own)
	for _, doc := range sources {
		environments := frontend.Of(doc.Kind).Environments
		if environments == nil {
			continue
		}
		if merged == nil {
			merged = map[string]spec.Environment{}
		}
		for name, workloads := range environments(doc) {
			e, known := merged[name]
			if !known {
				e = spec.Environment{Name: name, Pos: doc.Pos}
			}
			// The project alone decides about secrets.
			if _, hasSecrets := e.Workloads.Get("secrets"); !hasSecrets && workloads.Kind != object.KindNone {
				e.Workloads = workloads.Merge(e.Workloads)
			}
			merged[name] = e
		}
	}
	return merged
}

// readOverlays reads the values that the options give for specs.
func readOverlays(ctx context.Context, f found, docs documents, overlays *project.Overlays) {
	if f.opts.Evaluator != nil {
		overlays.CUE = func(file string, data []byte) (object.Value, error) { return f.opts.evaluateValues(ctx, file, data) }
	}
	overlays.Charts = valuesOfCharts(docs)
	overlays.Read(f.opts.Values, append(overlays.ReadHelm(f.opts.HelmSet), f.opts.Set...), f.opts.Overrides)
}

// evaluateValues evaluates a values file in CUE.
func (o Options) evaluateValues(ctx context.Context, file string, data []byte) (object.Value, error) {
	const name = "values.cue"
	fsys, err := memfs.New(map[string][]byte{name: data})
	if err != nil {
		return object.Value{}, err
	}
	pos := object.Pos{File: file, Line: 1, Column: 1}
	return evaluate.ReadValues(ctx, o.Evaluator, evaluate.Subject{
		Pos: object.Pos{File: file}, Limits: o.Limits,
		Module: evaluate.Module{FS: fsys, Label: file, Sources: map[string]evaluate.Source{name: {Pos: pos}}},
	})
}

// valuesOfCharts returns the field that has the values of each spec that is a chart. It is "" if
// the chart is a folder of its own.
func valuesOfCharts(docs documents) map[string]string {
	out := map[string]string{}
	for _, t := range docs.Transforms {
		if _, ok := t.Component.Get("helm"); ok && docs.Packages[t.Name] {
			out[t.Name] = ""
		} else if ok {
			out[t.Name] = "helm.values."
		}
	}
	return out
}

// checkContext checks the context of the caller like the context of a project.
func checkContext(f found, c spec.Context) {
	if c.KubeVersion != "" {
		if _, ok := spec.ParseKubeVersion(c.KubeVersion); !ok {
			f.Fail(object.Pos{File: "--kube-version " + c.KubeVersion}, "",
				fmt.Errorf("%q is not a version of Kubernetes: expected one such as 1.36 or v1.36.2", c.KubeVersion))
		}
	}
	if c.Engine != "" && !slices.Contains(dialect.Names(), c.Engine) {
		f.Fail(object.Pos{File: "--dialect " + c.Engine}, object.Suggest(c.Engine, dialect.Names()),
			fmt.Errorf("dialect %q is not known", c.Engine))
	}
	if err := spec.CheckDomain(c.ClusterDomain); c.ClusterDomain != "" && err != nil {
		f.Fail(object.Pos{File: "--cluster-domain " + c.ClusterDomain}, "", err)
	}
	if err := spec.CheckName(c.Namespace); c.Namespace != "" && err != nil {
		f.Fail(object.Pos{File: "--namespace " + c.Namespace}, "", err)
	}
}

// withDefaults returns c with values for the fields that are still empty. The argument name is the
// dialect that the caller set.
func withDefaults(c spec.Context, name dialect.Name) spec.Context {
	if name != "" {
		c.Engine = string(name)
	}
	c.KubeVersion, _ = spec.ParseKubeVersion(c.KubeVersion)
	return spec.Context{
		Namespace: DefaultNamespace, KubeVersion: DefaultKubeVersion,
		ClusterDomain: DefaultClusterDomain, Engine: string(dialect.Plain),
	}.Merge(c)
}

// previewOf returns the rules of the preview that is rendered, or the zero value.
func previewOf(f found, docs documents, p spec.Project) preview.Rules {
	id := f.opts.Preview
	pos := object.Pos{File: "--preview " + id}
	err := spec.CheckPreview(id)
	switch {
	case id == "":
	case err != nil:
		f.Fail(pos, "", err)
	case !p.Previews.Pos.IsValid():
		if !docs.Incomplete {
			hint := "add previews: {namespace: \"${namespace}-pr-${preview}\"} to the spec of " + spec.ProjectFile
			f.Fail(pos, hint, errors.New("the project declares no previews"))
		}
	case !slices.ContainsFunc(f.Errs, func(e *object.Error) bool { return strings.HasPrefix(e.Path, "spec.previews") }):
		return preview.Rules{ID: id, Previews: p.Previews}
	}
	return preview.Rules{}
}

// context returns the context of a spec outside of a preview; namespace is "" if the spec has no
// namespace. A name or a namespace that is malformed has been reported, and is not reported again at
// each object.
func (s settings) context(name, namespace, environment string) object.Context {
	c := s.project.Context
	namespace = cmp.Or(namespace, c.Namespace)
	if spec.CheckName(namespace) != nil {
		namespace = DefaultNamespace
	}
	if spec.CheckName(name) != nil {
		name = project.Label(name)
	}
	return object.Context{
		Name: name, Namespace: namespace, Environment: environment,
		Engine: c.Engine, KubeVersion: c.KubeVersion, ClusterDomain: c.ClusterDomain,
	}
}

// name returns the name of the render: the name of the project, or of its only spec. The name of its
// folder would differ between checkouts, and the same request gives the same bytes everywhere.
func (s settings) name() string {
	switch {
	case s.project.Name != "":
		return s.project.Name
	case len(s.overlays.Names) == 1:
		return s.overlays.Names[0]
	}
	return "ropewalk"
}
