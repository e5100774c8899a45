// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package memfs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// over is a file system with files of a tree in memory over it.
type over struct {
	under fs.FS
	files *FS
}

var (
	_ fs.StatFS     = over{}
	_ fs.ReadLinkFS = over{}
	_ fs.ReadDirFS  = over{}
)

// Over returns a file system with further files, which replace files of the same names. The error
// is ErrConflict.
func Over(base fs.FS, files map[string][]byte) (fs.FS, error) {
	tree, err := New(files)
	if err != nil {
		return nil, err
	}
	return over{base, tree}, nil
}

// own reports whether a further file has the name.
func (o over) own(name string) bool {
	info, err := o.files.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Open opens a file or a folder.
func (o over) Open(name string) (fs.File, error) {
	if o.own(name) {
		return o.files.Open(name)
	}
	f, err := o.under.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.files.Open(name)
	}
	return f, err
}

// ReadDir lists a folder, with the further files in it.
func (o over) ReadDir(name string) ([]fs.DirEntry, error) {
	below, err := fs.ReadDir(o.under, name)
	added, missing := o.files.ReadDir(name)
	switch {
	case missing != nil:
		return below, err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	for _, entry := range added {
		same := func(e fs.DirEntry) bool { return e.Name() == entry.Name() }
		if i := slices.IndexFunc(below, same); i < 0 {
			below = append(below, entry)
		} else if !entry.IsDir() {
			below[i] = entry
		}
	}
	slices.SortFunc(below, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return below, nil
}

// Stat describes a file or a folder, and follows links as the file system below does.
func (o over) Stat(name string) (fs.FileInfo, error) {
	if o.own(name) {
		return o.files.Stat(name)
	}
	info, err := fs.Stat(o.under, name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.files.Stat(name)
	}
	return info, err
}

// Lstat describes a file, a folder or a link.
func (o over) Lstat(name string) (fs.FileInfo, error) {
	if o.own(name) {
		return o.files.Lstat(name)
	}
	info, err := fs.Lstat(o.under, name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.files.Lstat(name)
	}
	return info, err
}

// ReadLink returns the target of a link.
func (o over) ReadLink(name string) (string, error) { return fs.ReadLink(o.under, name) }
