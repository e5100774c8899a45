// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// moduleFolder is in the root of every CUE module.
const moduleFolder = "cue.mod"

// Provisioners is what makes the resources of workloads.
type Provisioners struct {
	// Workloads is what the project says of workloads, and its provisioners in the
	// order in which they are asked, the embedded ones last.
	Workloads render.Workloads
	// Context is the surroundings of a workload; its name is that of nobody.
	Context object.Context
	// Check is a request without specs, by which the objects that are made are checked.
	Check render.Request
	// Texts is every file that was read as a document, as in [Loaded].
	Texts map[string][]byte
}

// Provisioners finds the modules of provisioners at the one argument of opts: a
// project, with its environment, or a module of provisioners of which no project
// need know yet, which is asked before the embedded one. Without an argument
// there is only the embedded one, unless the working directory is a project.
//
// Mistakes in the project's specs are no hindrance. The error is an
// object.Errors, or wraps that of ctx; Texts is there even then.
func (h Host) Provisioners(ctx context.Context, opts Options) (Provisioners, error) {
	l, modules, err := h.provisionersAt(opts)
	if err != nil {
		return Provisioners{}, err
	}
	defer l.close()
	config, err := l.whole.Workloads(opts.Environment)
	l.errs = append(l.errs, object.AsErrors(err, object.StageSpec)...)
	all := slices.Concat(modules, config.Provisioners, []spec.NamedModule{{
		Name:   spec.DefaultProvisioners,
		CueRef: spec.CueRef{Type: spec.RefEmbedded, Ref: spec.DefaultProvisioners},
	}})
	uses := make([]wanted, 0, len(all))
	for i, p := range all {
		at := object.Fields("spec", "workloads", "provisioners").Append(object.Index(i), object.Field("cueRef"))
		if w, ok := l.modules.want(p.CueRef, at); ok {
			uses = append(uses, w)
		}
	}
	out := Provisioners{
		Context: l.contextOf("", "", opts.Environment), Texts: map[string][]byte{},
		Workloads: render.Workloads{Config: config},
		Check: render.Request{
			Emit: emit.Options{Dialect: dialect.Name(l.context.Engine)}, KubeVersion: l.context.KubeVersion,
			SkipSchemas: opts.SkipSchemas, CRDs: l.crds(),
		},
	}
	for _, file := range l.files {
		out.Texts[file.Name] = file.Data
	}
	if l.errs.Err() != nil {
		return out, l.errs.Sorted()
	}
	if err := l.modules.fetch(ctx, uses); err != nil {
		return out, err
	}
	for i, w := range uses {
		if tree, ok := l.modules.tree(w); ok {
			out.Workloads.Provisioners = append(out.Workloads.Provisioners, render.Provisioners{
				Name: all[i].Name, Pos: all[i].Pos, Module: l.modules.module(w, tree, nil),
			})
		}
	}
	return out, l.errs.Sorted().Err()
}

// provisionersAt reads the project that opts name, or finds the module there.
func (h Host) provisionersAt(opts Options) (*loading, []spec.NamedModule, error) {
	f, err := newFinding(opts)
	if err != nil {
		return nil, nil, err
	}
	arg := "."
	if len(opts.Args) > 0 {
		arg = opts.Args[0]
	}
	var own []spec.NamedModule
	switch {
	case f.holds(arg, spec.ProjectFile) || !f.isFolder(arg):
		f.argument(arg)
	case len(opts.Args) == 0:
	case f.holds(arg, moduleFolder):
		own = f.module(arg)
	default:
		f.fail(object.Pos{File: arg}, "name a folder with "+spec.ProjectFile+" or "+moduleFolder,
			errors.New("neither a project nor a module of provisioners is here"))
	}
	docs, err := spec.Parse(f.files)
	mistakes := object.AsErrors(err, object.StageSpec)
	l := &loading{
		finding: f, docs: docs,
		modules:  modules{host: h, finding: f, docs: docs, trees: map[module]source.Tree{}, errs: map[module]error{}},
		overlays: overlays{finding: f, values: map[string][]object.Value{}, sets: map[string][]spec.Set{}, texts: map[string][]byte{}},
	}
	p := l.project().Project
	l.errs = append(l.errs, mistakes...)
	if p.Pos.IsValid() {
		// What is wrong with specs is told where they are rendered.
		l.errs = ofFile(l.errs, p.Pos.File)
	}
	return l, own, nil
}

// ofFile is the mistakes in one file, and those that are in none.
func ofFile(all object.Errors, file string) (out object.Errors) {
	for _, e := range all {
		if e.Pos.File == file || e.Pos.Line == 0 {
			out = append(out, e)
		}
	}
	return out
}

// module is the module in the folder that arg names.
func (f *finding) module(arg string) []spec.NamedModule {
	pos := object.Pos{File: filepath.ToSlash(filepath.Clean(arg))}
	a, rel, _, err := f.at(arg)
	if err != nil {
		f.fail(pos, "", err)
		return nil
	}
	f.places[pos.File] = place{a, rel}
	return []spec.NamedModule{{
		Name: path.Base(path.Join(filepath.ToSlash(a.dir), rel)), Pos: pos,
		CueRef: spec.CueRef{Type: spec.RefPath, Ref: ".", Pos: pos, TypePos: pos, RefPos: pos},
	}}
}

// holds reports whether there is something of a name in the folder arg.
func (f *finding) holds(arg, name string) bool {
	full, err := f.full(arg)
	if err == nil {
		_, err = f.stat(filepath.ToSlash(filepath.Join(full, name)))
	}
	return err == nil
}

// isFolder reports whether arg is a folder.
func (f *finding) isFolder(arg string) bool {
	full, err := f.full(arg)
	if err != nil {
		return false
	}
	info, err := f.stat(full)
	return err == nil && info.IsDir()
}
