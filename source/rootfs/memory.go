// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"io/fs"
	"syscall"
)

// memory is a file system.
type memory struct{ fsys fs.FS }

var _ Folder = memory{}

// Of returns the directory dir of a file system, "." for all of it. Links need fs.ReadLinkFS; other
// file systems have no links. The file system must not change, and be safe for concurrent use.
// There is nothing to close.
func Of(fsys fs.FS, dir string) (Folder, error) {
	resolved, info, err := resolve(fsys, dir, true, maxLinks)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		fsys, err = fs.Sub(fsys, resolved)
	}
	if err != nil {
		return nil, wrap("open", dir, err)
	}
	return memory{fsys}, nil
}

// Open opens a file or a folder.
func (m memory) Open(name string) (fs.File, error) {
	resolved, _, err := m.resolve("open", name, true)
	if err != nil {
		return nil, err
	}
	f, err := m.fsys.Open(resolved)
	if err != nil {
		return nil, wrap("open", name, err)
	}
	return f, nil
}

// Stat describes the file or the folder that a name leads to.
func (m memory) Stat(name string) (fs.FileInfo, error) {
	_, info, err := m.resolve("stat", name, true)
	return info, err
}

// Lstat describes what has a name. A link is not followed.
func (m memory) Lstat(name string) (fs.FileInfo, error) {
	_, info, err := m.resolve("lstat", name, false)
	return info, err
}

// ReadLink returns the target of a link.
func (m memory) ReadLink(name string) (string, error) {
	resolved, info, err := m.resolve("readlink", name, false)
	switch {
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		return "", wrap("readlink", name, syscall.EINVAL)
	}
	target, err := fs.ReadLink(m.fsys, resolved)
	if err != nil {
		return "", wrap("readlink", name, err)
	}
	return target, nil
}

// List lists a folder.
func (m memory) List(name string, limit int) ([]fs.DirEntry, error) {
	resolved, info, err := m.resolve("open", name, true)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, wrap("readdir", name, syscall.ENOTDIR)
	}
	f, err := m.fsys.Open(resolved)
	if err != nil {
		return nil, wrap("open", name, err)
	}
	defer func() { _ = f.Close() }()
	if dir, ok := f.(fs.ReadDirFile); ok {
		entries, err := list(dir, limit)
		if err != nil {
			return nil, wrap("readdir", name, err)
		}
		return entries, nil
	}
	entries, err := fs.ReadDir(m.fsys, resolved)
	if err != nil {
		return nil, wrap("readdir", name, err)
	}
	return sorted(entries)[:min(limit, len(entries))], nil
}

// Close does nothing: the file system is the caller's.
func (m memory) Close() error { return nil }

func (m memory) resolve(op, name string, follow bool) (string, fs.FileInfo, error) {
	resolved, info, err := resolve(m.fsys, name, follow, maxLinks)
	if err != nil {
		return "", nil, wrap(op, name, err)
	}
	return resolved, info, nil
}
