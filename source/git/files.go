// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/source"
)

// maxFiles bounds the files of a revision that are read, in bytes.
const maxFiles = 256 << 20

// Files is the tree of a commit in a repository on this machine, as a file system.
// Objects are read when they are needed, and kept in memory. Links are listed and read,
// and not followed. It is safe for concurrent use.
type Files struct {
	mu   sync.Mutex
	from checkout
	walk walk
	// blobs are those that were read, by their hash, and left is what may still be read,
	// in bytes.
	blobs map[string][]byte
	left  int64
	// failed is the first error of an object: nothing can be read after it.
	failed error
}

var (
	_ fs.ReadDirFS  = (*Files)(nil)
	_ fs.ReadLinkFS = (*Files)(nil)
)

func newFiles(from checkout) (*Files, error) {
	_, root, err := readCommit(from, from.commit)
	if err != nil {
		from.close()
		return nil, err
	}
	return &Files{from: from, walk: walk{from: from, root: root}, blobs: map[string][]byte{}, left: maxFiles}, nil
}

// Close ends the use of the repository.
func (f *Files) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from.close()
}

// Open opens a file or a directory.
func (f *Files) Open(name string) (fs.File, error) {
	info, err := f.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != 0 && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	node := info.(*node) //nolint:errcheck,forcetypeassert // Lstat returns no other
	return &openNode{node, bytes.NewReader(node.data)}, nil
}

// ReadDir lists a directory, sorted by name. The size of a file is that of
// [Files.Lstat], and is zero here.
func (f *Files) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := f.find(name)
	var entries []entry
	if err == nil && e.mode != modeTree {
		err = fs.ErrInvalid
	}
	if err == nil {
		entries, err = f.walk.tree(e.id)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		out[i] = fs.FileInfoToDirEntry(&node{entry: e})
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Lstat describes a file, a directory or a link.
func (f *Files) Lstat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := f.find(name)
	n := &node{entry: e}
	if err == nil && (e.isFile() || e.mode == modeSymlink) {
		n.data, err = f.read(e)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return n, nil
}

// ReadLink is the target of a link.
func (f *Files) ReadLink(name string) (string, error) {
	info, err := f.Lstat(name)
	if err != nil {
		return "", err
	}
	n := info.(*node) //nolint:errcheck,forcetypeassert // Lstat returns no other
	if n.mode != modeSymlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return string(n.data), nil
}

// find is the entry of a path.
func (f *Files) find(name string) (entry, error) {
	at := entry{mode: modeTree, id: f.walk.root, name: "."}
	switch {
	case f.failed != nil:
		return at, f.failed
	case !fs.ValidPath(name):
		return at, fs.ErrInvalid
	case name == ".":
		return at, nil
	}
	done := ""
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case at.mode == modeGitlink:
			return at, source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is in a submodule: refer to the repository of the submodule itself", done))
		case at.mode != modeTree:
			return at, fs.ErrNotExist
		}
		next, ok, err := f.walk.entry(at.id, part)
		switch {
		case err != nil:
			f.failed = err
			return at, err
		case !ok:
			return at, fs.ErrNotExist
		}
		at, done = next, path.Join(done, part)
	}
	return at, nil
}

// read is the content of a file, or the target of a link.
func (f *Files) read(e entry) ([]byte, error) {
	data, ok := f.blobs[e.id]
	if !ok {
		var err error
		if data, err = f.from.read(e.id, f.fits); err != nil {
			f.failed = err
			return nil, err
		}
		f.blobs[e.id], f.left = data, f.left-int64(len(data))
	}
	if isPointer(data) {
		return nil, source.Refuse(source.ErrNotRegular, "it is a pointer to Git LFS, and its content is not in the repository")
	}
	return data, nil
}

func (f *Files) fits(kind string, size int64) error {
	if kind == kindBlob && size > f.left {
		return source.Refuse(source.ErrLimit, fmt.Sprintf("more than %d bytes of the revision are needed", int64(maxFiles)))
	}
	return only(kindBlob, size)(kind, size)
}

// node describes an entry of a tree; data is the content of a file.
type node struct {
	entry
	data []byte
}

var _ fs.FileInfo = (*node)(nil)

func (n *node) Name() string       { return n.name }
func (n *node) Size() int64        { return int64(len(n.data)) }
func (n *node) ModTime() time.Time { return time.Time{} }
func (n *node) IsDir() bool        { return n.Mode().IsDir() }
func (n *node) Sys() any           { return nil }

func (n *node) Mode() fs.FileMode {
	switch {
	case n.isFile():
		return 0o444
	case n.mode == modeTree:
		return fs.ModeDir | 0o555
	case n.mode == modeSymlink:
		return fs.ModeSymlink | 0o777
	}
	return fs.ModeIrregular // a submodule
}

// openNode is an open file, or a directory, which is listed by [Files.ReadDir].
type openNode struct {
	info *node
	*bytes.Reader
}

func (o *openNode) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openNode) Close() error               { return nil }
