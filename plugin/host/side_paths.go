// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Paths are the files and folders that the documents of opts name by a path:
// modules, policies, files of workloads, and the specs of a project. They are
// relative to opts.Root, which must be set, sorted, and may not be there; those
// outside of it are left out. Whoever brings only a part of a repository into
// a directory, such as that of one revision, asks what else is needed.
//
// A module is whatever says type: path and has a ref, wherever it stands, so
// that no kind of document can be forgotten. Mistakes are for [Host.Load] to
// tell: a file with a mistake names nothing.
func Paths(opts Options) ([]string, error) {
	f, err := newFinding(opts)
	if err != nil {
		return nil, err
	}
	defer f.close()
	f.all()
	n := naming{places: f.places}
	for _, file := range f.files {
		manifests, err := spec.ParseManifests(file, spec.MaxFile)
		if err != nil {
			continue
		}
		for _, m := range manifests {
			n.value(file.Name, m.Value)
		}
	}
	docs, _ := spec.Parse(f.files)
	for _, p := range docs.Projects {
		for _, pattern := range p.Specs {
			glob := pattern.Glob
			if meta := strings.IndexAny(glob, "*?["); meta >= 0 {
				// A search begins at the last folder that is named in full.
				glob = path.Dir(glob[:meta] + "x")
			}
			n.name(p.Pos.File, glob)
		}
	}
	slices.Sort(n.out)
	return slices.Compact(n.out), nil
}

// naming collects what documents name.
type naming struct {
	places map[string]place
	out    []string
}

// name is a path in a file.
func (n *naming) name(file, ref string) {
	at, known := n.places[file]
	if !known || ref == "" || path.IsAbs(ref) {
		return
	}
	if full := path.Join(at.dir, ref); filepath.IsLocal(full) {
		n.out = append(n.out, full)
	}
}

// value goes down a document.
func (n *naming) value(file string, v object.Value) {
	kind, _ := v.Get("type")
	// The sub-path of a module is inside what ref names.
	if ref, _ := v.Get("ref"); kind.Text == string(spec.RefPath) && ref.Kind == object.KindString {
		n.name(file, ref.Text)
	}
	for _, m := range v.Members {
		// A file of a container in a workload.
		if m.Name == "source" && m.Value.Kind == object.KindString {
			n.name(file, m.Value.Text)
		}
		n.value(file, m.Value)
	}
	for _, item := range v.Items {
		n.value(file, item)
	}
}
