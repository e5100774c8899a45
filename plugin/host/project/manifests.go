// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/spec"
)

// ReadManifests reads a regular file, or the target of a link, up to MaxManifests.
func ReadManifests(fsys fs.FS, file string) ([]byte, error) {
	// Opening a pipe would block.
	info, err := fs.Stat(fsys, file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, bare(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", file)
	case info.Size() > MaxManifests:
		return nil, fmt.Errorf("%s: file of %d bytes is over the limit of %d (no flag raises it)", file, info.Size(), int64(MaxManifests))
	}
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, bare(err))
	}
	return data, nil
}

// HoldsSpecs reports whether a file or a directory on disk is input of a render: one with specs, a
// project, or a folder that is a CUE package, a chart or a kustomization. Parts of CUE count too,
// so that the render reports what to name instead. A directory with the output of a render holds
// manifests, and so does any other without a document of Ropewalk.
func HoldsSpecs(name string) (bool, error) {
	// The name may be anything on disk.
	places, err := openPlaces(Options{})
	if err != nil {
		return false, err
	}
	defer places.close()
	r, rel, isFolder, err := places.openNamed(name)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	w := &walk{files: []string{rel}}
	cue := noCUE
	if !isFolder && path.Ext(rel) == ".cue" {
		return true, nil
	}

	// A marker decides about a folder at once.
	if isFolder {
		for _, marker := range []string{output.MarkerFile, spec.ProjectFile} {
			if _, err := r.folder.Lstat(path.Join(rel, marker)); err == nil {
				return marker == spec.ProjectFile, nil
			}
		}
		entries, err := r.folder.List(rel, maxEntries)
		if err != nil {
			return false, err
		}
		w, err = walkFrom(r, rel)
		if err != nil {
			return false, err
		}
		_, component := componentOf(folder{}, entries)
		cue = contentOf(entries)
		if cue == cuePackage || len(w.projects) > 0 || component {
			return true, nil
		}
	}

	// Else its files decide.
	for _, file := range w.files {
		data, err := r.read(file, MaxManifests)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.Display(file), err)
		}
		if holdsSpec(data) {
			return true, nil
		}
		// A compose file is read where a user names it.
		if docs, _ := spec.Parse([]spec.File{{Name: file, Data: data}}); !isFolder && len(docs.Sources) > 0 {
			return true, nil
		}
	}
	// A module without a package in this folder is not an empty directory of manifests.
	return cue == cueModule && len(w.files) == 0, nil
}
