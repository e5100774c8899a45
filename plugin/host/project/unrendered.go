// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Rest lists files beside specs that are not rendered, although they may be meant. All are sorted.
type Rest struct {
	// NotRendered are the files of plain manifests, except files that components read and golden
	// files of modules.
	NotRendered []string
	// Nested are the files of the projects in folders below that a search left out.
	Nested []string
	// NotApplied are the project files beside files that a user named: such a file is rendered
	// without its project.
	NotApplied []string
}

// Unrendered returns the files that nothing renders, and reports likely mistakes. The argument used
// has the folders of the modules that are rendered, and read the files that components read.
func (d *Discovery) Unrendered(docs Documents, used map[Location]bool, read map[string]bool) Rest {
	reportUnrenderedFiles(d, docs.beside, read)
	reportUnrenderedPackages(d, docs.beside, used)
	return Rest{NotRendered: notRendered(d, docs.Documents, read), Nested: nested(d), NotApplied: notApplied(d)}
}

// reportUnrenderedPackages reports the CUE packages that make objects and that nothing renders,
// because their folder holds specs too: a search takes a folder for a package or for specs.
func reportUnrenderedPackages(d *Discovery, beside []Location, used map[Location]bool) {
	done := maps.Clone(used)
	for _, location := range beside {
		if done[location] {
			continue
		}
		done[location] = true

		// The module of Timoni is reported, or else the first file of a package that makes objects.
		const hint = "move it into a folder of its own, and write a Transform with cueRef: {type: path, ref: ./FOLDER}"
		if name := path.Join(location.Dir, timoniFile); isFile(location.Root, name) {
			err := errors.New("the Timoni module in this folder is not rendered: the folder holds specs too")
			d.Fail(object.Pos{File: location.Root.Display(name)}, hint, err)
			continue
		}
		entries, _ := location.Root.folder.List(location.Dir, maxEntries)
		for _, e := range entries {
			name := path.Join(location.Dir, e.Name())
			if contentOf([]fs.DirEntry{e}) != cuePackage || d.knows(location.Root.Display(name)) {
				continue
			}
			if data, err := location.Root.read(name, spec.MaxFile); err == nil && holdsObject(data) {
				d.Errs = append(d.Errs, &object.Error{
					Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: location.Root.Display(name)},
					Err: errors.New("the CUE package in this folder is not rendered: the folder holds specs too"), Hint: hint,
				})
				break
			}
		}
	}
}

// reportUnrenderedFiles reports the charts, the kustomizations and the compose files of the
// folders that were searched, if nothing reads them.
func reportUnrenderedFiles(d *Discovery, beside []Location, read map[string]bool) {
	if len(d.Errs.Failures()) > 0 {
		return // A spec with mistakes may read them.
	}
	holders := map[Location]string{}
	for _, f := range d.folders {
		holders[f.Location] = rendered(f, read)
	}
	for _, location := range beside {
		holders[location] = "specs"
	}
	for _, b := range d.Bundles {
		if !b.argument {
			holders[d.locations[b.File.Name]] = "a bundle"
		}
	}
	for location, holder := range holders {
		files := append([]string{chartFile}, kustomizationFiles()...)
		if holder != "specs" { // Tools make a compose file of Score files.
			files = append(files, composeNames()...)
		}
		for _, name := range files {
			warnUnrendered(d, location, name, holder, read)
		}
	}
}

// rendered returns the kind of content that a folder without specs is rendered as.
func rendered(f folder, read map[string]bool) string {
	reads := func(name string) bool { return read[f.Root.Display(path.Join(f.Dir, name))] }
	entries, _ := f.Root.folder.List(f.Dir, maxEntries) // It was listed a moment ago.
	switch {
	case reads(chartFile):
		return "a chart"
	case slices.ContainsFunc(kustomizationFiles(), reads):
		return "a kustomization"
	case contentOf(entries) == cuePackage:
		return "a CUE package"
	}
	return "manifests"
}

// warnUnrendered warns of a file of a folder if the folder is rendered without it. The argument
// holder describes the content that is rendered.
func warnUnrendered(d *Discovery, location Location, name, holder string, read map[string]bool) {
	file := path.Join(location.Dir, name)
	shown := location.Root.Display(file)
	data, err := location.Root.read(file, spec.MaxFile)
	// A chart is read with all files of its folder.
	isRead := read[shown] && (name == chartFile || !read[location.Root.Display(path.Join(location.Dir, chartFile))])
	if err != nil || len(bytes.TrimSpace(data)) == 0 || isRead || d.components.holds(shown) || slices.Contains(d.given, shown) {
		return
	}
	description := "kustomization"
	hint := "pass the file itself: ropewalk render " + shown + "; or move it into a folder of its own"
	switch {
	case name == chartFile:
		description = "chart"
	case !slices.Contains(kustomizationFiles(), name):
		description = "compose file"
		hint = "pass the file itself: ropewalk render " + shown + "; or name it in spec.specs of a project"
	}
	d.Errs = append(d.Errs, &object.Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: shown},
		Err: fmt.Errorf("the %s in this folder is not rendered: the folder holds %s too", description, holder), Hint: hint,
	})
}

// notRendered returns the files of Rest.NotRendered.
func notRendered(d *Discovery, docs spec.Documents, read map[string]bool) []string {
	ours := filesWithDocuments(d, docs)
	maps.Copy(ours, read)
	for _, m := range docs.ConfigMaps {
		ours[m.Pos.File] = ours[m.Pos.File] || m.Module
	}
	isOurs := func(name string) bool { return ours[name] || strings.HasSuffix(name, spec.GoldenSuffix) }
	out := slices.DeleteFunc(slices.Clone(d.searcher.manifests), isOurs)
	slices.Sort(out)
	return slices.Compact(out)
}

// nested returns the files of Rest.Nested.
func nested(d *Discovery) []string {
	out := slices.DeleteFunc(slices.Clone(d.searcher.nested), d.knows)
	slices.Sort(out)
	return slices.Compact(out)
}

// notApplied returns the files of Rest.NotApplied.
func notApplied(d *Discovery) []string {
	var out []string
	for _, name := range d.given {
		location := d.locations[name]
		if beside := path.Join(location.Dir, spec.ProjectFile); isFile(location.Root, beside) && !d.knows(location.Root.Display(beside)) {
			out = append(out, location.Root.Display(beside))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
