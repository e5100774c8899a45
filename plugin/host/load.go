// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/preview"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
	"github.com/ropewalk/ropewalk/source"
)

// Load finds the specs that opts name, applies the overlays, and fetches the modules.
//
// Errors in some files do not hide those in others: while at least one spec is complete,
// all errors are in Loaded.Request.Mistakes, and the render finds more and fails with
// all of them. Where no spec is left to render, the error is an object.Errors with every
// error, or wraps that of ctx; Texts is set even then.
func (h Host) Load(ctx context.Context, opts Options) (Loaded, error) {
	where := opts.Project()
	texts := &texts{limits: opts.Limits, charge: opts.charge, seen: map[string]bool{}}
	where.Charge = func(text spec.File) error { return texts.document(ctx, text) }
	d, err := project.Open(where)
	if err != nil {
		return Loaded{}, err
	}
	defer d.Close()
	if d.Find(); d.Ended() != nil {
		return Loaded{}, d.Ended()
	}
	l := h.loading(d, opts)
	l.texts = texts
	l.readRuntime()
	if err := l.bundles(ctx); err != nil {
		return Loaded{}, err
	}
	if err := l.components(ctx); err != nil {
		return Loaded{}, err
	}
	out := l.project()
	if opts.Evaluator != nil {
		l.overlays.CUE = func(file string, data []byte) (object.Value, error) { return opts.values(ctx, file, data) }
	}
	l.overlays.Charts = l.charts()
	l.overlays.Read(opts.Values, append(l.overlays.ReadHelm(opts.HelmSet), opts.Set...), opts.Overrides)
	if err = d.Ended(); err == nil {
		err = l.specs(ctx, &out)
	}
	if err == nil {
		err = d.Ended()
	}
	if err != nil {
		return Loaded{}, err
	}
	l.unused()
	l.unrendered()
	out.NotRendered, out.Nested, out.NotApplied, out.Unplaced = d.NotRendered(l.docs, l.read), d.Nested(), d.NotApplied(), l.unplaced
	out.Request.CRDs = d.CRDs(opts.CRDs)
	out.Texts = l.overlays.Texts
	for _, file := range d.Files {
		out.Texts[file.Name] = file.Data
	}
	for _, b := range d.Bundles {
		for _, file := range append(b.Files(), b.Runtime) {
			out.Texts[file.Name] = file.Data
		}
	}
	l.dependencies(&out.Request)
	out.Request.Preview = l.preview
	l.nothing(out)
	out.Request.Secrets = l.secrets
	if len(d.Errs) > 0 {
		var secrets object.Secrets
		l.secrets(&secrets)
		out.Request.Mistakes = secrets.Errors(d.Errs).Sorted()
	}
	if len(out.Request.Specs) == 0 {
		return out, out.Request.Mistakes.Err()
	}
	return out, nil
}

// ErrNoSpec is the error of a project without a spec; Options.AllowEmpty accepts one.
var ErrNoSpec = errors.New("the project has no spec")

// nothing reports that there is no spec at all.
func (l *loading) nothing(out Loaded) {
	if len(out.Request.Specs) > 0 || l.opts.AllowEmpty || l.Errs.Err() != nil {
		return
	}
	if p := l.document; p.Pos.IsValid() {
		l.Fail(p.Pos, "add Transforms or Workloads to its folder, or name files in spec.specs", ErrNoSpec)
		return
	}
	for _, file := range l.Files {
		l.Fail(object.Pos{File: file.Name}, project.SpecHint, project.ErrNoSpecIn)
	}
}

// unrendered reports what lies in the folders of specs, but for what a spec refers to.
func (l *loading) unrendered() {
	used := map[project.Location]bool{}
	for key := range l.modules.trees {
		used[project.Location{Root: key.root, Dir: path.Join(key.Ref.Ref, key.Path)}] = true
	}
	for _, t := range l.docs.Transforms { // One with a mistake was not fetched.
		at := l.Location(t.CueRef.Pos.File)
		used[project.Location{Root: at.Root, Dir: path.Join(at.Dir, t.CueRef.Ref)}] = true
	}
	l.Unrendered(used, l.read)
}

// values evaluates a values file in CUE.
func (o Options) values(ctx context.Context, file string, data []byte) (object.Value, error) {
	const name = "values.cue"
	fsys, err := memfs.New(map[string][]byte{name: data})
	if err != nil {
		return object.Value{}, err
	}
	pos := object.Pos{File: file, Line: 1, Column: 1}
	result, err := o.Evaluator.Evaluate(ctx, evaluate.Request{
		Values: true, Pos: object.Pos{File: file}, Limits: o.Limits,
		Module: evaluate.Module{FS: fsys, Label: file, Sources: map[string]evaluate.Source{name: {Pos: pos}}},
	})
	return result.Values, err
}

// loading is the state of one Load.
type loading struct {
	*project.Discovery
	opts Options
	docs spec.Documents
	// packages names the specs that are folders of a CUE package without a document.
	packages map[string]bool
	// read are the files that components read, by their names in positions.
	read     map[string]bool
	texts    *texts
	modules  modules
	runtime  runtime
	overlays *project.Overlays
	context  spec.Context
	preview  preview.Rules
	inputs   map[string]spec.Input
	policies []spec.Policy
	// projectUses are the policies of the project, with their modules.
	projectUses []use
	// document is the project, and config its settings for workloads.
	document  spec.Project
	config    spec.Workloads
	variables variables
	// workloadDefaults are those of the project in its environment.
	workloadDefaults score.Defaults
	// unplaced are the specs without a namespace, unless the project or the caller names one.
	placed   bool
	unplaced []string
}

// loading parses the documents that were found.
func (h Host) loading(d *project.Discovery, opts Options) *loading {
	docs, packages := d.Documents(opts.Name)
	l := &loading{
		Discovery: d, opts: opts, docs: docs, packages: packages, read: map[string]bool{},
		modules: modules{host: h, discovery: d, docs: docs, trees: map[module]source.Tree{}, errs: map[module]error{}, positions: map[module]map[string]evaluate.Source{}, charge: opts.charge},
	}
	l.sources()
	l.modules.docs = l.docs
	return l
}

// project returns the project with its environment, and the parts of the request that
// are the same for all specs.
func (l *loading) project() Loaded {
	p, err := l.docs.OneProject()
	l.Errs = append(l.Errs, object.AsErrors(err, object.StageSpec)...)
	l.strayProject(p)
	l.environments(&p)
	l.overlays = l.Overlays(project.Names(l.docs), l.docs.Incomplete || l.Missed || len(l.Files)+len(l.packages)+len(l.Bundles) == 0)
	ctx, inputs, err := p.Overlay(l.opts.Environment, l.overlays.Names)
	for _, e := range object.AsErrors(err, object.StageSpec) {
		// A spec that could not be read may be the one that is meant.
		if !l.overlays.NamesIncomplete || !strings.Contains(e.Path, ".inputs.") {
			l.Errs = append(l.Errs, e)
		}
	}
	_, known := p.Environments[l.opts.Environment]
	l.overlays.Incomplete = l.opts.Environment != "" && !known
	l.checkContext(l.opts.Context)
	ctx = ctx.Merge(l.opts.Context)
	l.placed = ctx.Namespace != ""
	p.Context = defaults(ctx, l.opts.Emit.Dialect)
	l.readPreview(p)
	l.document, l.context, l.inputs, l.policies = p, p.Context, inputs, p.Policies
	out := Loaded{Name: p.Name, Project: p, Texts: map[string][]byte{}}
	if out.Name == "" {
		out.Name = nameOf(l.overlays.Names)
	}
	out.Request.Emit = l.opts.Emit
	if out.Request.Emit.Name == "" {
		out.Request.Emit.Name = out.Name
		if l.preview.ID != "" { // The objects of Flux are in one namespace.
			out.Request.Emit.Name += "-" + l.preview.ID
		}
	}
	out.Request.Emit.Dialect = dialect.Name(p.Context.Engine)
	out.Request.KubeVersion, out.Request.SkipSchemas = p.Context.KubeVersion, l.opts.SkipSchemas
	out.Request.AllowSecrets = map[string][]string{}
	return out
}

// strayProject refuses a project that a search found in a file of another name: its
// list of specs would be ignored.
func (l *loading) strayProject(p spec.Project) {
	for _, file := range l.Files {
		if p.Pos.IsValid() && file.Name == p.Pos.File && file.Found {
			l.Fail(p.Pos, "rename the file to "+spec.ProjectFile, errors.New("a Project must be in a file named "+spec.ProjectFile))
		}
	}
}

// dependencies lists the specs that are not in the request, and reports dependencies of
// theirs that do not exist; the graph reports those of the other specs.
func (l *loading) dependencies(req *render.Request) {
	complete := make(map[string]bool, len(req.Specs))
	for _, s := range req.Specs {
		complete[s.Evaluate.Spec] = true
	}
	known := make(map[string]bool, len(l.overlays.Names))
	for _, name := range l.overlays.Names {
		known[name] = true
	}
	broken := map[string]bool{}
	for _, w := range l.docs.Workloads {
		if !complete[w.Name] && w.Name != "" {
			broken[w.Name] = true
		}
	}
	for _, t := range l.docs.Transforms {
		if !complete[t.Name] && t.Name != "" {
			broken[t.Name] = true
		}
		for _, d := range t.DependsOn {
			switch {
			case known[d.Name]:
			case l.overlays.NamesIncomplete:
				broken[d.Name] = true
			case !complete[t.Name]:
				l.Errs = append(l.Errs, &object.Error{
					Stage: object.StageSpec, Pos: d.Pos, Path: "spec.dependsOn",
					Err: fmt.Errorf("there is no spec %q", d.Name), Hint: l.Suggest(d.Name, l.overlays.Names),
				})
			}
		}
	}
	req.Broken = object.SortedKeys(broken)
}

// specs adds every complete spec to the request, sorted by name.
func (l *loading) specs(ctx context.Context, out *Loaded) error {
	transforms := slices.Clone(l.docs.Transforms)
	slices.SortStableFunc(transforms, func(a, b spec.Transform) int { return strings.Compare(a.Name, b.Name) })
	uses, components := make([][]use, len(transforms)), make([]*built, len(transforms))
	shared, complete := l.uses(l.policies)
	l.projectUses = shared
	var all []reference
	for _, u := range shared {
		all = append(all, u.reference)
	}
	for i, t := range transforms {
		own, ok := l.usesOf(t)
		if isComponent(t) {
			var good bool
			components[i], good = l.component(t)
			ok = ok && good
		}
		if !ok || !complete {
			continue
		}
		uses[i] = own
		if isComponent(t) {
			all = append(all, components[i].references()...)
		}
		for _, u := range own {
			all = append(all, u.reference)
		}
	}
	workloadUses, workloadsComplete := l.workloadModules()
	for _, u := range workloadUses {
		all = append(all, u.reference)
	}
	if err := l.modules.fetch(ctx, all); err != nil {
		return err
	}
	out.References = l.modules.references(all)
	policies, ok := l.evaluatePolicies(l.projectUses)
	for i, t := range transforms {
		if uses[i] == nil || !ok {
			continue
		}
		s, good := render.Spec{}, false
		if isComponent(t) {
			s, good = l.componentSpec(ctx, t, components[i], uses[i], policies)
		} else {
			s, good = l.spec(t, uses[i], policies)
		}
		if err := l.ended(ctx); err != nil {
			return err
		}
		if good {
			if err := l.opts.charge(ctx, sizeOf(s)); err != nil {
				return err
			}
			s.AllowSecretsPos = t.AllowSecretsPos
			out.Request.Specs = append(out.Request.Specs, s)
			out.Request.AllowSecrets[t.Name] = t.AllowSecrets
		}
	}
	if ok && workloadsComplete {
		if err := l.workloads(ctx, out, workloadUses, policies); err != nil {
			return err
		}
	}
	slices.SortStableFunc(out.Request.Specs, func(a, b render.Spec) int {
		return strings.Compare(a.Evaluate.Spec, b.Evaluate.Spec)
	})
	return nil
}

// ended is the error that has ended the load before all was read.
func (l *loading) ended(ctx context.Context) error { return cmp.Or(l.texts.ended, ctx.Err()) }

// spec returns a spec in the form that render takes.
func (l *loading) spec(t spec.Transform, uses []use, policies []evaluate.Policy) (render.Spec, bool) {
	tree, ok := l.modules.tree(uses[0].reference)
	own, good := l.evaluatePolicies(uses[1:])
	if !ok || !good {
		return render.Spec{}, false
	}
	input, inputPath := t.Input, t.InputPath()
	// A spec without an input misses what its module wants where it names the module.
	input.Pos = cmp.Or(input.Pos, t.CueRef.Pos, t.Pos)
	if over := l.inputs[t.Name].Value; over.Kind == object.KindMap {
		// What is missing is missing in the document, not in the environment.
		input.Kind = object.KindMap
		input = input.Merge(over)
	}
	switch {
	case l.packages[t.Name]:
		inputPath = nil
	case t.Instance != nil:
		inputPath = t.Instance.Append(object.Field("values"))
		l.sameVersion(t, tree)
	}
	module := l.modules.module(uses[0].reference, tree, l.runtime.over(t.Tags, tree))
	module.TagPos = t.TagPos
	var layers []object.Value
	if project.IsTimoni(tree.FS, tree.Dir) {
		input, layers = l.overlays.ApplyTimoni(t.Name, input)
	} else {
		input = l.overlays.Apply(t.Name, input)
	}
	var expressions []string
	if l.packages[t.Name] {
		expressions = l.opts.Expressions
	}
	out := render.Spec{
		Evaluate: evaluate.Request{
			Spec: t.Name, Pos: t.Pos, Module: module, Input: input, Layers: layers, InputPath: inputPath,
			Context:  l.contextOf(t.Name, t.Namespace, l.opts.Environment),
			Policies: joined(policies, own),
			Limits:   l.opts.Limits, AllowEmpty: l.opts.AllowEmpty, Overlays: t.Overlays, Expressions: expressions,
		},
		DependsOn: t.DependsOn,
		Adopt:     t.Adopt,
		Gateway:   t.Kind == spec.KindGateway,
		Written:   t.Written,
		Source:    sourceOf(t.Name, "", tree),
	}
	for _, u := range slices.Concat(l.projectUses, uses[1:]) {
		if tree, ok := l.modules.trees[u.key]; ok {
			out.Policies = append(out.Policies, sourceOf(t.Name, u.policy.Name, tree))
		}
	}
	return out, true
}

// sourceOf is the provenance of a tree.
func sourceOf(name, policy string, tree source.Tree) render.Source {
	return render.Source{
		Spec: name, Policy: policy, Origin: tree.Origin, Revision: tree.Revision, Pinned: tree.Pinned, Digest: tree.Digest,
	}
}
