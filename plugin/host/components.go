// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/component/manifests"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// componentFrontEnd makes the specs of Components: charts, kustomizations and manifests.
type componentFrontEnd []componentSpec

// componentSpec is a component on its way to its files.
type componentSpec struct {
	spec.Transform
	spec.Component
	// input is the component as it was written, with its overlays.
	input    object.Value
	policies []use
	// source holds the files, and chart is in a registry or a repository; both may be nil.
	source, chart *reference
}

// planComponents decodes the components with the overlays of environments and options.
// Components with a mistake are left out, and mistakes are reported.
func planComponents(p planning) frontEnd {
	var out componentFrontEnd
	for _, t := range p.docs.Transforms {
		if !isComponent(t) {
			continue
		}
		policies, complete := usesOf(p.modules, t.Policies)
		c, ok := planComponent(p, t)
		c.policies = policies
		if complete && ok {
			out = append(out, c)
		}
	}
	return out
}

// planComponent decodes a component, with the references that have to be fetched for it. It returns
// false if the component has mistakes.
func planComponent(p planning, t spec.Transform) (componentSpec, bool) {
	// Environments and options lay over the document.
	out := componentSpec{Transform: t, input: t.Component}
	overlay := p.settings.inputs[t.Name].Value
	if overlay.Kind == object.KindMap {
		out.input = out.input.Merge(overlay)
	}
	out.input = withOptions(p, t, out.input)
	if t.InputUnsure || t.Name == "" || p.settings.overlays.Incomplete {
		return out, false
	}
	place := t.ComponentPath()
	if p.docs.Packages[t.Name] {
		place = nil
	}
	var errs object.Errors
	out.Component, errs = spec.DecodeComponent(out.input, place, t.Blocks)
	out.Component.OfUnit = t.OfUnit
	if len(errs) > 0 {
		p.Errs = append(p.Errs, errs...)
		return out, false
	}

	// Its files are in a source, or in the project; a chart may come from elsewhere.
	complete := true
	if ref := out.Source; ref.Type != "" && ref.Type != spec.RefPath {
		field := "source"
		if _, ok := out.input.Get("artifact"); ok {
			field = "artifact"
		}
		w, ok := p.modules.reference(ref, place.Append(object.Field(field)))
		w.key.files = true
		out.source = &w
		complete = ok
	}
	if out.Helm != nil {
		out.Helm.Sets = slices.Concat(t.HelmSets, p.settings.overlays.Helm(t.Name))
		if ref, remote := chartOf(*out.Helm); remote {
			w, ok := p.modules.reference(ref, out.Path)
			w.key.files = true
			out.chart = &w
			complete = complete && ok
		}
	}
	return out, complete
}

// withOptions returns a component with the values of options. If a chart is a folder of its own, the
// values of options are values of the chart.
func withOptions(p planning, t spec.Transform, v object.Value) object.Value {
	_, chart := v.Get("helm")
	if !p.docs.Packages[t.Name] || !chart {
		return p.settings.overlays.Apply(t.Name, v)
	}
	values := p.settings.overlays.Apply(t.Name, object.Value{Kind: object.KindMap, Pos: v.Pos})
	if len(values.Members) == 0 {
		return v
	}
	overlay := object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: "values", Pos: v.Pos, Value: values}}}
	return v.Merge(object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: "helm", Pos: v.Pos, Value: overlay}}})
}

// references implements frontEnd. The trees are needed before the files are known.
func (c componentFrontEnd) references() []reference {
	var out []reference
	for _, s := range c {
		for _, r := range []*reference{s.source, s.chart} {
			if r != nil {
				out = append(out, *r)
			}
		}
		out = append(out, referencesOf(s.policies)...)
	}
	return out
}

// build implements frontEnd.
func (c componentFrontEnd) build(ctx context.Context, b *builder) error {
	for i := range c {
		built, ok := c[i].build(ctx, b)
		err := b.ended(ctx)
		if err == nil && ok {
			err = b.add(ctx, built, c[i].Transform)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// build makes one spec. It returns false if the spec has mistakes.
func (c *componentSpec) build(ctx context.Context, b *builder) (render.Spec, bool) {
	policies, complete := evaluatePolicies(b.modules, c.policies)
	files, ok := c.openFiles(ctx, b)
	if !ok || !complete {
		return render.Spec{}, false
	}
	module, ok := collect(ctx, b, &c.Component, files)
	if !ok {
		return render.Spec{}, false
	}
	t := c.Transform
	namespace := t.Namespace
	if c.Helm != nil {
		namespace = cmp.Or(c.Helm.Namespace, namespace)
	}
	return render.Spec{
		Evaluate: evaluate.Request{
			Operation: evaluate.OpBuild, Spec: t.Name, Pos: t.Pos, Module: module, Component: &c.Component, Overlays: t.Overlays,
			Input: c.input, InputPath: t.ComponentPath(), Context: b.context(t.Name, namespace, b.opts.Environment),
			Policies: joined(b.policies, policies), Limits: b.opts.Limits, AllowEmpty: b.opts.AllowEmpty,
		},
		DependsOn: t.DependsOn, Adopt: t.Adopt, StatesNamespace: t.Kind == spec.KindComponent && t.Namespace != "",
		Source: files.source(module), Policies: append(files.sources, b.policySources(t.Name, c.policies)...),
	}, true
}

// openFiles returns the files that paths of a component lead to. It returns false if they could
// not be fetched.
func (c *componentSpec) openFiles(ctx context.Context, b *builder) (*files, bool) {
	out := &files{spec: c.Name, modules: b.modules, count: func(name string, data []byte) error {
		return b.texts.countFile(ctx, spec.File{Name: name, Data: data})
	}}

	// The files are in the source, or in the project.
	if c.source != nil {
		tree, ok := b.modules.tree(*c.source)
		if !ok {
			return out, false
		}
		out.addSource("", tree)
		out.base = tree.FS
		out.dir = cmp.Or(tree.Dir, ".")
		out.label = tree.Origin
	} else {
		out.at = b.Location(c.Transform.Pos.File)
		if out.at.Root == nil {
			b.Fail(c.Transform.Pos, "write it into a file", errors.New("this document has no folder, which paths of a component are relative to"))
			return out, false
		}
		out.base = out.at.Root.Files()
		out.dir = path.Join(out.at.Dir, c.Source.Ref, c.Source.Path)
		if !fs.ValidPath(out.dir) {
			b.Fail(c.Source.RefPos, out.at.Root.Describe(), fmt.Errorf("%q leaves the root of the project", c.Source.Ref))
			return out, false
		}
	}
	if c.chart != nil {
		tree, ok := b.modules.tree(*c.chart)
		if !ok {
			return out, false
		}
		// Values files are in the project. The path is relative to its folder.
		out.addSource("chart", tree)
		c.Helm.Chart.Text = up(out.dir, out.mount("chart", tree))
	}
	return out, true
}

// up returns the way from the folder dir to name, which both begin at the root.
func up(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.Repeat("../", strings.Count(dir, "/")+1) + name
}

// collect returns the tree of the files that a component reads, and of no others: changes of other
// files change no digest. It returns false if there are mistakes, which are reported.
func collect(ctx context.Context, b *builder, c *spec.Component, f *files) (evaluate.Module, bool) {
	// Each kind of component knows the files that it reads.
	var names []string
	var err error
	switch {
	case c.Manifests != nil:
		names, err = manifests.Files(f, f.dir, *c.Manifests, c.Path)
	case c.Kustomize != nil:
		names, err = kustomizationFiles(ctx, c, f)
	case c.Helm != nil:
		names, err = chartFiles(ctx, *c, f)
	}
	if b.ended(ctx) != nil {
		return evaluate.Module{}, false // Files that were not read are not missing.
	}
	if err != nil {
		b.Errs = append(b.Errs, object.AsErrors(err, object.StageResolve)...)
		return evaluate.Module{}, false
	}

	// Every file that is read counts, and positions in it lead to the user's own.
	module := evaluate.Module{Dir: f.dir, Label: f.label, Pos: c.Pos, Sources: map[string]evaluate.Source{}}
	tree := source.Builder{Limits: b.modules.host.Limits}
	for _, name := range names {
		data, err := fs.ReadFile(f, name)
		if err == nil {
			err = tree.Add(name, data)
		}
		if err == nil {
			err = b.opts.charge(ctx, int64(len(data)))
		}
		if err != nil {
			b.Fail(c.Pos, "", fmt.Errorf("read %q: %w", name, err))
			return evaluate.Module{}, false
		}
		pos := f.place(name)
		module.Sources[name] = evaluate.Source{Pos: pos}
		b.read[pos.File] = true
	}
	collected, err := tree.Tree(f.label, "")
	if err != nil {
		b.Fail(c.Pos, "", err)
		return evaluate.Module{}, false
	}
	module.FS = collected.FS
	module.Digest = collected.Digest
	return module, true
}
