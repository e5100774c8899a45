// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package memfs is a read-only file system in memory: regular files, the
// directories above them and, where a caller adds them, symbolic links.
//
// # Invariants
//
// An FS never changes after [New], so it is safe for concurrent use. Names have the form of io/fs.
// Times are zero, files have mode 0444 and directories 0555. Symbolic links are listed and read
// ([FS.ReadLink]) but never followed: a caller that follows them resolves them first, see
// source/rootfs.
package memfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// ErrConflict is returned by New for names that cannot stand in one tree: a file
// that is also a directory, or an invalid path.
var ErrConflict = errors.New("conflicting path")

// FS is an immutable tree of files.
type FS struct {
	content Content
	// dirs has the entries of each directory, sorted by name.
	dirs map[string][]fs.DirEntry
}

// Content holds the parts of a tree, by slash-separated path. An FS keeps the maps and the
// contents, which must not change.
type Content struct {
	Files map[string][]byte
	// Sections are files whose content is not in memory.
	Sections map[string]*io.SectionReader
	// Links are symbolic links: path to target.
	Links map[string]string
	// Dirs are directories that may be empty.
	Dirs []string
}

var (
	_ fs.ReadFileFS = (*FS)(nil)
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// New returns the tree of files. The error is ErrConflict.
func New(files map[string][]byte) (*FS, error) { return Content{Files: files}.FS() }

// FS returns the tree of the content. The error is ErrConflict.
func (c Content) FS() (*FS, error) {
	f := &FS{content: c, dirs: map[string][]fs.DirEntry{".": nil}}
	names := slices.Concat(slices.Collect(maps.Keys(c.Files)), slices.Collect(maps.Keys(c.Sections)), slices.Collect(maps.Keys(c.Links)))
	slices.Sort(names)
	for i, name := range names {
		if i > 0 && names[i-1] == name {
			return nil, fmt.Errorf("%w: %q is there twice", ErrConflict, name)
		}
		e, _ := c.entry(name)
		if err := f.add(name, e); err != nil {
			return nil, err
		}
	}

	// Folders without files are listed by themselves.
	for _, name := range c.Dirs {
		if _, known := f.dirs[name]; known {
			continue
		}
		f.dirs[name] = nil
		if err := f.add(name, dirEntry(name)); err != nil {
			return nil, err
		}
	}

	// A name is a file or a folder, and folders list their entries in order.
	for _, dir := range slices.Sorted(maps.Keys(f.dirs)) {
		if _, ok := c.entry(dir); ok {
			return nil, fmt.Errorf("%w: %q is a file and a directory", ErrConflict, dir)
		}
		slices.SortFunc(f.dirs[dir], func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return f, nil
}

// entry returns the entry of a file or a link; false if the content has none by this name.
func (c Content) entry(name string) (entry, bool) {
	if data, ok := c.Files[name]; ok {
		return entry{name: path.Base(name), size: int64(len(data)), mode: 0o444}, true
	}
	if section, ok := c.Sections[name]; ok {
		return entry{name: path.Base(name), size: section.Size(), mode: 0o444}, true
	}
	if target, ok := c.Links[name]; ok {
		return entry{name: path.Base(name), size: int64(len(target)), mode: fs.ModeSymlink | 0o777}, true
	}
	return entry{}, false
}

func dirEntry(name string) entry { return entry{name: path.Base(name), mode: fs.ModeDir | 0o555} }

// add lists e in its directory, and the directory in the one above it.
func (f *FS) add(name string, e entry) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("%w: %q is not a clean relative path", ErrConflict, name)
	}
	for {
		dir := path.Dir(name)
		_, known := f.dirs[dir]
		f.dirs[dir] = append(f.dirs[dir], e)
		if known {
			return nil
		}
		name, e = dir, dirEntry(dir)
	}
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Lstat describes a file, a directory or a link.
func (f *FS) Lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("stat", name, fs.ErrInvalid)
	}
	if e, ok := f.content.entry(name); ok {
		return e, nil
	}
	if _, ok := f.dirs[name]; ok {
		return dirEntry(name), nil
	}
	return nil, pathError("stat", name, fs.ErrNotExist)
}

// Stat describes a file, a directory or a link, as Lstat does: links are not followed.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.Lstat(name) }

// ReadLink returns the target of a symbolic link, as it was given.
func (f *FS) ReadLink(name string) (string, error) {
	target, ok := f.content.Links[name]
	if !ok {
		return "", pathError("readlink", name, fs.ErrInvalid)
	}
	return target, nil
}

// ReadFile returns a copy of the content of a file.
func (f *FS) ReadFile(name string) ([]byte, error) {
	if data, ok := f.content.Files[name]; ok {
		return bytes.Clone(data), nil
	}
	if section, ok := f.content.Sections[name]; ok {
		data := make([]byte, section.Size())
		_, err := io.ReadFull(io.NewSectionReader(section, 0, section.Size()), data)
		return data, err
	}
	if _, err := f.Lstat(name); err != nil {
		return nil, err
	}
	return nil, pathError("read", name, fs.ErrInvalid)
}

// ReadDir lists a directory, sorted by name.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if entries, ok := f.dirs[name]; ok {
		return slices.Clone(entries), nil
	}
	if _, err := f.Lstat(name); err != nil {
		return nil, err
	}
	return nil, pathError("readdir", name, fs.ErrInvalid)
}

// Open opens a file or a directory.
func (f *FS) Open(name string) (fs.File, error) {
	info, err := f.Lstat(name)
	switch {
	case err != nil:
		return nil, pathError("open", name, errors.Unwrap(err))
	case info.IsDir():
		return &openDir{info: info, name: name, rest: f.dirs[name]}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, pathError("open", name, fs.ErrInvalid)
	}
	content := io.ReaderAt(bytes.NewReader(f.content.Files[name]))
	if section, ok := f.content.Sections[name]; ok {
		content = section
	}
	return &openFile{SectionReader: io.NewSectionReader(content, 0, info.Size()), info: info}, nil
}

// entry is a fs.FileInfo and a fs.DirEntry.
type entry struct {
	name string
	size int64
	mode fs.FileMode
}

// Name returns the last element of the path.
func (e entry) Name() string { return e.name }

// Size returns the length of the content in bytes.
func (e entry) Size() int64 { return e.size }

// Mode returns the type and the permissions.
func (e entry) Mode() fs.FileMode { return e.mode }

// Type returns the type without the permissions.
func (e entry) Type() fs.FileMode { return e.mode.Type() }

// IsDir reports whether the entry is a directory.
func (e entry) IsDir() bool { return e.mode.IsDir() }

// ModTime returns the zero time.
func (e entry) ModTime() time.Time { return time.Time{} }

// Sys returns nil.
func (e entry) Sys() any { return nil }

// Info returns the entry itself.
func (e entry) Info() (fs.FileInfo, error) { return e, nil }
func (e entry) String() string             { return fs.FormatDirEntry(e) }

type openFile struct {
	*io.SectionReader
	info fs.FileInfo
}

// Stat describes the open file.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close does nothing.
func (f *openFile) Close() error { return nil }

type openDir struct {
	info fs.FileInfo
	name string
	rest []fs.DirEntry
}

// Stat describes the open directory.
func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }

// Close does nothing.
func (d *openDir) Close() error             { return nil }
func (d *openDir) Read([]byte) (int, error) { return 0, pathError("read", d.name, fs.ErrInvalid) }

// ReadDir returns the next n entries, or all that are left if n is not positive.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := slices.Clone(d.rest[:n])
	d.rest = d.rest[n:]
	return out, nil
}
