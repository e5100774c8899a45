// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// ErrLeaves says that a path leaves the directory, by a link or by its name. It
// is source.ErrPath too.
var ErrLeaves = source.Refuse(source.ErrPath, "leaves the root of the project by a link")

// Folder is a directory that nothing is read outside of. Its errors are of the
// type *fs.PathError. It is safe for concurrent use.
type Folder interface {
	// Open opens what a name leads to, and does not wait for the other end of a
	// pipe; ReadLink and Lstat do not follow the last part of a name.
	fs.ReadLinkFS
	fs.StatFS
	// List is at most the given number of entries of a folder, sorted by name;
	// which ones is not said where there are more.
	List(name string, most int) ([]fs.DirEntry, error)
	io.Closer
}

// list reads at most so many entries of an open folder, sorted.
func list(dir fs.ReadDirFile, most int) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	for len(out) < most {
		entries, err := dir.ReadDir(most - len(out))
		out = append(out, entries...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return sorted(out), nil
}

func sorted(entries []fs.DirEntry) []fs.DirEntry {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// wrap is err of a name, in the words of this package.
func wrap(op, name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
