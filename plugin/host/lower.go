// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/host/envfile"
	"github.com/ropewalk/ropewalk/plugin/host/isolation"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
)

// lower makes specs of documents and files of other forms: workloads of compose files and the
// like, Transforms of bundles, and Components of folders whose CUE makes no objects. The error is
// the error of ctx.
func lower(ctx context.Context, f found, docs documents, vars *variables) (documents, error) {
	docs = lowerSources(f, docs, vars)
	docs, err := lowerBundles(ctx, f, docs)
	if err != nil {
		return docs, err
	}
	return lowerPackages(ctx, f, docs)
}

// lowerSources adds the workloads and Gateways of documents of front ends.
func lowerSources(f found, docs documents, vars *variables) documents {
	if len(docs.Sources) == 0 {
		return docs
	}
	// Of two specs with one name, the first counts.
	first := map[string]object.Pos{}
	for _, w := range docs.Workloads {
		first[w.Name] = w.NamePos
	}
	for _, t := range docs.Transforms {
		first[t.Name] = t.NamePos
	}
	isFirst := func(name string, at object.Pos) bool {
		other, known := first[name]
		if known {
			f.Fail(at, "", fmt.Errorf("a second spec is called %q; the first is at %s", name, other))
			return false
		}
		first[name] = at
		return true
	}

	// Mistakes in the project are reported when it is overlaid.
	p, _ := docs.OneProject()
	config, _ := p.Workloads(f.opts.Environment)
	for _, doc := range docs.Sources {
		compiled, errs := frontend.Of(doc.Kind).Compile(doc, surroundings{
			found:     f,
			file:      doc.Pos.File,
			declared:  object.SortedKeys(p.Environments),
			config:    config,
			variables: vars,
		})
		f.Errs = append(f.Errs, errs...)
		docs.Incomplete = docs.Incomplete || errs.Err() != nil
		for _, w := range compiled.Workloads {
			if isFirst(w.Name, w.NamePos) {
				docs.Workloads = append(docs.Workloads, w)
			}
		}
		for _, g := range compiled.Gateways {
			if isFirst(g.Name, g.NamePos) {
				docs.Transforms = append(docs.Transforms, g)
			}
		}
	}
	return docs
}

// surroundings are the files beside a document and the variables that the caller declares.
type surroundings struct {
	found
	file      string
	declared  []string
	config    spec.Workloads
	variables *variables
}

var _ frontend.Surroundings = surroundings{}

// Environment returns the environment of the render.
func (s surroundings) Environment() string { return s.opts.Environment }

// Declared returns the environments that the project declares.
func (s surroundings) Declared() []string { return s.declared }

// Config returns the configuration of the project, in its environment.
func (s surroundings) Config() object.Value { return s.config.Config }

// Read returns a file, by its path relative to the folder of the document.
func (s surroundings) Read(name string) (spec.File, error) {
	if path.IsAbs(name) {
		return spec.File{}, errors.New("a path of the host: files are those of the project")
	}
	return s.Beside(s.file, name)
}

// Below returns the files in a folder, by paths relative to it.
func (s surroundings) Below(folder string, most int) ([]string, error) {
	if path.IsAbs(folder) || !fs.ValidPath(path.Clean(folder)) {
		return nil, errors.New("leaves the folder of the document")
	}
	return s.Discovery.Below(s.file, folder, most)
}

// Variables returns the variables of an env file. No message shows their values.
func (s surroundings) Variables(file spec.File) (map[string]string, object.Errors) {
	out, errs := envfile.Parse(file)
	for _, name := range object.SortedKeys(out) {
		s.variables.hide(name, out[name])
	}
	return out, errs
}

// NetworkPolicies reports whether the project asks for network policies.
func (s surroundings) NetworkPolicies() bool { return len(s.config.Policies) > 0 }

// Variable returns a variable that the project or the caller declares.
func (s surroundings) Variable(name string) (string, bool) { return s.variables.lookup(name) }

// lowerPackages renders the folder of a CUE package as the chart or the kustomization that is
// there too, if the package makes no objects: it is a part of the work with these then.
func lowerPackages(ctx context.Context, f found, docs documents) (documents, error) {
	if f.opts.Evaluator == nil || len(f.opts.Expressions) > 0 {
		return docs, nil
	}
	for i, t := range docs.Transforms {
		other, ok := docs.Instead[t.Name]
		if !ok || !docs.Packages[t.Name] {
			continue
		}
		if makesNothing(ctx, f, t) {
			delete(docs.Packages, t.Name)
			docs.Packages[other.Name] = true
			docs.Transforms[i] = other
		}
		if ctx.Err() != nil {
			return docs, ctx.Err()
		}
	}
	return docs, nil
}

// makesNothing reports whether a CUE package is not a module of a known flavour and makes no objects.
// The render reports mistakes in it.
func makesNothing(ctx context.Context, f found, t spec.Transform) bool {
	w, ok := f.modules.reference(t.CueRef, nil)
	if !ok {
		return false
	}
	tree, err := f.modules.complete(ctx, w.key)
	if err != nil {
		return false
	}
	result, err := f.opts.Evaluator.Evaluate(ctx, evaluate.Request{
		Spec: t.Name, Pos: t.Pos, Module: f.modules.module(w, tree, f.runtime.overTags(t.Tags, tree)), Limits: f.opts.Limits, AllowEmpty: true,
	})
	return err == nil && result.Flavour == evaluate.FlavourPlain && len(result.Nodes) == 0
}

// lowerBundles makes every instance of the bundles a Transform, and the clusters of their runtime
// environments of the project. The error is the error of ctx.
func lowerBundles(ctx context.Context, f found, docs documents) (documents, error) {
	for _, b := range f.Bundles {
		if f.opts.Evaluator == nil {
			f.Fail(object.Pos{File: b.File.Name}, "", errors.New("bundles of Timoni cannot be read here"))
			continue
		}
		if definition := f.runtime.definition; definition.Name != "" {
			b.Runtime = definition
		}
		out, err := readBundle(ctx, f, b)
		if ctx.Err() != nil {
			return docs, ctx.Err()
		}
		if err != nil {
			f.Errs = append(f.Errs, object.AsErrors(err, object.StageSpec)...)
			docs.Incomplete = true
		}
		if out != nil {
			docs = withInstances(f, withClusters(f, docs, b, *out), b, *out)
		}
	}
	return docs, nil
}

// addLogins adds the workloads of the oauth2-proxies that Gateways need. They have the policies,
// schemas and network of all workloads.
func addLogins(f found, docs documents, s settings) documents {
	// A Gateway may need a proxy in this environment only. Mistakes in the Gateway are reported when
	// its spec is built, and rendered.
	known := len(f.Errs)
	var gateways []*gateway.Gateway
	for _, t := range docs.Transforms {
		if t.Kind == spec.KindGateway {
			input := s.overlays.Apply(t.Name, t.Input.Merge(s.inputs[t.Name].Value))
			g, _ := gateway.Decode(t.Name, t.Pos, s.context(t.Name, t.Namespace, f.opts.Environment), input)
			gateways = append(gateways, g)
		}
	}
	f.Errs = f.Errs[:known]

	// Mistakes in the network of workloads are reported with these.
	config, _ := s.project.Workloads(f.opts.Environment)
	for _, l := range gateway.Logins(gateways) {
		w := l.Workload(len(config.Policies) > 0)
		if slices.Contains(s.overlays.Names, l.Name) {
			f.Fail(w.Pos, "rename that spec", fmt.Errorf("a spec is called %q, which is the name of the oauth2-proxy that is made here", l.Name))
			continue
		}
		docs.Workloads = append(docs.Workloads, w)
	}
	return docs
}

// isolate adds the spec that isolates the namespace of the environment, if the project wants that.
// Its objects are made like the objects of all specs: policies and schemas count, and an object that
// is there twice is an error.
func isolate(f found, docs documents, s settings) documents {
	// The isolation needs a namespace that the user chose, and a name of its own.
	i := s.project.Environments[f.opts.Environment].Isolation
	if !i.Pos.IsValid() {
		return docs
	}
	field := object.Fields("spec", "environments", f.opts.Environment, "isolation")
	switch {
	case !s.placed:
		f.FailAt(i.Pos, field, "write context: {namespace: …} beside it", errors.New("no namespace is named, which it is for"))
		return docs
	case slices.Contains(s.overlays.Names, isolation.Name):
		err := fmt.Errorf("a spec is called %q, which is the name of the one that makes the objects of it", isolation.Name)
		f.FailAt(i.Pos, field, "rename that spec", err)
		return docs
	}

	// Workloads whose network has no policies cannot call anything then.
	policies, err := s.project.Workloads(f.opts.Environment)
	allowed := slices.Contains(policies.Policies, "kubernetes") || slices.Contains(policies.Policies, "cilium")
	hasWorkloads := err == nil && len(docs.Workloads) > 0
	if i.DefaultDeny && hasWorkloads && !allowed {
		f.Errs = append(f.Errs, &object.Error{
			Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: i.DenyPos, Path: field.Append(object.Field("defaultDeny")).String(),
			Err:  errors.New("workloads make no NetworkPolicy that allows their calls, and the names that they look up"),
			Hint: "write workloads: {network: {policies: [kubernetes]}} beside it",
		})
	}
	if t, ok := isolation.Spec(i, s.project.Context.Namespace); ok {
		docs.Transforms = append(docs.Transforms, t)
	}
	return docs
}
