// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// rootName is the name of a spec that is the root itself: the name of a checkout
// differs between machines, and the same files give the same bytes everywhere.
const rootName = "app"

// Documents are the documents of the files that were found, with a spec for each file or folder that
// is a spec by itself.
type Documents struct {
	spec.Documents
	// Packages names the specs that are folders of a CUE package without a document, or
	// components by themselves.
	Packages map[string]bool
	// Instead has the chart or the kustomization in the folder of a CUE package, by the name of
	// the spec that is the package. The folder is rendered as that if the package makes no
	// objects.
	Instead map[string]spec.Transform

	// beside are the folders that were searched and hold specs.
	beside []Location
}

// Documents parses the files that were found. Some folders among the arguments have no document of
// Ropewalk and are a CUE package. Each of these becomes a spec: a Transform of that package and of
// nothing else, called name, or like the folder if name is "". A chart, a kustomization and a
// folder of manifests become a Component in the same way. Any other folder without a document is an
// error.
func (d *Discovery) Documents(name string) Documents {
	// All files are parsed together.
	parsed, err := spec.Parse(d.Files)
	d.Errs = append(append(d.Errs, object.AsErrors(err, object.StageSpec)...), parsed.Warnings...)
	docs := Documents{Documents: parsed, Packages: map[string]bool{}, Instead: map[string]spec.Transform{}}
	docs.add(d.opts.Specs...)

	// Files that were named must hold a spec.
	ours := filesWithDocuments(d, parsed)
	for _, p := range d.patterns {
		if !slices.ContainsFunc(p.specs, func(name string) bool { return ours[name] }) {
			d.Fail(p.Pos, "", fmt.Errorf("%q matches no file with a spec", p.Glob))
		}
	}
	for _, name := range d.given {
		if !ours[name] && !d.components.holds(name) && !d.opts.AllowEmpty {
			d.Fail(object.Pos{File: name}, SpecHint, ErrNoSpecIn)
		}
	}

	// Files and folders that are specs by themselves get the name, and come last.
	docs.addComponents(d, name, ours)
	done := map[Location]bool{}
	for _, f := range d.folders {
		// A file may mention the API of Ropewalk and hold no document of it.
		if f.project || slices.ContainsFunc(f.specs, func(name string) bool { return ours[name] }) {
			docs.beside = append(docs.beside, f.Location)
			continue
		}
		if !done[f.Location] {
			done[f.Location] = true
			docs.addFolder(d, f, name)
		}
	}
	return docs
}

// add adds specs that no document holds.
func (docs *Documents) add(specs ...spec.Transform) {
	for _, t := range specs {
		docs.Packages[t.Name] = true
	}
	docs.Transforms = append(docs.Transforms, specs...)
}

// filesWithDocuments returns the files that hold a document of Ropewalk, or a mistake.
func filesWithDocuments(d *Discovery, docs spec.Documents) map[string]bool {
	out := map[string]bool{}
	for _, name := range d.held {
		out[name] = true
	}
	for _, t := range docs.Transforms {
		out[t.Pos.File] = true
	}
	for _, w := range docs.Workloads {
		out[w.Pos.File] = true
	}
	for _, s := range docs.Sources {
		out[s.Pos.File] = true
	}
	for _, p := range docs.Projects {
		out[p.Pos.File] = true
	}
	for _, e := range d.Errs.Failures() {
		out[e.Pos.File] = true
	}
	return out
}

// addComponents adds the specs of files that are components by themselves, called name if it is
// not "".
func (docs *Documents) addComponents(d *Discovery, name string, ours map[string]bool) {
	for _, s := range d.components.singles {
		if ours[s.pos.File] {
			continue
		}
		called := Label(s.name)
		if name != "" {
			called = Label(name)
		}
		if !d.refuseTaken(called, s.pos, Names(docs.Documents)) {
			docs.add(spec.Transform{Kind: spec.KindComponent, Name: called, Pos: s.pos, NamePos: s.pos, Component: s.component})
		}
	}
}

// addFolder adds the spec of a folder that is a CUE package, or a component, called name if it is
// not "". It reports a folder that is neither.
func (docs *Documents) addFolder(d *Discovery, f folder, name string) {
	// A CUE package comes before a component.
	entries, err := f.Root.folder.List(f.Dir, maxEntries)
	if err != nil {
		d.Fail(f.pos, "", bare(err))
		return
	}
	content := contentOf(entries)
	built, isBuilt := componentOf(f, entries)
	isComponent := isBuilt && content != cueModule && len(f.projects) == 0
	if content != cuePackage && !isComponent {
		if !d.opts.AllowEmpty || len(f.projects) > 0 {
			d.failNoSpec(f, content)
		}
		return
	}

	// The name comes from the user, the folder or the chart.
	switch {
	case name != "":
	case f.Dir != ".":
		name = path.Base(f.Dir)
	case content != cuePackage:
		name = chartName(f)
	}
	name = Label(name)
	taken := Names(docs.Documents)
	if d.refuseTaken(name, f.pos, taken) {
		return
	}

	// A module is read from folders only, so that its tree never depends on the target of
	// a link; the folder that a user names may be a link.
	location := f.Location
	location.Dir, _, err = rootfs.Resolve(location.Root.folder, f.Dir)
	if err != nil {
		d.Fail(f.pos, "", bare(err))
		return
	}

	// The folder may be a component too, if its package makes no objects.
	d.locations[f.pos.File] = location
	component := spec.Transform{Kind: spec.KindComponent, Name: name, Pos: f.pos, NamePos: f.pos, Component: built}
	if content != cuePackage {
		docs.add(component)
		return
	}
	if isComponentFolder(entries) {
		chart := chartName(f)
		isUnnamed := f.Dir == "." && name == rootName
		if isUnnamed && chart != "" && !slices.Contains(taken, Label(chart)) {
			component.Name = Label(chart)
		}
		docs.Instead[name] = component
	}
	docs.add(spec.Transform{Name: name, Pos: f.pos, NamePos: f.pos, CueRef: here(f.pos)})
}

// refuseTaken reports an error if a spec has the name of another spec, and returns whether it did.
func (r *Report) refuseTaken(name string, pos object.Pos, taken []string) bool {
	if !slices.Contains(taken, name) {
		return false
	}
	r.Fail(pos, "write a Transform with a name of its own for each", fmt.Errorf("duplicate spec name %q", name))
	return true
}

// ErrNoSpecIn is the error of a file that a user names and that is not rendered.
var ErrNoSpecIn = errors.New("the file holds no spec")

// SpecHint is the hint for ErrNoSpecIn: it describes the files that are rendered.
const SpecHint = "a spec has apiVersion: " + spec.APIVersion + ", a Score file apiVersion: " + spec.ScoreVersion + ""

// ErrNoSpec is the error of a folder without anything to render; Options.AllowEmpty accepts such a
// folder if it has no projects below it.
var ErrNoSpec = errors.New("no spec found")

// failNoSpec reports a folder without anything to render.
func (r *Report) failNoSpec(f folder, content content) {
	const format = "%w: this folder has no document of %s, no Score file, no CUE package, no chart, no kustomization and no manifests"
	err := fmt.Errorf(format, ErrNoSpec, spec.APIVersion)
	hint := "create a project with ropewalk init"
	switch {
	case len(f.projects) > 0:
		err = fmt.Errorf("%w in this folder", ErrNoSpec)
		hint = "projects in subfolders: " + strings.Join(f.projects, ", ")
	case len(composeFiles(f)) > 0:
		err = fmt.Errorf("%w: a search takes no compose file", ErrNoSpec)
		hint = "pass the file itself, or name it in spec.specs of a project: " + strings.Join(composeFiles(f), ", ")
	case isFile(f.Root, path.Join(f.Dir, "apps.yaml")), isFile(f.Root, path.Join(f.Dir, "func.yaml")):
		err = fmt.Errorf("%w: a search takes no apps.yaml without apiVersion and kind, and no func.yaml", ErrNoSpec)
		hint = "pass the file itself, or name it in spec.specs of a project"
	case content == cueModule:
		err = fmt.Errorf("%w: the CUE module has no package in this folder", ErrNoSpec)
		hint = "pass the folder of a package, which holds .cue files"
	}
	r.Errs = append(r.Errs, f.warnings...) // They may be the reason, such as an empty file.
	r.Fail(f.pos, hint, err)
}

// composeFiles returns the compose files of a folder, by the names that Compose looks for.
func composeFiles(f folder) (out []string) {
	for _, name := range composeNames() {
		if isFile(f.Root, path.Join(f.Dir, name)) {
			out = append(out, name)
		}
	}
	return out
}

// Label returns a text as a name of a spec, a DNS label (RFC 1123): "My App" is my-app.
func Label(text string) string {
	out := object.Label(text)
	out = strings.TrimRight(out[:min(len(out), 63)], "-")
	if out == "" {
		return rootName
	}
	return out
}

// Names returns the names of all specs, each once, in the order of the documents.
func Names(docs spec.Documents) []string {
	var out []string
	seen := map[string]bool{"": true}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, t := range docs.Transforms {
		add(t.Name)
	}
	for _, w := range docs.Workloads {
		add(w.Name)
	}
	return out
}
