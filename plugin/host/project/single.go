// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// single is a file that an argument names and that is a component by itself, if it holds no
// document of ours: manifests, or the archive of a chart.
type single struct {
	pos       object.Pos
	name      string
	component object.Value
}

// addArchive adds the archive of a chart.
func (d *Discovery) addArchive(r *Root, name string) {
	pos := object.Pos{File: r.Display(name)}
	if _, known := d.locations[pos.File]; known {
		return
	}
	d.locations[pos.File] = Location{r, path.Dir(name)}
	d.singles = append(d.singles, single{
		pos: pos, name: regexp.MustCompile(`(-v?[0-9]+\..*)?\.tgz$`).ReplaceAllString(path.Base(name), ""),
		component: field("helm", field("chart", object.TextAt("./"+path.Base(name), pos))),
	})
}

// addManifestsIn adds a file of manifests, and reports whether it holds no document of Ropewalk
// that a reader would look for. A file that is too large for these is read by its component alone.
func (d *Discovery) addManifestsIn(r *Root, name string) bool {
	data, err := r.read(name, spec.MaxFile)
	pos := object.Pos{File: r.Display(name)}
	if err != nil || !holdsManifest(spec.UTF8(data)) {
		return err == nil && d.addComponentBy(r, name, pos)
	}
	d.singles = append(d.singles, single{
		pos: pos, name: strings.TrimSuffix(path.Base(name), path.Ext(name)),
		component: field("manifests", field("paths", object.ListAt(pos, object.TextAt(path.Base(name), pos)))),
	})
	if ours, _ := spec.Mentions(data); len(data) <= spec.MaxFile || ours || d.mentionedLater(r, name) {
		return false
	}
	d.locations[pos.File] = Location{r, path.Dir(name)}
	return true
}

// addComponentBy adds the chart or the kustomization of a folder, by the name of its file.
func (d *Discovery) addComponentBy(r *Root, name string, pos object.Pos) bool {
	entries, err := r.folder.List(path.Dir(name), maxEntries)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() != path.Base(name) })
	if _, known := d.locations[pos.File]; err != nil || known || !isComponentFolder(entries) {
		return known
	}
	at := folder{Location: Location{r, path.Dir(name)}, pos: pos}
	called := path.Base(at.Dir)
	if at.Dir == "." {
		called = chartName(at)
	}
	component, _ := componentOf(at, entries)
	d.locations[pos.File] = at.Location
	d.singles = append(d.singles, single{pos: pos, name: called, component: component})
	return true
}

// addManifestsOfStdin adds what was read of standard input, if it holds manifests.
func (d *Discovery) addManifestsOfStdin(data []byte) {
	if !holdsManifest(data) {
		return
	}
	pos := object.Pos{File: StdinName, Line: 1, Column: 1}
	d.singles = append(d.singles, single{
		pos: pos, name: StdinName, component: field("manifests", field("inline", object.TextAt(string(data), pos))),
	})
}

// addComponents adds the specs of files that are components by themselves, called name if it is
// not "". It returns their names.
func (d *Discovery) addComponents(name string, ours map[string]bool, docs *spec.Documents) (names []string) {
	for _, s := range d.singles {
		if ours[s.pos.File] {
			continue
		}
		called := Label(s.name)
		if name != "" {
			called = Label(name)
		}
		if d.refuseTaken(called, s.pos, Names(*docs)) {
			continue
		}
		names = append(names, called)
		docs.Transforms = append(docs.Transforms, spec.Transform{
			Kind: spec.KindComponent, Name: called, Pos: s.pos, NamePos: s.pos, Component: s.component,
		})
	}
	return names
}

// holdsManifest reports whether a file that is named holds objects of Kubernetes, and no document
// of Ropewalk or one that was meant to be.
func holdsManifest(data []byte) bool {
	docs, err := spec.ParseManifests(spec.File{Data: data}, MaxManifests)
	if err != nil {
		ours, _ := spec.Mentions(data)
		return !ours && isManifest(data)
	}
	found := false
	for _, doc := range docs {
		kind, _ := doc.Value.Get("kind")
		version, _ := doc.Value.Get("apiVersion")
		if ours, _ := spec.Mentions([]byte("apiVersion: " + version.Text)); ours || strings.HasPrefix(version.Text, "kustomize.config.k8s.io/") {
			return false
		}
		found = found || kind.Kind == object.KindString && version.Kind == object.KindString
	}
	return found
}

// isSingle reports whether a file is a component by itself.
func (d *Discovery) isSingle(file string) bool {
	return slices.ContainsFunc(d.singles, func(s single) bool { return s.pos.File == file })
}

// field returns a map with one field, at the position of its value.
func field(name string, v object.Value) object.Value {
	return object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: name, Pos: v.Pos, Value: v}}}
}
