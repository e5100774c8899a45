// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// files are the files of a component: in its source or in the project, and trees that were fetched
// beside it.
type files struct {
	base fs.FS
	// dir is the folder that paths of the component are relative to.
	dir string
	// at is their location in the project; its Root is nil where they are in a source, whose
	// Origin is label.
	at     project.Location
	label  string
	mounts []mount
	// sources is the provenance of the trees that were fetched.
	sources []render.Source
	// count counts the values of a file that was read.
	count func(name string, data []byte) error

	// spec is the name of the component, and modules fetches further trees for it.
	spec    string
	modules *modules
}

// mount is a tree in a folder where no file of a project is.
type mount struct {
	at, origin string
	fsys       fs.FS
}

// mountFolder holds the trees that were fetched for a component.
const mountFolder = ".ropewalk"

// mount adds a tree, and returns its folder.
func (f *files) mount(name string, tree source.Tree) string {
	folder := path.Join(mountFolder, name)
	f.mounts = append(f.mounts, mount{folder, tree.Origin, tree.FS})
	return folder
}

// addSource adds the provenance of a part of the component; "" stands for all of it.
func (f *files) addSource(part string, tree source.Tree) {
	s := sourceOf(f.spec, "", tree)
	s.Part = part
	f.sources = append(f.sources, s)
}

// in returns the file system that holds a file, with the name of the file in it, and the mount, or
// nil.
func (f *files) in(name string) (fs.FS, string, *mount) {
	for i := range slices.Backward(f.mounts) { // Later ones may lie in earlier ones.
		m := &f.mounts[i]
		if name == m.at {
			return m.fsys, ".", m
		}
		if inner, ok := strings.CutPrefix(name, m.at+"/"); ok {
			return m.fsys, inner, m
		}
	}
	return f.base, name, nil
}

// Open implements [fs.FS].
func (f *files) Open(name string) (fs.File, error) {
	fsys, name, _ := f.in(name)
	return fsys.Open(name)
}

// ReadDir implements [fs.ReadDirFS]; a folder does not list mounts in it.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	fsys, name, _ := f.in(name)
	return fs.ReadDir(fsys, name)
}

// Stat implements [fs.StatFS].
func (f *files) Stat(name string) (fs.FileInfo, error) {
	fsys, name, _ := f.in(name)
	return fs.Stat(fsys, name)
}

// ReadFile implements [fs.ReadFileFS]; it counts the values of each file.
func (f *files) ReadFile(name string) ([]byte, error) {
	fsys, inner, _ := f.in(name)
	data, err := fs.ReadFile(fsys, inner)
	if err == nil {
		err = f.count(f.place(name).File, data)
	}
	return data, err
}

// place returns the position of a file for messages.
func (f *files) place(name string) object.Pos {
	_, inner, m := f.in(name)
	switch {
	case m != nil:
		name = object.FileOf(m.origin, inner)
	case f.at.Root != nil:
		name = f.at.Root.Display(name)
	default:
		name = object.FileOf(f.label, name)
	}
	return object.Pos{File: name, Line: 1, Column: 1}
}

// position returns the position of a line and a column of a file.
func (f *files) position(name string, line, column int) object.Pos {
	pos := f.place(name)
	return object.Pos{File: pos.File, Line: line, Column: column}
}

// source returns the provenance of the files that a component reads: the provenance of the source
// that holds them, or else of the files of the project.
func (f *files) source(module evaluate.Module) render.Source {
	for i, s := range f.sources {
		if s.Part == "" {
			f.sources = append(f.sources[:i:i], f.sources[i+1:]...)
			return s
		}
	}
	return render.Source{Spec: f.spec, Origin: source.TypePath + ":" + f.dir, Digest: module.Digest}
}

// nearest returns a hint that asks for the folder or the file that a name, which does not exist,
// may have meant. It returns "" if no name is near.
func nearest(files fs.FS, name string, folder bool) string {
	for _, err := fs.Stat(files, path.Dir(name)); err != nil && name != "."; _, err = fs.Stat(files, path.Dir(name)) {
		name = path.Dir(name)
		folder = true
	}
	entries, _ := fs.ReadDir(files, path.Dir(name)) // A folder that cannot be read has no suggestion.
	var known []string
	for _, e := range entries {
		if e.IsDir() == folder {
			known = append(known, path.Join(path.Dir(name), e.Name()))
		}
	}
	return object.DidYouMean(name, known)
}
