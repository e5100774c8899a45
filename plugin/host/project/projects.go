// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Projects returns the folders at and below dir of a file system that hold a project file or a
// bundle of Timoni, sorted. There are none if dir is no folder. A search leaves out hidden folders
// and the outputs of renders.
func Projects(fsys fs.FS, dir string) ([]string, error) {
	found, err := projectsAt(fsys, dir)
	return found.folders, err
}

// Bundles returns the bundles of Timoni at and below dir of a file system that the folders of
// Projects do not read, sorted: files of other names than bundle.cue, outside of projects and of
// folders with a bundle.cue.
func Bundles(fsys fs.FS, dir string) ([]string, error) {
	found, err := projectsAt(fsys, dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range found.cue {
		data, err := found.root.read(name, spec.MaxFile)
		if err != nil || isFile(found.root, path.Join(path.Dir(name), bundleFile)) {
			continue
		}
		if isBundle(data) && bytes.Contains(data, []byte("instances")) {
			out = append(out, name)
		}
	}
	return out, nil
}

// projectFolders are the folders of projects, and the CUE files that lie in no project.
type projectFolders struct {
	root         *Root
	folders, cue []string
}

// projectsAt finds the projects at and below dir.
func projectsAt(fsys fs.FS, dir string) (out projectFolders, err error) {
	// A folder that does not exist has no projects.
	folder, err := rootfs.Of(fsys, ".")
	if err != nil {
		return out, err
	}
	info, err := folder.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return out, nil
	} else if err != nil {
		return out, bare(err)
	}
	r := &Root{FS: fsys, Dir: ".", base: ".", folder: folder}
	out.root = r

	// Each project is walked by itself, because a walk ends at the projects below.
	seen := map[string]bool{} // without links, which may lead around
	for pending := []string{path.Clean(dir)}; len(pending) > 0; {
		current := pending[0]
		pending = pending[1:]
		real, _, err := rootfs.Resolve(folder, current)
		if err != nil {
			return out, bare(err)
		}
		if seen[real] {
			continue
		}
		seen[real] = true
		project := isFile(r, path.Join(current, spec.ProjectFile))
		if project || isFile(r, path.Join(current, bundleFile)) {
			out.folders = append(out.folders, current)
		}
		w, err := walkFrom(r, current)
		if err != nil {
			return out, err
		}
		pending = append(pending, w.projects...)
		if !project {
			out.cue = append(out.cue, w.cue...)
		}
	}

	// The order of the walk must not show.
	slices.Sort(out.folders)
	slices.Sort(out.cue)
	out.cue = slices.Compact(out.cue) // A walk enters the folder of a bundle, and one begins there.
	return out, nil
}
