// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// maxLinks is how many links may lie on the way to one file: what os.Root
// follows.
const maxLinks = 8

// memory is a directory of a file system.
type memory struct {
	fsys fs.FS
	// dir has no links.
	dir string
}

var _ Folder = memory{}

// Of is the directory dir of a file system, "." for all of it. Links are those
// of fs.ReadLinkFS; a file system that is none has none. It must not change, and
// be safe for concurrent use. There is nothing to close.
func Of(fsys fs.FS, dir string) (Folder, error) {
	real, info, err := memory{fsys, "."}.real("open", dir, true)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, wrap("open", dir, syscall.ENOTDIR)
	}
	return memory{fsys, real}, nil
}

// Open opens a file or a folder.
func (m memory) Open(name string) (fs.File, error) {
	real, _, err := m.real("open", name, true)
	if err != nil {
		return nil, err
	}
	f, err := m.fsys.Open(m.full(real))
	if err != nil {
		return nil, missing("open", name, err)
	}
	return f, nil
}

// Stat describes what a name leads to.
func (m memory) Stat(name string) (fs.FileInfo, error) {
	_, info, err := m.real("stat", name, true)
	return info, err
}

// Lstat describes what has a name.
func (m memory) Lstat(name string) (fs.FileInfo, error) {
	_, info, err := m.real("lstat", name, false)
	return info, err
}

// ReadLink is the text of a link.
func (m memory) ReadLink(name string) (string, error) {
	real, info, err := m.real("readlink", name, false)
	switch {
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		return "", wrap("readlink", name, syscall.EINVAL)
	}
	to, err := fs.ReadLink(m.fsys, m.full(real))
	if err != nil {
		return "", missing("readlink", name, err)
	}
	return to, nil
}

// List lists a folder.
func (m memory) List(name string, most int) ([]fs.DirEntry, error) {
	real, info, err := m.real("open", name, true)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, wrap("readdir", name, syscall.ENOTDIR)
	}
	f, err := m.fsys.Open(m.full(real))
	if err != nil {
		return nil, missing("open", name, err)
	}
	defer func() { _ = f.Close() }()
	if dir, ok := f.(fs.ReadDirFile); ok {
		entries, err := list(dir, most)
		if err != nil {
			return nil, missing("readdir", name, err)
		}
		return entries, nil
	}
	entries, err := fs.ReadDir(m.fsys, m.full(real))
	if err != nil {
		return nil, missing("readdir", name, err)
	}
	return sorted(entries)[:min(most, len(entries))], nil
}

// Close does nothing: the file system is the caller's.
func (m memory) Close() error { return nil }

func (m memory) full(real string) string { return path.Join(m.dir, real) }

// real is where a name leads, as a path without links, and what lies there. The
// last part is followed where follow is true.
func (m memory) real(op, name string, follow bool) (string, fs.FileInfo, error) {
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", nil, wrap(op, name, ErrLeaves)
	}
	info, err := fs.Lstat(m.fsys, m.dir)
	if err != nil {
		return "", nil, missing(op, name, err)
	}
	done, links := ".", 0
	for todo := strings.Split(clean, "/"); len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch {
		case !info.IsDir():
			return "", nil, wrap(op, name, syscall.ENOTDIR)
		case part == "" || part == ".":
			continue
		case part == ".." && done == ".":
			return "", nil, wrap(op, name, ErrLeaves)
		}
		next := path.Join(done, part)
		at, err := fs.Lstat(m.fsys, m.full(next))
		if err != nil {
			return "", nil, missing(op, name, err)
		}
		if at.Mode()&fs.ModeSymlink == 0 || len(todo) == 0 && !follow {
			done, info = next, at
			continue
		}
		to, err := m.target(op, name, next)
		if err != nil {
			return "", nil, err
		}
		if links++; links > maxLinks {
			return "", nil, wrap(op, name, syscall.ELOOP)
		}
		todo = slices.Concat(to, todo)
	}
	return done, info, nil
}

// target is where the link at a path without links leads, in parts.
func (m memory) target(op, name, link string) ([]string, error) {
	to, err := fs.ReadLink(m.fsys, m.full(link))
	switch {
	case err != nil:
		return nil, missing(op, name, err)
	case to == "":
		return nil, wrap(op, name, syscall.ENOENT)
	case path.IsAbs(to):
		return nil, wrap(op, name, ErrLeaves)
	}
	return strings.Split(to, "/"), nil
}

// missing is err of a file system; what is not there is told as on disk.
func missing(op, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = syscall.ENOENT
	}
	return wrap(op, name, err)
}
