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
	"regexp"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// chartFile marks the folder of a chart.
const chartFile = "Chart.yaml"

// kustomizationFiles returns the names that kustomize looks for.
func kustomizationFiles() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// holdsOne reports whether a folder with these entries holds a file of one of the names.
func holdsOne(entries []fs.DirEntry, names ...string) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) && !e.IsDir() })
}

// isComponentFolder reports whether a folder with these entries is that of a chart or of a
// kustomization.
func isComponentFolder(entries []fs.DirEntry) bool {
	return holdsOne(entries, append(kustomizationFiles(), chartFile)...)
}

// Instead returns the chart or the kustomization in the folder of the CUE package that is the spec
// called name. The folder is rendered as that if the package makes no objects.
func (d *Discovery) Instead(name string) (spec.Transform, bool) {
	t, ok := d.instead[name]
	return t, ok
}

// Unrendered reports the CUE packages that make objects and that nothing renders, because
// their folder holds specs too: a search takes a folder for one or the other. used are the
// folders of the modules that are rendered.
//
// The chart, the kustomization and the compose file of a folder that is rendered as something
// else are reported too, but for those in read, the files that components read.
func (d *Discovery) Unrendered(used map[Location]bool, read map[string]bool) {
	d.reportUnrenderedFiles(read)
	done := maps.Clone(used)
	for _, at := range d.beside {
		if done[at] {
			continue
		}
		done[at] = true
		const hint = "move it into a folder of its own, and write a Transform with cueRef: {type: path, ref: ./FOLDER}"
		if name := path.Join(at.Dir, timoniFile); isFile(at.Root, name) {
			d.Fail(object.Pos{File: at.Root.Display(name)}, hint, errors.New("the Timoni module in this folder is not rendered: the folder holds specs too"))
			continue
		}
		entries, _ := at.Root.folder.List(at.Dir, maxEntries)
		for _, e := range entries {
			name := path.Join(at.Dir, e.Name())
			if contentOf([]fs.DirEntry{e}) != cuePackage || d.locations[at.Root.Display(name)] != (Location{}) {
				continue
			}
			if data, err := at.Root.read(name, spec.MaxFile); err == nil && holdsObject(data) {
				d.Errs = append(d.Errs, &object.Error{
					Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: at.Root.Display(name)},
					Err: errors.New("the CUE package in this folder is not rendered: the folder holds specs too"), Hint: hint,
				})
				break
			}
		}
	}
}

// isFile reports whether a name is that of a regular file.
func isFile(r *Root, name string) bool {
	info, err := r.folder.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// holdsObject reports whether a CUE file seems to make an object of Kubernetes. A file that
// defines something is taken for a library.
func holdsObject(data []byte) bool {
	has := func(expression string) bool { return regexp.MustCompile(expression).Match(data) }
	return has(`\bapiVersion"?:`) && has(`\bkind"?:`) && !has(`(?m)^#\w+"?:`)
}

// reportUnrenderedFiles reports the charts, the kustomizations and the compose files of the
// folders that were searched, if nothing reads them.
func (d *Discovery) reportUnrenderedFiles(read map[string]bool) {
	if len(d.Errs.Failures()) > 0 {
		return // What failed may be what reads them.
	}
	holders := map[Location]string{}
	for _, f := range d.folders {
		holders[f.Location] = rendered(f, read)
	}
	for _, at := range d.beside {
		holders[at] = "specs"
	}
	for _, b := range d.Bundles {
		if !b.argument {
			holders[d.locations[b.File.Name]] = "a bundle"
		}
	}
	for at, holder := range holders {
		files := append([]string{chartFile}, kustomizationFiles()...)
		if holder != "specs" { // Tools make a compose file of Score files.
			files = append(files, composeNames()...)
		}
		for _, name := range files {
			d.warnUnrendered(at, name, holder, read)
		}
	}
}

// rendered returns what a folder without specs is rendered as.
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

// warnUnrendered warns of a file of a folder that is rendered as its holder is.
func (d *Discovery) warnUnrendered(at Location, name, holder string, read map[string]bool) {
	file := path.Join(at.Dir, name)
	shown := at.Root.Display(file)
	data, err := at.Root.read(file, spec.MaxFile)
	// A chart is read with all files of its folder.
	isRead := read[shown] && (name == chartFile || !read[at.Root.Display(path.Join(at.Dir, chartFile))])
	if err != nil || len(bytes.TrimSpace(data)) == 0 || isRead || d.isSingle(shown) || slices.Contains(d.given, shown) {
		return
	}
	what := "kustomization"
	hint := "pass the file itself: ropewalk render " + shown + "; or move it into a folder of its own"
	switch {
	case name == chartFile:
		what = "chart"
	case !slices.Contains(kustomizationFiles(), name):
		what = "compose file"
		hint = "pass the file itself: ropewalk render " + shown + "; or name it in spec.specs of a project"
	}
	d.Errs = append(d.Errs, &object.Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: shown},
		Err: fmt.Errorf("the %s in this folder is not rendered: the folder holds %s too", what, holder), Hint: hint,
	})
}
