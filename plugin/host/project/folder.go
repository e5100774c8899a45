// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// rootName is the name of a spec that is the root itself: the name of a checkout
// differs between machines, and the same files give the same bytes everywhere.
const rootName = "app"

// folder is a folder that an argument names, with the result of its search.
type folder struct {
	found
	Location
	pos object.Pos
	// project is true for the folder of a project.
	project bool
}

// Documents parses the files that were found. Some folders among the arguments have no document of
// Ropewalk and are a CUE package. Each of these becomes a spec: a Transform of that package and of
// nothing else, called name, or like the folder if name is "". A chart, a kustomization and a
// folder of manifests become a Component in the same way. The result packages has the names of
// those specs. Any other folder without a document is an error.
func (d *Discovery) Documents(name string) (docs spec.Documents, packages map[string]bool) {
	// Everything that was found is parsed together.
	docs, err := spec.Parse(d.Files)
	d.Errs = append(append(d.Errs, object.AsErrors(err, object.StageSpec)...), docs.Warnings...)
	packages = map[string]bool{}

	for _, t := range d.opts.Specs {
		packages[t.Name] = true
		docs.Transforms = append(docs.Transforms, t)
	}

	// What was named must hold a spec.
	ours := d.filesWithDocuments(docs)
	for _, p := range d.patterns {
		if !slices.ContainsFunc(p.specs, func(name string) bool { return ours[name] }) {
			d.Fail(p.Pos, "", fmt.Errorf("%q matches no file with a spec", p.Glob))
		}
	}
	for _, name := range d.given {
		if !ours[name] && !d.isSingle(name) && !d.opts.AllowEmpty {
			d.Fail(object.Pos{File: name}, SpecHint, ErrNoSpecIn)
		}
	}

	// Files and folders that are specs by themselves get the name, and come last.
	for _, name := range d.addComponents(name, ours, &docs) {
		packages[name] = true
	}
	done := map[Location]bool{}
	for _, f := range d.folders {
		// A file may mention our API and hold no document of it.
		if f.project || slices.ContainsFunc(f.specs, func(name string) bool { return ours[name] }) {
			d.beside = append(d.beside, f.Location)
			continue
		}
		if done[f.Location] {
			continue
		}
		done[f.Location] = true
		if t, ok := d.packageSpec(f, name, Names(docs)); ok {
			packages[t.Name] = true
			docs.Transforms = append(docs.Transforms, t)
		}
	}
	return docs, packages
}

// filesWithDocuments returns the files that hold a document of Ropewalk, or a mistake in one.
func (d *Discovery) filesWithDocuments(docs spec.Documents) map[string]bool {
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

// HasFile reports whether there is a file or a folder called name in the folder arg.
func (d *Discovery) HasFile(arg, name string) bool {
	full, err := d.full(arg)
	if err == nil {
		_, err = d.stat(filepath.ToSlash(filepath.Join(full, name)))
	}
	return err == nil
}

// IsFolder reports whether arg is a folder.
func (d *Discovery) IsFolder(arg string) bool {
	full, err := d.full(arg)
	if err != nil {
		return false
	}
	info, err := d.stat(full)
	return err == nil && info.IsDir()
}

// packageSpec returns the spec of a folder that is a CUE package, or a component. It returns false
// if the folder is none, which it reports.
func (d *Discovery) packageSpec(f folder, name string, taken []string) (spec.Transform, bool) {
	// A CUE package comes before a component.
	entries, err := f.Root.folder.List(f.Dir, maxEntries)
	if err != nil {
		d.Fail(f.pos, "", bare(err))
		return spec.Transform{}, false
	}
	content := contentOf(entries)
	built, isBuilt := componentOf(f, entries)
	if content != cuePackage && (!isBuilt || content == cueModule || len(f.projects) > 0) {
		d.reportNoSpec(f, content)
		return spec.Transform{}, false
	}

	// The name is that of the user, of the folder or of the chart.
	switch {
	case name != "":
	case f.Dir != ".":
		name = path.Base(f.Dir)
	case content != cuePackage:
		name = chartName(f)
	}
	name = Label(name)
	if d.refuseTaken(name, f.pos, taken) {
		return spec.Transform{}, false
	}
	// A module is read from folders only, so that its tree never depends on the target of
	// a link; the folder that a user names may be a link.
	at := f.Location
	at.Dir, _, err = rootfs.Resolve(at.Root.folder, f.Dir)
	if err != nil {
		d.Fail(f.pos, "", bare(err))
		return spec.Transform{}, false
	}

	// The folder may be a component too, if its package makes no objects.
	d.locations[f.pos.File] = at
	component := spec.Transform{Kind: spec.KindComponent, Name: name, Pos: f.pos, NamePos: f.pos, Component: built}
	if content != cuePackage {
		return component, true
	}
	if isComponentFolder(entries) {
		if chart := chartName(f); f.Dir == "." && chart != "" && name == rootName && !slices.Contains(taken, Label(chart)) {
			component.Name = Label(chart)
		}
		d.instead[name] = component
	}
	return spec.Transform{Name: name, Pos: f.pos, NamePos: f.pos, CueRef: here(f.pos)}, true
}

// refuseTaken reports an error if a spec has the name of another one, and returns whether it did.
func (d *Discovery) refuseTaken(name string, pos object.Pos, taken []string) bool {
	if !slices.Contains(taken, name) {
		return false
	}
	d.Fail(pos, "write a Transform with a name of its own for each", fmt.Errorf("duplicate spec name %q", name))
	return true
}

// chartName returns the name of the chart in a folder, or "" if there is none.
func chartName(f folder) string {
	var chart struct{ Name string }
	if data, err := f.Root.read(path.Join(f.Dir, "Chart.yaml"), spec.MaxFile); err == nil {
		_ = yaml.Unmarshal(data, &chart) // the build of the chart reports it
	}
	return chart.Name
}

// componentOf returns the component that a folder of others is: a chart, a kustomization, or
// manifests. It returns false if the folder is none.
func componentOf(f folder, entries []fs.DirEntry) (object.Value, bool) {
	here := object.TextAt(".", f.pos)
	switch {
	case holdsOne(entries, chartFile):
		return field("helm", field("chart", here)), true
	case holdsOne(entries, kustomizationFiles()...):
		return field("kustomize", field("path", here)), true
	}
	return field("manifests", field("paths", object.ListAt(f.pos, here))), f.manifests != ""
}

// ErrNoSpecIn is the error of a file that a user names and that is not rendered, and SpecHint
// says what is.
var ErrNoSpecIn = errors.New("the file holds no spec")

// SpecHint says what files are rendered.
const SpecHint = "a spec has apiVersion: " + spec.APIVersion + ", a Score file apiVersion: " + spec.ScoreVersion + ""

// ErrNoSpec is the error of a folder without anything to render; Options.AllowEmpty accepts
// one that has no projects below it.
var ErrNoSpec = errors.New("no spec found")

// reportNoSpec reports a folder without anything to render.
func (d *Discovery) reportNoSpec(f folder, content content) {
	if d.opts.AllowEmpty && len(f.projects) == 0 {
		return
	}
	err := fmt.Errorf("%w: this folder has no document of %s, no Score file, no CUE package, no chart, no kustomization and no manifests", ErrNoSpec, spec.APIVersion)
	hint := "create a project with ropewalk init"
	switch {
	case len(f.projects) > 0:
		err = fmt.Errorf("%w in this folder", ErrNoSpec)
		hint = "projects in subfolders: " + strings.Join(f.projects, ", ")
	case len(f.composeFiles()) > 0:
		err = fmt.Errorf("%w: a search takes no compose file", ErrNoSpec)
		hint = "pass the file itself, or name it in spec.specs of a project: " + strings.Join(f.composeFiles(), ", ")
	case isFile(f.Root, path.Join(f.Dir, "apps.yaml")), isFile(f.Root, path.Join(f.Dir, "func.yaml")):
		err = fmt.Errorf("%w: a search takes no apps.yaml without apiVersion and kind, and no func.yaml", ErrNoSpec)
		hint = "pass the file itself, or name it in spec.specs of a project"
	case content == cueModule:
		err = fmt.Errorf("%w: the CUE module has no package in this folder", ErrNoSpec)
		hint = "pass the folder of a package, which holds .cue files"
	}
	d.Errs = append(d.Errs, f.warnings...) // They are why, such as an empty file.
	d.Fail(f.pos, hint, err)
}

// composeFiles returns the compose files of a folder, by the names that Compose looks for.
func (f folder) composeFiles() (out []string) {
	for _, name := range composeNames() {
		if isFile(f.Root, path.Join(f.Dir, name)) {
			out = append(out, name)
		}
	}
	return out
}

// composeNames returns the names that Compose looks for.
func composeNames() []string {
	return []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}
}

// content is the CUE content of a folder.
type content int

const (
	noCUE content = iota
	// cueModule is a cue.mod without a package beside it.
	cueModule
	// cuePackage is at least one file of CUE, with or without a cue.mod.
	cuePackage
)

// contentOf returns the content of a folder with these entries.
func contentOf(entries []fs.DirEntry) content {
	out := noCUE
	for _, e := range entries {
		switch {
		case e.IsDir() && e.Name() == "cue.mod":
			out = max(out, cueModule)
		// CUE leaves out files that begin with a dot or an underscore.
		case e.Type().IsRegular() && path.Ext(e.Name()) == ".cue" && !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "_"):
			out = cuePackage
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
