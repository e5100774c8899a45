// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Paths are the files and folders that the documents of opts reference by path:
// modules, policies, files of workloads, and the specs of a project. They are relative
// to opts.Root, which must be set, sorted, and may not exist; those outside of the root
// are left out. A caller that checks out only a part of a repository, such as that of
// one revision, learns from it what else is needed.
//
// Every mapping with type: path and a ref counts as a module, wherever it stands, so
// that no kind of document can be forgotten. A file with a mistake references nothing
// here; loading it reports the mistake.
func Paths(opts Options) ([]string, error) {
	d, err := Open(opts)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	d.Find()
	refs := references{locations: d.locations}
	for _, file := range d.Files {
		manifests, err := spec.ParseManifests(file, spec.MaxFile)
		if err != nil {
			continue
		}
		for _, m := range manifests {
			refs.value(file.Name, m.Value)
		}
	}
	docs, _ := spec.Parse(d.Files)
	for _, p := range docs.Projects {
		for _, pattern := range p.Specs {
			refs.add(p.Pos.File, literal(pattern.Glob))
		}
	}
	slices.Sort(refs.paths)
	return slices.Compact(refs.paths), nil
}

// references collects the paths that documents name.
type references struct {
	locations map[string]Location
	paths     []string
}

// add adds a path that a file names.
func (r *references) add(file, ref string) {
	at, known := r.locations[file]
	if !known || ref == "" || path.IsAbs(ref) {
		return
	}
	if full := path.Join(at.Dir, ref); filepath.IsLocal(full) {
		r.paths = append(r.paths, full)
	}
}

// value adds the paths of a document, recursively.
func (r *references) value(file string, v object.Value) {
	kind, _ := v.Get("type")
	// The sub-path of a module is inside of its ref.
	if ref, _ := v.Get("ref"); kind.Text == string(spec.RefPath) && ref.Kind == object.KindString {
		r.add(file, ref.Text)
	}
	for _, m := range v.Members {
		// A file of a container in a workload.
		if m.Name == "source" && m.Value.Kind == object.KindString {
			r.add(file, m.Value.Text)
		}
		r.value(file, m.Value)
	}
	for _, item := range v.Items {
		r.value(file, item)
	}
}

// literal is the last folder that a pattern names without wildcards, or the pattern
// itself where it has none.
func literal(pattern string) string {
	if meta := strings.IndexAny(pattern, "*?["); meta >= 0 {
		return path.Dir(pattern[:meta] + "x")
	}
	return pattern
}
