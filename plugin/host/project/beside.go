// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"path"
	"slices"

	"github.com/ropewalk/ropewalk/render/spec"
)

// Beside is a file that the document in the file of names by a path relative to its folder.
// A file of documents is kept, for excerpts: paths in it are relative to the same folder.
func (d *Discovery) Beside(of, name string) (spec.File, error) {
	at := d.locations[of]
	i := slices.IndexFunc(d.Files, func(f spec.File) bool { return f.Name == of })
	if i >= 0 && path.Clean(name) == path.Base(of) {
		return d.Files[i], nil
	}
	data, err := at.Read(name)
	if err != nil {
		return spec.File{}, err
	}
	file := spec.File{Name: at.Root.Display(path.Join(at.Dir, name)), Data: spec.UTF8(data)}
	if IsDocument(name) {
		d.add(file, at)
	}
	return file, d.Ended()
}
