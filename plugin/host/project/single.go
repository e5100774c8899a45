// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// components are the files that are components by themselves.
type components struct {
	texts   *Texts
	singles []single
}

// single is a file that an argument names and that is a component by itself, if it holds no
// document of ours: manifests, or the archive of a chart.
type single struct {
	pos       object.Pos
	name      string
	component object.Value
}

// addArchive adds the archive of a chart.
func (c *components) addArchive(r *Root, name string) {
	pos := object.Pos{File: r.Display(name)}
	if c.texts.knows(pos.File) {
		return
	}
	c.texts.locations[pos.File] = Location{r, path.Dir(name)}
	c.singles = append(c.singles, single{
		pos: pos, name: regexp.MustCompile(`(-v?[0-9]+\..*)?\.tgz$`).ReplaceAllString(path.Base(name), ""),
		component: field("helm", field("chart", object.TextAt("./"+path.Base(name), pos))),
	})
}

// addManifestsIn adds a file of manifests, and reports whether it holds no document of Ropewalk
// that a reader would look for. A file that is too large for these is read by its component alone.
func (c *components) addManifestsIn(r *Root, name string) bool {
	data, err := r.read(name, spec.MaxFile)
	pos := object.Pos{File: r.Display(name)}
	if err != nil || !holdsManifest(spec.UTF8(data)) {
		return err == nil && c.addComponentBy(r, name, pos)
	}
	c.singles = append(c.singles, single{
		pos: pos, name: strings.TrimSuffix(path.Base(name), path.Ext(name)),
		component: field("manifests", field("paths", object.ListAt(pos, object.TextAt(path.Base(name), pos)))),
	})
	if ours, _ := spec.Mentions(data); len(data) <= spec.MaxFile || ours || c.texts.mentionedLater(r, name) {
		return false
	}
	c.texts.locations[pos.File] = Location{r, path.Dir(name)}
	return true
}

// addComponentBy adds the chart or the kustomization of a folder, by the name of its file.
func (c *components) addComponentBy(r *Root, name string, pos object.Pos) bool {
	entries, err := r.folder.List(path.Dir(name), maxEntries)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() != path.Base(name) })
	if _, known := c.texts.locations[pos.File]; err != nil || known || !isComponentFolder(entries) {
		return known
	}
	location := folder{Location: Location{r, path.Dir(name)}, pos: pos}
	called := path.Base(location.Dir)
	if location.Dir == "." {
		called = chartName(location)
	}
	component, _ := componentOf(location, entries)
	c.texts.locations[pos.File] = location.Location
	c.singles = append(c.singles, single{pos: pos, name: called, component: component})
	return true
}

// addManifestsOfStdin adds the text of standard input, if it holds manifests.
func (c *components) addManifestsOfStdin(data []byte) {
	if !holdsManifest(data) {
		return
	}
	pos := object.Pos{File: StdinName, Line: 1, Column: 1}
	c.singles = append(c.singles, single{
		pos: pos, name: StdinName, component: field("manifests", field("inline", object.TextAt(string(data), pos))),
	})
}

// holds reports whether a file is a component by itself.
func (c *components) holds(file string) bool {
	return slices.ContainsFunc(c.singles, func(s single) bool { return s.pos.File == file })
}

// chartName returns the name of the chart in a folder, or "".
func chartName(f folder) string {
	var chart struct{ Name string }
	if data, err := f.Root.read(path.Join(f.Dir, chartFile), spec.MaxFile); err == nil {
		_ = yaml.Unmarshal(data, &chart) // the build of the chart reports it
	}
	return chart.Name
}

// componentOf returns the component in a folder: a chart, a kustomization, or manifests. It returns
// false if the folder holds no component.
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

// field returns a map with one field, at the position of its value.
func field(name string, v object.Value) object.Value {
	return object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: name, Pos: v.Pos, Value: v}}}
}
