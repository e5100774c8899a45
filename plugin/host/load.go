// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Loaded is a request that is ready to be rendered; its caller sets Strict,
// Parallel and Progress.
type Loaded struct {
	Request render.Request
	// Name is the name of the project, or else of its directory.
	Name string
	// Project is the project with the environment laid over its context; it may be the zero
	// value.
	Project spec.Project
	// Environment is the environment that is laid over it, or "".
	Environment string
	// References are the references of documents that were fetched from servers, sorted by
	// their place.
	References []Reference
	// NotRendered are files of plain manifests that a search found beside the specs, sorted.
	NotRendered []string
	// Nested are the files of projects in folders below the specs, which are rendered on
	// their own, sorted.
	Nested []string
	// NotApplied are the project files beside specs that were named as files, sorted.
	NotApplied []string
	// Unplaced are the specs that fall back to the default namespace.
	Unplaced []string
	// Texts is every file that was read as a document, by the name that
	// positions give it, so that a caller can show the line.
	Texts map[string][]byte
}

// ErrNoSpec is the error of a project without a spec, unless Options.AllowEmpty is set.
var ErrNoSpec = errors.New("the project has no spec")

// Load finds the specs that opts name, applies the overlays, and fetches the modules.
//
// Errors in some files do not hide errors in others: while at least one spec is complete, all errors
// are in Loaded.Request.Mistakes, and the render finds more and fails with all of them. Where no
// spec is left to render, the error is an object.Errors with every error, or wraps the error of ctx;
// Texts is set even then.
func (h Host) Load(ctx context.Context, opts Options) (Loaded, error) {
	// The documents are parsed as they are written.
	f, docs, err := h.discover(ctx, opts)
	if err != nil {
		return Loaded{}, err
	}
	defer f.Close()
	f.opts.Environment = chooseEnvironment(f, docs)

	// Other forms become specs, before names and overlays are looked at.
	f.runtime = readRuntime(f.Discovery, opts)
	vars := variablesOf(f, docs)
	docs, err = lower(ctx, f, docs, vars)
	if err != nil {
		return Loaded{}, err
	}

	// The project and the options add to them.
	s := readSettings(f, docs)
	readOverlays(ctx, f, docs, s.overlays)
	docs = addLogins(f, docs, s)
	docs = isolate(f, docs, s)
	if f.Ended() != nil {
		return Loaded{}, f.Ended()
	}

	// Each front end fetches what its specs need, and builds them.
	plan := planning{found: f, docs: docs, settings: s, variables: vars}
	shared, complete := usesOf(f.modules, s.project.Policies)
	b := &builder{planning: plan, shared: shared, request: requestOf(plan), read: map[string]bool{}}
	references, err := b.build(ctx, frontEnds(plan), complete)
	if err != nil {
		return Loaded{}, err
	}
	if f.Ended() != nil {
		return Loaded{}, f.Ended()
	}

	// Values that nothing uses, and files that nothing renders, were meant for something.
	f.runtime.reportUnused(f.Discovery, !s.overlays.NamesIncomplete && f.Errs.Err() == nil)
	unrenderedFiles := unrendered(b)
	out := Loaded{
		Request:     b.request,
		Name:        s.name(),
		Project:     s.project,
		Environment: f.opts.Environment,
		References:  references,
		Texts:       textsOf(plan),
		NotRendered: unrenderedFiles.NotRendered,
		Nested:      unrenderedFiles.Nested,
		NotApplied:  unrenderedFiles.NotApplied,
		Unplaced:    b.unplaced,
	}
	out.Request.CRDs = f.CRDs(opts.CRDs)
	out.Request.Broken = brokenSpecs(plan, out.Request.Specs)
	reportEmpty(plan, out.Request)
	out.Request.Secrets = func(into *object.Secrets) { addSecrets(plan, into) }
	if len(f.Errs) > 0 {
		var secrets object.Secrets
		addSecrets(plan, &secrets)
		out.Request.Mistakes = secrets.Errors(f.Errs).Sorted()
	}
	if len(out.Request.Specs) == 0 {
		return out, out.Request.Mistakes.Err()
	}
	return out, nil
}

// frontEnds returns all front ends. Each takes its documents of the project.
func frontEnds(p planning) []frontEnd {
	return []frontEnd{planModules(p), planComponents(p), planWorkloads(p)}
}

// variablesOf reads the variables of the project and of the options. Mistakes in the project are
// reported when it is overlaid.
func variablesOf(f found, docs documents) *variables {
	p, _ := docs.OneProject()
	config, _ := p.Workloads(f.opts.Environment)
	return readVariables(f.Discovery, f.opts, config)
}

// requestOf returns the parts of a request that are the same for all specs.
func requestOf(p planning) render.Request {
	out := render.Request{Emit: p.opts.Emit, Preview: p.settings.preview, SkipSchemas: p.opts.SkipSchemas, AllowSecrets: map[string][]string{}}
	if out.Emit.Name == "" {
		out.Emit.Name = p.settings.name()
		if p.settings.preview.ID != "" { // The objects of Flux are in one namespace.
			out.Emit.Name += "-" + p.settings.preview.ID
		}
	}
	out.Emit.Dialect = dialect.Name(p.settings.project.Context.Engine)
	out.KubeVersion = p.settings.project.Context.KubeVersion
	return out
}

// textsOf returns all files that were read as documents, by the names that positions have for
// them.
func textsOf(p planning) map[string][]byte {
	out := p.settings.overlays.Texts
	for _, file := range p.Files {
		out[file.Name] = file.Data
	}
	for _, b := range p.Bundles {
		for _, file := range append(b.Files(), b.Runtime) {
			out[file.Name] = file.Data
		}
	}
	return out
}

// reportEmpty reports that there is no spec at all.
func reportEmpty(p planning, req render.Request) {
	if len(req.Specs) > 0 || p.opts.AllowEmpty || p.Errs.Err() != nil {
		return
	}
	if pos := p.settings.project.Pos; pos.IsValid() {
		p.Fail(pos, "add Transforms or Workloads to its folder, or name files in spec.specs", ErrNoSpec)
		return
	}
	for _, file := range p.Files {
		p.Fail(object.Pos{File: file.Name}, project.SpecHint, project.ErrNoSpecIn)
	}
}

// unrendered returns the files in the folders of specs that are not rendered, except files that a
// spec refers to, and reports files that are likely a mistake.
func unrendered(b *builder) project.Rest {
	used := map[project.Location]bool{}
	for key := range b.modules.trees {
		used[project.Location{Root: key.root, Dir: path.Join(key.Ref.Ref, key.Path)}] = true
	}
	for _, t := range b.docs.Transforms { // A module was not fetched if its Transform has a mistake.
		location := b.Location(t.CueRef.Pos.File)
		used[project.Location{Root: location.Root, Dir: path.Join(location.Dir, t.CueRef.Ref)}] = true
	}
	return b.Unrendered(b.docs, used, b.read)
}

// brokenSpecs returns the specs that are not in the request, and reports their dependencies that do
// not exist. The graph reports the dependencies of the other specs.
func brokenSpecs(p planning, specs []render.Spec) []string {
	// The names of all specs are known, also of specs with mistakes.
	complete := make(map[string]bool, len(specs))
	for _, s := range specs {
		complete[s.Evaluate.Spec] = true
	}
	known := make(map[string]bool, len(p.settings.overlays.Names))
	for _, name := range p.settings.overlays.Names {
		known[name] = true
	}

	// A spec is broken if it is not in the request, or if a name may be missing.
	broken := map[string]bool{}
	for _, w := range p.docs.Workloads {
		if !complete[w.Name] && w.Name != "" {
			broken[w.Name] = true
		}
	}
	for _, t := range p.docs.Transforms {
		if !complete[t.Name] && t.Name != "" {
			broken[t.Name] = true
		}
		for _, d := range t.DependsOn {
			switch {
			case known[d.Name]:
			case p.settings.overlays.NamesIncomplete:
				broken[d.Name] = true
			case !complete[t.Name]:
				hint := p.Suggest(d.Name, p.settings.overlays.Names)
				p.FailAt(d.Pos, object.Fields("spec", "dependsOn"), hint, fmt.Errorf("there is no spec %q", d.Name))
			}
		}
	}
	return object.SortedKeys(broken)
}
