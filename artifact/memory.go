// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// memory is a file system of the files of an artifact. It is never changed.
type memory struct {
	files map[string][]byte
	dirs  map[string][]fs.DirEntry
}

var (
	_ fs.ReadDirFS  = (*memory)(nil)
	_ fs.ReadFileFS = (*memory)(nil)
)

// newMemory holds files, whose paths are checked already.
func newMemory(files []File) *memory {
	m := &memory{files: make(map[string][]byte, len(files)), dirs: map[string][]fs.DirEntry{".": nil}}
	for _, f := range files {
		m.files[f.Path] = f.Data
		m.enter(f.Path, entry{name: path.Base(f.Path), size: int64(len(f.Data))})
	}
	for _, entries := range m.dirs {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return m
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

// Open opens a file or a folder.
func (m *memory) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if data, ok := m.files[name]; ok {
		return &openFile{entry: entry{name: path.Base(name), size: int64(len(data))}, Reader: bytes.NewReader(data)}, nil
	}
	if entries, ok := m.dirs[name]; ok {
		return &openDir{entry: entry{name: path.Base(name), dir: true}, rest: entries}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadFile is the content of a file; it is a copy.
func (m *memory) ReadFile(name string) ([]byte, error) {
	data, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return bytes.Clone(data), nil
}

// ReadDir lists a folder.
func (m *memory) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, ok := m.dirs[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(entries), nil
}

// entry is a file or a folder in a listing.
type entry struct {
	name string
	size int64
	dir  bool
}

// Name is the last part of the path.
func (e entry) Name() string { return e.name }

// IsDir says whether it is a folder.
func (e entry) IsDir() bool { return e.dir }

// Type is the type bits of the mode.
func (e entry) Type() fs.FileMode { return e.Mode().Type() }

// Info is the entry itself.
func (e entry) Info() (fs.FileInfo, error) { return e, nil }

// Size is how large the content is.
func (e entry) Size() int64 { return e.size }

// ModTime is always the zero time.
func (e entry) ModTime() time.Time { return time.Time{} }

// Sys is nil.
func (e entry) Sys() any { return nil }

// Mode is 0644 for files, and 0755 for folders.
func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

// openFile is a file that is being read.
type openFile struct {
	entry
	*bytes.Reader
}

// Size is how large the file is.
func (f *openFile) Size() int64 { return f.size }

// Stat describes the file.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }

// Close does nothing.
func (f *openFile) Close() error { return nil }

// openDir is a folder that is being listed.
type openDir struct {
	entry
	rest []fs.DirEntry
}

// Stat describes the folder.
func (d *openDir) Stat() (fs.FileInfo, error) { return d.entry, nil }

// Read fails: a folder has no content.
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

// Close does nothing.
func (d *openDir) Close() error { return nil }

// ReadDir lists the next n entries, or all that are left.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.rest) {
		if n > 0 && len(d.rest) == 0 {
			return nil, io.EOF
		}
		n = len(d.rest)
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return slices.Clone(out), nil
}
