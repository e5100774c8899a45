// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/configmap"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Options say what a Transform is loaded with.
type Options struct {
	// Host is what does not come from the Transform: the evaluator, limits and the dialect, and
	// a context that wins over that of the Transform.
	Host host.Options
	// Files are those of the source; nil where the Transform has none.
	Files fs.FS
	// ConfigMaps gets those of the namespace of the Transform. Required.
	ConfigMaps configmap.Getter
	// HasSecret returns source.ErrNotFound where the namespace has no Secret of that name.
	// Required.
	HasSecret func(ctx context.Context, name string) error
	// KubeVersion is that of the cluster; nil leaves it to the project.
	KubeVersion func(ctx context.Context) (string, error)
	// Connect returns the host with what fetches modules. Required.
	Connect func(host.Options) (host.Host, error)
	// Place is the position of a field, such as spec.input.replicas or, with a line and a column
	// of a text, spec.cueRef.ref:16:20, and its path in the document there. Nil has the field
	// stand for the file.
	Place func(field string) (object.Pos, string)
}

// Loaded is a request that is ready to be rendered.
type Loaded struct {
	host.Loaded
	// positions tell where the user wrote what the request says.
	positions positions
}

// Dialect returns the dialect that a Transform is rendered for. It is Flux for an artifact that no
// engine applies here: other consumers ignore its annotations.
func Dialect(t *v1alpha1.Transform) dialect.Name {
	if t.Spec.Delivery != nil && t.Spec.Delivery.Type == v1alpha1.EngineArgoCD {
		return dialect.ArgoCD
	}
	return dialect.Flux
}

// Load makes the request of a Transform. An error is an object.Errors with every mistake, at the
// positions of the user's input. Or it is a [WaitError] for what does not exist yet, or that of
// what the options ask.
func Load(ctx context.Context, o Options, t *v1alpha1.Transform) (Loaded, error) {
	// The Transform is a document, or the overlay of a project.
	out := Loaded{positions: positions{transform: t, at: o.place}}
	opts, err := o.openFiles(ctx, t, &out)
	if err != nil {
		return out, err
	}
	project := spec.Context{}
	if t.Spec.One() {
		opts.Documents = []spec.File{out.positions.doc.File}
	} else {
		opts.Args = []string{folderOf(t)}
		project = contextOf(opts.FS, t, opts.Environment)
	}
	if err := o.fillContext(ctx, &opts.Context, project, t); err != nil {
		return out, err
	}

	// References are fetched as the options connect.
	h, err := o.Connect(opts)
	if err != nil {
		return out, err
	}
	if t.Spec.One() {
		h = o.inCluster(h)
	}
	out.Loaded, err = h.Load(ctx, opts)
	if err != nil {
		return out, out.Explain(err)
	}
	if t.Spec.One() {
		return out, nil
	}
	return out, out.Explain(o.complete(ctx, o.inCluster(h), opts, t, &out))
}

// hostOptions returns the options for the host, without files and arguments.
func (o Options) hostOptions(t *v1alpha1.Transform) host.Options {
	out := o.Host
	c := v1alpha1.Context{}
	if t.Spec.Context != nil {
		c = *t.Spec.Context
	}
	out.Dir = "."
	out.Root = "."
	out.Name = label(t.Name)
	out.AllowEmpty = out.AllowEmpty || t.Spec.AllowEmpty
	out.Context = spec.Context{Namespace: c.Namespace, ClusterDomain: c.ClusterDomain, KubeVersion: c.KubeVersion}.Merge(out.Context)
	out.Emit.Dialect = cmp.Or(out.Emit.Dialect, Dialect(t))
	out.Context.Engine = string(out.Emit.Dialect)
	out.Emit.Name = label(t.Name)
	out.Emit.FluxNamespace = cmp.Or(out.Emit.FluxNamespace, t.Namespace)
	if !t.Spec.One() {
		for _, name := range object.SortedKeys(t.Spec.Tags) {
			out.Runtime = append(out.Runtime, name+"="+t.Spec.Tags[name])
		}
	}
	if ref := t.SourceRef(); ref != nil {
		out.Environment = ref.Environment
	}
	return out
}

// openFiles returns the options with the files of the source, and the inputs of the Transform
// beside them.
func (o Options) openFiles(ctx context.Context, t *v1alpha1.Transform, out *Loaded) (host.Options, error) {
	beside := map[string][]byte{}
	opts := o.hostOptions(t)
	values, runtime, err := o.addInputs(ctx, t, beside)
	if err != nil {
		return opts, err
	}
	opts.Values = values
	opts.Runtime = append(opts.Runtime, runtime...)
	dir := folderOf(t)
	if o.Files != nil {
		folder, err := o.checkFolder(t)
		if err != nil {
			return opts, err
		}
		if !folder {
			dir = path.Dir(dir)
		}
	}
	out.positions.doc, err = newDocument(t, dir)
	if err != nil {
		return opts, err
	}
	opts.FS, err = newOverlay(o.Files, beside)
	return opts, err
}

// fillContext sets the context that the Transform leaves out. The namespace is that of the
// Transform, if the project that it renders sets none either. The version of Kubernetes is that of
// the cluster, whatever the project sets, as under Argo CD: a project sets what to render for if
// no cluster is known.
func (o Options) fillContext(ctx context.Context, c *spec.Context, project spec.Context, t *v1alpha1.Transform) (err error) {
	if c.Namespace == "" && project.Namespace == "" {
		c.Namespace = t.Namespace
	}
	if c.KubeVersion == "" && o.KubeVersion != nil {
		c.KubeVersion, err = o.KubeVersion(ctx)
	}
	return err
}

// contextOf returns the context that the project of a source sets, in its environment.
func contextOf(files fs.FS, t *v1alpha1.Transform, environment string) spec.Context {
	name := folderOf(t)
	if info, err := fs.Stat(files, name); err == nil && info.IsDir() {
		name = path.Join(name, spec.ProjectFile)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return spec.Context{}
	}
	// Its mistakes are told when it is loaded.
	docs, _ := spec.Parse([]spec.File{{Name: name, Data: data, Found: true}})
	out := spec.Context{}
	for _, p := range docs.Projects {
		over, _, _ := p.Overlay(environment, nil)
		out = out.Merge(over)
	}
	return out
}

// inCluster returns a host whose modules of the type configmap come from the namespace of the
// Transform. It is for documents that are in a Transform. Documents of a project have the
// ConfigMaps of the project.
func (o Options) inCluster(h host.Host) host.Host {
	h.Fetchers = maps.Clone(h.Fetchers)
	h.Fetchers[source.TypeConfigMap] = configmap.Fetcher{Limits: h.Limits, Getter: o.ConfigMaps}
	return h
}

// checkFolder refuses a path that the source does not have, and reports whether it is that of a
// folder.
func (o Options) checkFolder(t *v1alpha1.Transform) (folder bool, err error) {
	name := folderOf(t)
	root, err := rootfs.Of(o.Files, ".")
	if err != nil {
		return false, err
	}
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return false, o.mistake("spec.sourceRef.path", "hidden files and folders are not part of a source", "%q does not exist in the source", name)
	case !info.IsDir() && t.Spec.One():
		return false, o.mistake("spec.sourceRef.path", "", "%q is a file: expected the folder that spec.cueRef.ref is relative to", name)
	}
	return info.IsDir(), nil
}

// complete lays the fields of the Transform over the specs of its project.
func (o Options) complete(ctx context.Context, h host.Host, opts host.Options, t *v1alpha1.Transform, out *Loaded) error {
	req := &out.Request
	for i := range req.Specs {
		if req.Specs[i].Adopt == "" {
			req.Specs[i].Adopt = t.Spec.Adopt
		}
	}
	for _, s := range req.Specs {
		name := s.Evaluate.Spec
		req.AllowSecrets[name] = append(req.AllowSecrets[name], t.Spec.AllowSecrets...)
	}

	// Its policies and overrides are loaded as those of a document, for each spec.
	if len(t.Spec.Policies)+len(t.Spec.PolicyOverrides) == 0 {
		return nil
	}
	opts.Args = nil
	opts.Documents = []spec.File{out.positions.doc.File}
	opts.Values = nil
	opts.Runtime = nil
	opts.Environment = ""
	own, err := h.Load(ctx, opts)
	if err == nil {
		err = own.Request.Mistakes.Failures().Err() // There is no project, of which it warns.
	}
	if err != nil {
		return err
	}

	// Policies of the project are loosened before its own come, which nothing loosens.
	if err := o.loosen(req.Specs, t); err != nil {
		return err
	}
	from := own.Request.Specs[0]
	for i := range req.Specs {
		if err := o.addPolicies(&req.Specs[i], from, t); err != nil {
			return err
		}
	}
	return nil
}

// loosen loosens policies of the project for its specs.
func (o Options) loosen(specs []render.Spec, t *v1alpha1.Transform) error {
	overrides := make([]spec.PolicyOverride, len(t.Spec.PolicyOverrides))
	for i, own := range t.Spec.PolicyOverrides {
		at := object.Fields("spec", "policyOverrides").Append(object.Index(i))
		overrides[i] = spec.PolicyOverride{Policy: own.Policy, Action: own.Action, Reason: own.Reason, Path: at}
		overrides[i].Pos, _ = o.place(at.String() + ".policy")
	}
	var mistakes object.Errors
	for i := range specs {
		mistakes = append(mistakes, specs[i].Loosen(overrides)...)
	}
	return mistakes.Sorted().Err()
}

// addPolicies adds the policies of another spec to this one.
func (o Options) addPolicies(s *render.Spec, from render.Spec, t *v1alpha1.Transform) error {
	for _, p := range from.Evaluate.Policies {
		if slices.ContainsFunc(s.Evaluate.Policies, func(o evaluate.Policy) bool { return o.Name == p.Name }) {
			return o.duplicatePolicy(t, p.Name)
		}
	}
	// The project's own are shared by all specs.
	s.Evaluate.Policies = slices.Concat(s.Evaluate.Policies, from.Evaluate.Policies)
	for _, p := range from.Policies {
		p.Spec = s.Evaluate.Spec
		s.Policies = append(s.Policies, p)
	}
	return nil
}
