// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Projects are the folders at and below dir of a file system that hold a project file or
// a bundle of Timoni, sorted. There are none where dir is no folder. A search leaves out
// hidden folders and the outputs of renders.
func Projects(fsys fs.FS, dir string) ([]string, error) {
	folder, err := rootfs.Of(fsys, ".")
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	} else if err != nil {
		return nil, bare(err)
	}
	r := &Root{FS: fsys, Dir: ".", base: ".", folder: folder}
	var out []string
	seen := map[string]bool{} // without links, which may lead around
	for left := []string{path.Clean(dir)}; len(left) > 0; {
		at := left[0]
		left = left[1:]
		real, _, err := rootfs.Resolve(folder, at)
		if err != nil {
			return nil, bare(err)
		}
		if seen[real] {
			continue
		}
		seen[real] = true
		if isFile(r, path.Join(at, spec.ProjectFile)) || isFile(r, path.Join(at, bundleFile)) {
			out = append(out, at)
		}
		w, err := walked(r, at)
		if err != nil {
			return nil, err
		}
		left = append(left, w.projects...)
	}
	slices.Sort(out)
	return out, nil
}
