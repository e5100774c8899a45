// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

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
	List(name string, limit int) ([]fs.DirEntry, error)
	io.Closer
}

// list reads the entries of an open folder, at most so many, and sorts them.
func list(dir fs.ReadDirFile, limit int) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	for len(out) < limit {
		entries, err := dir.ReadDir(limit - len(out))
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

// Limits for the links in a path: os.Root follows maxLinks, and Linux maxResolved, see
// path_resolution(7); [Resolve] has the limit of Linux.
const (
	maxLinks    = 8
	maxResolved = 40
)

// Resolve returns where a name leads, as a path without links, and describes what is there.
// Links are read, and never followed by the file system.
func Resolve(f Folder, name string) (string, fs.FileInfo, error) {
	resolved, info, err := resolve(f, name, true, maxResolved)
	if err != nil {
		return "", nil, wrap("resolve", name, err)
	}
	return resolved, info, nil
}

// resolve works as [Resolve] does, through at most so many links. With follow, the last part
// of the name is followed too.
func resolve(fsys fs.FS, name string, follow bool, limit int) (string, fs.FileInfo, error) {
	name = path.Clean(name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return "", nil, ErrLeaves
	}

	// The path is walked part by part. What a link leads to takes its place in front of the
	// parts that are left.
	info, err := fs.Lstat(fsys, ".")
	if err != nil {
		return "", nil, err
	}
	done := "."
	links := 0
	for todo := strings.Split(name, "/"); len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch {
		case !info.IsDir():
			return "", nil, syscall.ENOTDIR
		case part == "" || part == ".":
			continue
		case part == ".." && done == ".":
			return "", nil, ErrLeaves
		}

		// A part that is no link is one step further.
		next := path.Join(done, part)
		nextInfo, err := fs.Lstat(fsys, next)
		if err != nil {
			return "", nil, err
		}
		isLast := len(todo) == 0
		if nextInfo.Mode()&fs.ModeSymlink == 0 || (isLast && !follow) {
			done, info = next, nextInfo
			continue
		}

		// A link is read and not opened, so that it can be checked before it is followed.
		links++
		if links > limit {
			return "", nil, syscall.ELOOP
		}
		target, err := fs.ReadLink(fsys, next)
		switch {
		case err != nil:
			return "", nil, err
		case target == "":
			return "", nil, syscall.ENOENT
		case path.IsAbs(target) || filepath.IsAbs(target):
			return "", nil, ErrLeaves
		}
		todo = slices.Concat(strings.Split(filepath.ToSlash(target), "/"), todo)
	}
	return done, info, nil
}

// wrap returns err as an error about a name. What is missing has the same error as on disk.
func wrap(op, name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = syscall.ENOENT
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
