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
	// the order in which they are tried, the embedded module last.
	Workloads render.Workloads
	// Context is the context of a workload, without a name.
	Context object.Context
	// Check is a request without specs, by which the objects that are made are checked.
	Check render.Request
	// Texts is every file that was read as a document, as in [Loaded].
	Texts map[string][]byte
}

// Provisioners finds the modules of provisioners at the argument of opts: a project, with its
// environment, or a module of provisioners, which no project needs to reference yet and which is
// tried before the embedded module. Without an argument there is only the embedded module, unless
// the working directory is a project.
//
// Errors in the project's specs are ignored. The error is an object.Errors, or wraps the error of
// ctx; Texts is set even then.
func (h Host) Provisioners(ctx context.Context, opts Options) (Provisioners, error) {
	// The project is read, but for its specs.
	f, named, err := h.provisionersAt(opts)
	if err != nil {
		return Provisioners{}, err
	}
	defer f.Close()
	s := f.settings
	docs := f.docs
	config, err := s.project.Workloads(opts.Environment)
	f.Errs = append(f.Errs, object.AsErrors(err, object.StageSpec)...)

	// The modules, in the order in which they are tried.
	candidates := slices.Concat(named, config.Provisioners, []spec.NamedModule{embeddedProvisioners()})
	references := make([]reference, 0, len(candidates))
	for i, m := range candidates {
		field := object.Fields("spec", "workloads", "provisioners").Append(object.Index(i), object.Field("cueRef"))
		if w, ok := f.modules.reference(m.CueRef, field); ok {
			w.neededBy = firstWorkload(docs)
			references = append(references, w)
		}
	}

	// The request is enough to check the modules.
	out := Provisioners{
		Context: s.context("", "", opts.Environment), Texts: map[string][]byte{}, Workloads: render.Workloads{Config: config},
		Check: render.Request{
			Emit: emit.Options{Dialect: dialect.Name(s.project.Context.Engine)}, KubeVersion: s.project.Context.KubeVersion,
			SkipSchemas: opts.SkipSchemas, CRDs: f.CRDs(opts.CRDs),
		},
	}
	for _, file := range f.Files {
		out.Texts[file.Name] = file.Data
	}
	if f.Errs.Err() != nil {
		return out, f.Errs.Sorted()
	}

	// Nothing is fetched for a project with mistakes.
	err = f.modules.fetch(ctx, references)
	if err != nil {
		return out, err
	}
	for i, w := range references {
		if tree, ok := f.modules.tree(w); ok {
			out.Workloads.Provisioners = append(out.Workloads.Provisioners, render.Provisioners{
				Name: candidates[i].Name, Pos: candidates[i].Pos, Module: f.modules.module(w, tree, nil),
			})
		}
	}
	return out, f.Errs.Sorted().Err()
}

// provisionersAt reads the project that opts name, or finds the module there.
func (h Host) provisionersAt(opts Options) (planning, []spec.NamedModule, error) {
	// The argument is a project, or the folder of a module.
	d, err := project.Open(opts.Project())
	if err != nil {
		return planning{}, nil, err
	}
	arg := "."
	if len(opts.Args) > 0 {
		arg = opts.Args[0]
	}
	var named []spec.NamedModule
	switch {
	case d.Places.HasFile(arg, spec.ProjectFile) || !d.Places.IsFolder(arg):
		d.FindArg(arg)
	case len(opts.Args) == 0:
	case d.Places.HasFile(arg, moduleFolder):
		if m, ok := d.Module(arg); ok {
			named = append(named, m)
		}
	default:
		d.Fail(object.Pos{File: arg}, "pass a folder with "+spec.ProjectFile+" or "+moduleFolder,
			errors.New("no project and no module of provisioners in this folder"))
	}

	// A compose file has workloads, whose names are also names of specs.
	f, docs := h.parse(d, opts)
	if len(docs.Sources) > 0 {
		docs = lowerSources(f, docs, variablesOf(f, docs))
	}
	out := planning{found: f, docs: docs, settings: readSettings(f, docs)}
	if pos := out.settings.project.Pos; pos.IsValid() {
		// Errors of specs are reported where they are rendered.
		f.Errs = ofFile(f.Errs, pos.File)
	}
	return out, named, nil
}

// ofFile returns the errors in a file, and the errors without a position.
func ofFile(errs object.Errors, file string) (out object.Errors) {
	for _, e := range errs {
		if e.Pos.File == file || e.Pos.Line == 0 {
			out = append(out, e)
		}
	}
	return out
}

// embeddedProvisioners returns the module of provisioners in the binary, which is tried last.
func embeddedProvisioners() spec.NamedModule {
	return spec.NamedModule{
		Name:   spec.DefaultProvisioners,
		CueRef: spec.CueRef{Type: spec.RefEmbedded, Ref: spec.DefaultProvisioners},
	}
}

// addProvisioners adds the modules of provisioners to the request, and returns the provenance of
// these and of the policies of the project. It returns false if a module could not be fetched.
func (w *workloadFrontEnd) addProvisioners(b *builder) (sources []render.Source, complete bool) {
	sources = b.policySources("", nil)
	complete = true
	for _, u := range w.provisioners {
		tree, ok := b.modules.tree(u.reference)
		if !ok {
			complete = false
			continue
		}
		b.request.Workloads.Provisioners = append(b.request.Workloads.Provisioners, render.Provisioners{
			Name: u.policy.Name, Pos: u.policy.Pos, Module: b.modules.module(u.reference, tree, nil),
		})
		s := sourceOf("", "", tree)
		s.Provisioners = u.policy.Name
		sources = append(sources, s)
	}
	return sources, complete
}
