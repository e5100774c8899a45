// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Beside reads a file that the document in the file of names by a path relative to its folder. A
// file of documents is kept, for excerpts: paths in it are relative to the same folder.
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

// Below returns the files in a folder that the document in the file of names, and below it, by
// paths relative to that folder, sorted. It returns at most one file more than most.
func (d *Discovery) Below(of, folder string, most int) (out []string, err error) {
	at := d.locations[of]
	var list func(rel string) error
	list = func(rel string) error {
		entries, err := at.Root.folder.List(path.Join(at.Dir, folder, rel), maxEntries)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			switch {
			case len(out) > most || e.Name() == ".gitkeep":
			case e.IsDir() && strings.Count(name, "/") < most:
				if err := list(name); err != nil {
					return err
				}
			default:
				out = append(out, name)
			}
		}
		return nil
	}
	err = list(".")
	slices.Sort(out)
	return out, err
}

// FailAt adds an error of a field of a document.
func (d *Discovery) FailAt(pos object.Pos, at object.Path, hint string, err error) {
	d.Errs = append(d.Errs, &object.Error{Stage: object.StageSpec, Pos: pos, Path: at.String(), Err: err, Hint: hint})
}
