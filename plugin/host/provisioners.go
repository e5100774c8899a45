// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// moduleFolder is in the root of every CUE module.
const moduleFolder = "cue.mod"

// Provisioners are the modules that provision the resources of workloads.
type Provisioners struct {
	// Workloads are the settings of the project for workloads, and its provisioners in
	// the order in which they are tried, the embedded ones last.
	Workloads render.Workloads
	// Context is that of a workload, without a name.
	Context object.Context
	// Check is a request without specs, by which the objects that are made are checked.
	Check render.Request
	// Texts is every file that was read as a document, as in [Loaded].
	Texts map[string][]byte
}

// Provisioners finds the modules of provisioners at the one argument of opts: a
// project, with its environment, or a module of provisioners, which no project needs to
// reference yet and which is tried before the embedded one. Without an argument there is
// only the embedded one, unless the working directory is a project.
//
// Errors in the project's specs are ignored. The error is an object.Errors, or wraps that
// of ctx; Texts is set even then.
func (h Host) Provisioners(ctx context.Context, opts Options) (Provisioners, error) {
	l, modules, err := h.provisionersAt(opts)
	if err != nil {
		return Provisioners{}, err
	}
	defer l.Close()
	config, err := l.document.Workloads(opts.Environment)
	l.Errs = append(l.Errs, object.AsErrors(err, object.StageSpec)...)
	all := slices.Concat(modules, config.Provisioners, []spec.NamedModule{{
		Name:   spec.DefaultProvisioners,
		CueRef: spec.CueRef{Type: spec.RefEmbedded, Ref: spec.DefaultProvisioners},
	}})
	references := make([]reference, 0, len(all))
	for i, p := range all {
		at := object.Fields("spec", "workloads", "provisioners").Append(object.Index(i), object.Field("cueRef"))
		if w, ok := l.modules.reference(p.CueRef, at); ok {
			references = append(references, w)
		}
	}
	out := Provisioners{
		Context: l.contextOf("", "", opts.Environment), Texts: map[string][]byte{},
		Workloads: render.Workloads{Config: config},
		Check: render.Request{
			Emit: emit.Options{Dialect: dialect.Name(l.context.Engine)}, KubeVersion: l.context.KubeVersion,
			SkipSchemas: opts.SkipSchemas, CRDs: l.CRDs(opts.CRDs),
		},
	}
	for _, file := range l.Files {
		out.Texts[file.Name] = file.Data
	}
	if l.Errs.Err() != nil {
		return out, l.Errs.Sorted()
	}
	if err := l.modules.fetch(ctx, references); err != nil {
		return out, err
	}
	for i, w := range references {
		if tree, ok := l.modules.tree(w); ok {
			out.Workloads.Provisioners = append(out.Workloads.Provisioners, render.Provisioners{
				Name: all[i].Name, Pos: all[i].Pos, Module: l.modules.module(w, tree, nil),
			})
		}
	}
	return out, l.Errs.Sorted().Err()
}

// provisionersAt loads the project that opts name, or the module there.
func (h Host) provisionersAt(opts Options) (*loading, []spec.NamedModule, error) {
	d, err := project.Open(opts.Project())
	if err != nil {
		return nil, nil, err
	}
	arg := "."
	if len(opts.Args) > 0 {
		arg = opts.Args[0]
	}
	var own []spec.NamedModule
	switch {
	case d.HasFile(arg, spec.ProjectFile) || !d.IsFolder(arg):
		d.FindArg(arg)
	case len(opts.Args) == 0:
	case d.HasFile(arg, moduleFolder):
		if m, ok := d.Module(arg); ok {
			own = append(own, m)
		}
	default:
		d.Fail(object.Pos{File: arg}, "pass a folder with "+spec.ProjectFile+" or "+moduleFolder,
			errors.New("no project and no module of provisioners in this folder"))
	}
	l := h.loading(d, opts)
	p := l.project().Project
	if p.Pos.IsValid() {
		// Errors of specs are reported where they are rendered.
		l.Errs = ofFile(l.Errs, p.Pos.File)
	}
	return l, own, nil
}

// ofFile are the errors in one file, and those without a position.
func ofFile(all object.Errors, file string) (out object.Errors) {
	for _, e := range all {
		if e.Pos.File == file || e.Pos.Line == 0 {
			out = append(out, e)
		}
	}
	return out
}
