// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Recorder is a file system that remembers what was asked of it, so that the same
// questions get the same answers where only that is. Names that are asked for have
// no link before their last part, as those of source/rootfs. It is safe for
// concurrent use.
type Recorder struct {
	files fs.FS
	mu    sync.Mutex
	seen  map[string]Entry
}

var _ fs.ReadLinkFS = (*Recorder)(nil)

// Record remembers what is asked of files.
func Record(files fs.FS) *Recorder { return &Recorder{files: files, seen: map[string]Entry{}} }

// Entries are what was seen, sorted by name: the content of files that were opened,
// and of others the name.
func (r *Recorder) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Entry, 0, len(r.seen))
	for _, e := range r.seen {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// note remembers that something was seen, and with read that its content was.
func (r *Recorder) note(name string, mode fs.FileMode, read bool) {
	// The content of .git goes nowhere, whoever asks for it.
	if name == "." || name == ".git" || strings.HasPrefix(name, ".git/") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, known := r.seen[name]
	r.seen[name] = Entry{Name: name, Mode: e.Mode | mode, Empty: !read && (!known || e.Empty)}
}

// Lstat describes what has a name.
func (r *Recorder) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(r.files, name)
	if err == nil {
		r.note(name, info.Mode(), false)
	}
	return info, err
}

// ReadLink is the text of a link.
func (r *Recorder) ReadLink(name string) (string, error) {
	to, err := fs.ReadLink(r.files, name)
	if err == nil {
		r.note(name, fs.ModeSymlink, false)
	}
	return to, err
}

// Open opens a file or a folder.
func (r *Recorder) Open(name string) (fs.File, error) {
	f, err := r.files.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	r.note(name, info.Mode(), true)
	if folder, ok := f.(fs.ReadDirFile); ok && info.IsDir() {
		return listing{folder, r, name}, nil
	}
	return f, nil
}

// listing is an open folder.
type listing struct {
	fs.ReadDirFile
	to   *Recorder
	name string
}

// ReadDir is as that of fs.ReadDirFile.
func (l listing) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := l.ReadDirFile.ReadDir(n)
	for _, e := range entries {
		l.to.note(path.Join(l.name, e.Name()), e.Type(), false)
	}
	return entries, err
}
