// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"errors"
	"io/fs"

	"github.com/ropewalk/ropewalk/source"
)

// overlay is a source with further files beside it, which have names that no source
// has. They are found by their names only: a search of a folder does not come upon
// them.
type overlay struct{ under, beside fs.FS }

var (
	_ fs.StatFS     = overlay{}
	_ fs.ReadLinkFS = overlay{}
	_ fs.ReadDirFS  = overlay{}
)

// newOverlay returns files beside those of a source. The argument under is nil if there is none.
func newOverlay(under fs.FS, files map[string][]byte) (fs.FS, error) {
	tree, err := source.NewTree(files, "transform", "")
	if err != nil || under == nil {
		return tree.FS, err
	}
	return overlay{under: under, beside: tree.FS}, nil
}

// Open opens a file or a folder.
func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.under.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.beside.Open(name)
	}
	return f, err
}

// ReadDir lists a folder of the source.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.under, name) }

// Stat describes a file or a folder. As that of source.Tree, it follows no link.
func (o overlay) Stat(name string) (fs.FileInfo, error) { return o.Lstat(name) }

// Lstat describes a file, a folder or a link.
func (o overlay) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(o.under, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fs.Lstat(o.beside, name)
	}
	return info, err
}

// ReadLink returns the target of a link of the source.
func (o overlay) ReadLink(name string) (string, error) { return fs.ReadLink(o.under, name) }
