// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/component/manifests"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// built is a component on its way to its files.
type built struct {
	spec.Component
	// input is the component as it was written, with what was laid over it.
	input object.Value
	// source holds the files, and chart is that of a registry or a repository; nil where
	// there is none.
	source, chart *reference
}

// isComponent reports whether t is built without a module.
func isComponent(t spec.Transform) bool { return t.Component.Kind != object.KindNone }

// component decodes a component with what environments and options lay over it, and
// false where it has mistakes, which are reported.
func (l *loading) component(t spec.Transform) (*built, bool) {
	b := &built{input: t.Component}
	if over := l.inputs[t.Name].Value; over.Kind == object.KindMap {
		b.input = b.input.Merge(over)
	}
	b.input = l.options(t, b.input)
	if t.InputUnsure || t.Name == "" || l.overlays.Incomplete {
		return b, false
	}
	at := t.ComponentPath()
	if l.packages[t.Name] {
		at = nil
	}
	var errs object.Errors
	b.Component, errs = spec.DecodeComponent(b.input, at, t.Blocks)
	if len(errs) > 0 {
		l.Errs = append(l.Errs, errs...)
		return b, false
	}
	ok := true
	if ref := b.Source; ref.Type != "" && ref.Type != spec.RefPath {
		field := "source"
		if _, ok := b.input.Get("artifact"); ok {
			field = "artifact"
		}
		w, good := l.modules.reference(ref, at.Append(object.Field(field)))
		w.key.files = true
		b.source, ok = &w, good
	}
	if b.Helm != nil {
		b.Helm.Sets = l.overlays.Helm(t.Name)
		if ref, remote := chartOf(*b.Helm); remote {
			w, good := l.modules.reference(ref, b.Path)
			w.key.files = true
			b.chart, ok = &w, ok && good
		}
	}
	return b, ok
}

// charts are the specs that are charts, with what leads to their values: nothing in a folder
// of its own.
func (l *loading) charts() map[string]string {
	out := map[string]string{}
	for _, t := range l.docs.Transforms {
		if _, ok := t.Component.Get("helm"); ok && l.packages[t.Name] {
			out[t.Name] = ""
		} else if ok {
			out[t.Name] = "helm.values."
		}
	}
	return out
}

// options is a component with the values of options: those of a chart that is a folder of
// its own are values of the chart.
func (l *loading) options(t spec.Transform, v object.Value) object.Value {
	_, chart := v.Get("helm")
	if !l.packages[t.Name] || !chart {
		return l.overlays.Apply(t.Name, v)
	}
	values := l.overlays.Apply(t.Name, object.Value{Kind: object.KindMap, Pos: v.Pos})
	if len(values.Members) == 0 {
		return v
	}
	over := object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: "values", Pos: v.Pos, Value: values}}}
	return v.Merge(object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: "helm", Pos: v.Pos, Value: over}}})
}

// exactVersion is a version, and no range of them.
var exactVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)

// chartOf is the reference of a chart that is in no source; false for others.
func chartOf(h spec.Helm) (spec.CueRef, bool) {
	ref := spec.CueRef{Pos: h.Chart.Pos, RefPos: h.Chart.Pos, TypePos: h.Chart.Pos, PullSecretRef: h.PullSecretRef, Verify: h.Verify, VersionPos: h.Version.Pos}
	switch {
	case h.Repo.Text != "":
		ref.Type = spec.RefType(reftype.Helm)
		ref.Ref = h.Repo.Text + "?chart=" + url.QueryEscape(h.Chart.Text)
		if h.Version.Text != "" {
			ref.Ref += "&version=" + url.QueryEscape(h.Version.Text)
		}
		return ref, true
	case !strings.HasPrefix(h.Chart.Text, "oci://"):
		return ref, false
	}
	ref.Type, ref.Ref = spec.RefType(reftype.OCI), h.Chart.Text
	switch {
	case h.Version.Text == "" && strings.ContainsAny(path.Base(ref.Ref), ":@?"):
	case exactVersion.MatchString(h.Version.Text):
		ref.Ref += ":" + strings.ReplaceAll(h.Version.Text, "+", "_") // OCI tags have no plus.
	default:
		ref.Ref += "?semver=" + url.QueryEscape(cmp.Or(h.Version.Text, "*"))
	}
	return ref, true
}

// references are the trees that a component needs before its files are known.
func (b *built) references() (out []reference) {
	for _, r := range []*reference{b.source, b.chart} {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out
}

// files are the files of a component: those of its source or of the project, and trees that
// were fetched beside it.
type files struct {
	base fs.FS
	// dir is where paths of the component begin.
	dir string
	// at is the place of the project in which they are; its Root is nil where they are
	// those of a source, whose Origin is label.
	at     project.Location
	label  string
	mounts []mount
	// sources is the provenance of what was fetched.
	sources []render.Source
	// count counts the values of a file that was read.
	count func(name string, data []byte) error
}

// mount is a tree in a folder where no file of a project is.
type mount struct {
	at, origin string
	fsys       fs.FS
}

// mountFolder holds what was fetched for a component.
const mountFolder = ".ropewalk"

// mount adds a tree, and returns its folder.
func (f *files) mount(name string, tree source.Tree) string {
	at := path.Join(mountFolder, name)
	f.mounts = append(f.mounts, mount{at, tree.Origin, tree.FS})
	return at
}

// in is the file system that holds a file, with the name of the file in it.
func (f *files) in(name string) (fs.FS, string, *mount) {
	for i := range slices.Backward(f.mounts) { // Later ones may lie in earlier ones.
		m := &f.mounts[i]
		if name == m.at {
			return m.fsys, ".", m
		}
		if rest, ok := strings.CutPrefix(name, m.at+"/"); ok {
			return m.fsys, rest, m
		}
	}
	return f.base, name, nil
}

// Open implements [fs.FS].
func (f *files) Open(name string) (fs.File, error) {
	fsys, name, _ := f.in(name)
	return fsys.Open(name)
}

// ReadDir implements [fs.ReadDirFS]; a folder does not list mounts in it.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	fsys, name, _ := f.in(name)
	return fs.ReadDir(fsys, name)
}

// Stat implements [fs.StatFS].
func (f *files) Stat(name string) (fs.FileInfo, error) {
	fsys, name, _ := f.in(name)
	return fs.Stat(fsys, name)
}

// ReadFile implements [fs.ReadFileFS]; what a component reads counts.
func (f *files) ReadFile(name string) ([]byte, error) {
	fsys, rest, _ := f.in(name)
	data, err := fs.ReadFile(fsys, rest)
	if err == nil {
		err = f.count(f.place(name).File, data)
	}
	return data, err
}

// place is where positions say that a file is.
func (f *files) place(name string) object.Pos {
	_, rest, m := f.in(name)
	switch {
	case m != nil:
		name = object.FileOf(m.origin, rest)
	case f.at.Root != nil:
		name = f.at.Root.Display(name)
	default:
		name = object.FileOf(f.label, name)
	}
	return object.Pos{File: name, Line: 1, Column: 1}
}

// position is the place of a line and a column of a file.
func (f *files) position(name string, line, column int) object.Pos {
	at := f.place(name)
	return object.Pos{File: at.File, Line: line, Column: column}
}

// filesOf are the files that paths of a component lead to, and false where they could not
// be fetched.
func (l *loading) filesOf(ctx context.Context, t spec.Transform, b *built) (*files, bool) {
	out := &files{count: func(name string, data []byte) error {
		return l.texts.file(ctx, spec.File{Name: name, Data: data})
	}}
	add := func(part string, w reference) (source.Tree, bool) {
		tree, ok := l.modules.tree(w)
		s := sourceOf(t.Name, "", tree)
		s.Part = part
		out.sources = append(out.sources, s)
		return tree, ok
	}
	switch {
	case b.source != nil:
		tree, ok := add("", *b.source)
		if !ok {
			return out, false
		}
		out.base, out.dir, out.label = tree.FS, cmp.Or(tree.Dir, "."), tree.Origin
	default:
		out.at = l.Location(t.Pos.File)
		if out.at.Root == nil {
			l.Fail(t.Pos, "write it into a file", errors.New("this document has no folder, which paths of a component are relative to"))
			return out, false
		}
		out.base, out.dir = out.at.Root.Files(), path.Join(out.at.Dir, b.Source.Ref, b.Source.Path)
		if !fs.ValidPath(out.dir) {
			l.Fail(b.Source.RefPos, out.at.Root.Describe(), fmt.Errorf("%q leaves the root of the project", b.Source.Ref))
			return out, false
		}
	}
	if b.chart != nil {
		tree, ok := add("chart", *b.chart)
		if !ok {
			return out, false
		}
		// Values files are those of the project. The path is relative to the folder of it.
		b.Helm.Chart.Text = up(out.dir, out.mount("chart", tree))
	}
	return out, true
}

// up is the way from the folder dir to name, which both begin at the root.
func up(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.Repeat("../", strings.Count(dir, "/")+1) + name
}

// componentSpec is a component in the form that render takes.
func (l *loading) componentSpec(ctx context.Context, t spec.Transform, b *built, policies []use, project []evaluate.Policy) (render.Spec, bool) {
	own, good := l.evaluatePolicies(policies)
	files, ok := l.filesOf(ctx, t, b)
	if !ok || !good {
		return render.Spec{}, false
	}
	module, ok := l.collected(ctx, t, b, files)
	if !ok {
		return render.Spec{}, false
	}
	namespace := t.Namespace
	if b.Helm != nil {
		namespace = cmp.Or(b.Helm.Namespace, namespace)
	}
	out := render.Spec{
		Evaluate: evaluate.Request{
			Spec: t.Name, Pos: t.Pos, Module: module, Component: &b.Component, Overlays: t.Overlays,
			Input: b.input, InputPath: t.ComponentPath(), Context: l.contextOf(t.Name, namespace, l.opts.Environment),
			Policies: joined(project, own), Limits: l.opts.Limits, AllowEmpty: l.opts.AllowEmpty,
		},
		DependsOn: t.DependsOn, Adopt: t.Adopt, StatesNamespace: t.Kind == spec.KindComponent && t.Namespace != "",
		Source: files.source(t.Name, module), Policies: files.sources,
	}
	for _, u := range slices.Concat(l.projectUses, policies) {
		if tree, ok := l.modules.trees[u.key]; ok {
			out.Policies = append(out.Policies, sourceOf(t.Name, u.policy.Name, tree))
		}
	}
	return out, true
}

// source is the provenance of the files that a component reads: that of the source that
// holds them, or of those of the project.
func (f *files) source(name string, module evaluate.Module) render.Source {
	for i, s := range f.sources {
		if s.Part == "" {
			f.sources = append(f.sources[:i:i], f.sources[i+1:]...)
			return s
		}
	}
	return render.Source{Spec: name, Origin: source.TypePath + ":" + f.dir, Digest: module.Digest}
}

// collected is the tree of the files that a component reads, and of no others: changes of
// other files change no digest.
func (l *loading) collected(ctx context.Context, t spec.Transform, b *built, f *files) (evaluate.Module, bool) {
	var names []string
	var err error
	switch {
	case b.Manifests != nil:
		names, err = manifests.Files(f, f.dir, *b.Manifests, b.Path)
	case b.Kustomize != nil:
		names, err = l.kustomization(ctx, t, b, f)
	case b.Helm != nil:
		names, err = l.chartFiles(ctx, t, b, f)
	}
	if l.ended(ctx) != nil {
		return evaluate.Module{}, false // What was not read is not missing.
	}
	if err != nil {
		l.Errs = append(l.Errs, object.AsErrors(err, object.StageResolve)...)
		return evaluate.Module{}, false
	}
	module := evaluate.Module{Dir: f.dir, Label: f.label, Pos: b.Pos, Sources: map[string]evaluate.Source{}}
	tree := source.Builder{Limits: l.modules.host.Limits}
	for _, name := range names {
		data, err := fs.ReadFile(f, name)
		if err == nil {
			err = tree.Add(name, data)
		}
		if err == nil {
			err = l.opts.charge(ctx, int64(len(data)))
		}
		if err != nil {
			l.Fail(b.Pos, "", fmt.Errorf("read %q: %w", name, err))
			return evaluate.Module{}, false
		}
		at := f.place(name)
		module.Sources[name] = evaluate.Source{Pos: at}
		l.read[at.File] = true
	}
	made, err := tree.Tree(f.label, "")
	if err != nil {
		l.Fail(b.Pos, "", err)
		return evaluate.Module{}, false
	}
	module.FS, module.Digest = made.FS, made.Digest
	return module, true
}
