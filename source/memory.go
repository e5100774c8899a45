// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// memory is a file system of regular files in memory. It is never changed, so
// it is safe for concurrent use.
type memory struct {
	// names are the paths of files, sorted.
	names []string
	files map[string][]byte
	// dirs are the entries of each folder, sorted by name.
	dirs map[string][]fs.DirEntry
}

var (
	_ fs.ReadFileFS = (*memory)(nil)
	_ fs.ReadDirFS  = (*memory)(nil)
	_ fs.StatFS     = (*memory)(nil)
)

// newMemory holds files, whose paths are checked already.
func newMemory(files map[string][]byte) (*memory, error) {
	m := &memory{names: sortedKeys(files), files: files, dirs: map[string][]fs.DirEntry{".": nil}}
	for _, name := range m.names {
		m.enter(name, entry{name: path.Base(name), size: int64(len(files[name]))})
	}
	for _, name := range m.names {
		if _, both := m.dirs[name]; both {
			return nil, Refuse(ErrPath, fmt.Sprintf("%q is a file and a folder", name))
		}
	}
	for _, entries := range m.dirs {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return m, nil
}

// enter lists e in its folder, and the folder in the one above.
func (m *memory) enter(name string, e entry) {
	dir := path.Dir(name)
	if _, known := m.dirs[dir]; !known {
		m.dirs[dir] = nil
		m.enter(dir, entry{name: path.Base(dir), dir: true})
	}
	m.dirs[dir] = append(m.dirs[dir], e)
}

// entry is a file or a folder; it is its own description and listing.
type entry struct {
	name string
	size int64
	dir  bool
}

// Name is the last part of the path.
func (e entry) Name() string { return e.name }

// Size is the size of a file in bytes.
func (e entry) Size() int64 { return e.size }

// IsDir tells a folder from a file.
func (e entry) IsDir() bool { return e.dir }

// ModTime is zero: a tree has no times.
func (e entry) ModTime() time.Time { return time.Time{} }

// Sys is nothing.
func (e entry) Sys() any { return nil }

// Type is the type part of the mode.
func (e entry) Type() fs.FileMode { return e.Mode().Type() }

// Info is e itself.
func (e entry) Info() (fs.FileInfo, error) { return e, nil }

// String is the entry as a listing shows it.
func (e entry) String() string { return fs.FormatDirEntry(e) }

// Mode says that everything may be read and nothing written.
func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Stat describes a file or a folder.
func (m *memory) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("stat", name, fs.ErrInvalid)
	}
	if data, ok := m.files[name]; ok {
		return entry{name: path.Base(name), size: int64(len(data))}, nil
	}
	if _, ok := m.dirs[name]; ok {
		return entry{name: path.Base(name), dir: true}, nil
	}
	return nil, pathError("stat", name, fs.ErrNotExist)
}

// ReadFile is a copy of the content of a file.
func (m *memory) ReadFile(name string) ([]byte, error) {
	info, err := m.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, pathError("read", name, fs.ErrInvalid)
	}
	return bytes.Clone(m.files[name]), nil
}

// ReadDir lists a folder, sorted by name.
func (m *memory) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := m.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, pathError("readdir", name, fs.ErrInvalid)
	}
	return slices.Clone(m.dirs[name]), nil
}

// Open opens a file or a folder.
func (m *memory) Open(name string) (fs.File, error) {
	info, err := m.Stat(name)
	if err != nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	if info.IsDir() {
		return &openDir{entry: info, name: name, rest: m.dirs[name]}, nil
	}
	return &openFile{Reader: bytes.NewReader(m.files[name]), entry: info}, nil
}

// openFile is an open file.
type openFile struct {
	*bytes.Reader
	entry fs.FileInfo
}

// Stat describes the file.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }

// Close does nothing: there is nothing to give back.
func (f *openFile) Close() error { return nil }

// openDir is an open folder.
type openDir struct {
	entry fs.FileInfo
	name  string
	rest  []fs.DirEntry
}

// Stat describes the folder.
func (d *openDir) Stat() (fs.FileInfo, error) { return d.entry, nil }

// Close does nothing: there is nothing to give back.
func (d *openDir) Close() error { return nil }

// Read is an error: a folder has entries and no content.
func (d *openDir) Read([]byte) (int, error) { return 0, pathError("read", d.name, fs.ErrInvalid) }

// ReadDir is the next n entries, and all that are left where n is not
// positive.
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
