// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
)

// maxRounds bounds how often blobs are fetched: first the blobs of the module, and then the blobs
// that links lead to.
const maxRounds = 16

// Files is the tree of a commit, as a file system. Objects are read when they are
// needed, and kept in memory. Links are listed and read, and not followed. It is safe
// for concurrent use.
type Files struct {
	mu     sync.Mutex
	stored objects
	close  func()
	commit string
	// root is the tree of the commit.
	root  string
	trees map[string][]entry
	// blobs are those that were read, by their hash. Of limit bytes, left may still be
	// read.
	blobs       map[string][]byte
	limit, left int64
	// failed is the first error of an object: nothing can be read after it.
	failed error
	// fetched are the blobs that are here, and nil where all are; missing are those that
	// were read and are not here. They are empty files until they are fetched.
	fetched, missing map[string]bool
	// start is a folder, or ""; outside is set as soon as something is read that the hash of its
	// tree does not cover.
	start   string
	outside bool
	// module opens submodules, which are directories then; without it they are
	// irregular files.
	module  func(name, commit string) (*Files, error)
	modules map[string]*Files
}

var (
	_ fs.ReadDirFS  = (*Files)(nil)
	_ fs.ReadLinkFS = (*Files)(nil)
)

// newFiles returns the tree of a commit, of which limit bytes may be read.
func newFiles(stored objects, commit string, limit int64, end func()) (*Files, error) {
	_, root, err := readCommit(stored, commit)
	if err != nil {
		end()
		return nil, err
	}
	f := &Files{
		stored:  stored,
		close:   end,
		commit:  commit,
		root:    root,
		trees:   map[string][]entry{},
		blobs:   map[string][]byte{},
		limit:   limit,
		left:    limit,
		modules: map[string]*Files{},
	}
	if _, ok := stored.(partial); ok {
		f.fetched, f.missing = map[string]bool{}, map[string]bool{}
	}
	return f, nil
}

// Close ends the use of the repository.
func (f *Files) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.modules {
		m.Close()
	}
	f.close()
}

// Commit returns the hash of the commit.
func (f *Files) Commit() string { return f.commit }

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

// ReadDir lists a directory, sorted by name. The size of a file is zero here; [Files.Lstat]
// has it.
func (f *Files) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	commit, e, err := f.find(name)
	var entries []entry
	if err == nil && e.mode != modeTree {
		err = fs.ErrInvalid
	}
	if err == nil {
		entries, err = commit.listTree(e.id)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		out[i] = fs.FileInfoToDirEntry(&node{entry: commit.asShown(e)})
	}
	return out, nil
}

// Lstat describes a file, a directory or a link.
func (f *Files) Lstat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	commit, e, err := f.find(name)
	n := &node{entry: e}
	if err == nil && (e.isFile() || e.mode == modeSymlink) {
		n.data, err = commit.read(name, e)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return n, nil
}

// ReadLink returns the target of a link.
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

// find returns the entry of a path, and the commit that it is in: f or a submodule.
func (f *Files) find(name string) (*Files, entry, error) {
	found := entry{mode: modeTree, id: f.root, name: "."}
	switch {
	case f.failed != nil:
		return f, found, f.failed
	case !fs.ValidPath(name):
		return f, found, fs.ErrInvalid
	}

	// What is read outside of the module is not in the id of its tree.
	if f.start != "" && !subpath.Within(name, f.start) && !subpath.Within(f.start, name) {
		f.outside = true
	}

	// The path is walked folder by folder, since the tree of a folder has the hashes of its
	// entries.
	for remaining := name; remaining != "." && remaining != ""; {
		var part string
		part, remaining, _ = strings.Cut(remaining, "/")
		if found.mode != modeTree {
			return f, found, fs.ErrNotExist
		}
		entries, err := f.listTree(found.id)
		if err != nil {
			return f, found, err
		}
		i, ok := slices.BinarySearchFunc(entries, part, func(e entry, name string) int { return cmp.Compare(e.name, name) })
		if !ok {
			return f, found, fs.ErrNotExist
		}
		found = entries[i]
		if found.mode != modeGitlink {
			continue
		}

		// A submodule is another commit, and has the rest of the path.
		done := strings.TrimSuffix(strings.TrimSuffix(name, remaining), "/")
		switch {
		case f.module != nil:
			module, err := f.openModule(done, found.id)
			if err != nil {
				return f, found, err
			}
			return module.find(cmp.Or(remaining, "."))
		case remaining != "":
			return f, found, source.Refuse(source.ErrNotRegular, fmt.Sprintf(
				"%q is in a submodule: refer to the repository of the submodule itself", done))
		}
	}
	return f, f.asShown(found), nil
}

// folderID returns the hash of the tree of a folder.
func (f *Files) folderID(dir string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, e, err := f.find(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", source.Refuse(source.ErrNotFound, fmt.Sprintf("the commit has no folder %q: correct the path of the reference", dir))
	case err == nil && e.mode != modeTree:
		return "", source.Refuse(source.ErrNotFound, fmt.Sprintf("%q is not a folder in the commit", dir))
	}
	return e.id, err
}

// openModule opens a submodule, once.
func (f *Files) openModule(name, commit string) (*Files, error) {
	f.outside = true
	module, ok := f.modules[name]
	if !ok {
		var err error
		module, err = f.module(name, commit)
		if err != nil {
			return nil, err
		}
		f.modules[name] = module
	}
	return module, nil
}

// asShown returns an entry as callers see it: a link whose target is not here yet is a file,
// and a submodule is a folder.
func (f *Files) asShown(e entry) entry {
	switch {
	case e.mode == modeSymlink && f.lacks(e.id):
		e.mode = modeFile
	case e.mode == modeGitlink && f.module != nil:
		e.mode = modeTree
	}
	return e
}

// lacks reports whether a blob has to be fetched, and notes it.
func (f *Files) lacks(id string) bool {
	if f.fetched == nil || f.fetched[id] {
		return false
	}
	f.missing[id] = true
	return true
}

// listTree returns the entries of a tree, sorted by name.
func (f *Files) listTree(id string) ([]entry, error) {
	entries, ok := f.trees[id]
	if ok {
		return entries, nil
	}
	entries, err := readTree(f.stored, id)
	if err != nil {
		f.failed = err
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	f.trees[id] = entries
	return entries, nil
}

// read returns the content of a file, or the target of a link; nil where it has to be fetched
// first.
func (f *Files) read(name string, e entry) ([]byte, error) {
	if f.lacks(e.id) {
		return nil, nil
	}
	data, ok := f.blobs[e.id]
	if !ok {
		var err error
		data, err = f.stored.read(e.id, kindBlob, f.left)
		if errors.Is(err, source.ErrLimit) {
			err = source.OverLimit("more than %d bytes of the commit are needed, at %q", f.limit, name)
		}
		if err != nil {
			f.failed = err
			return nil, err
		}
		f.blobs[e.id] = data
		f.left -= int64(len(data))
	}
	if isPointer(data) {
		return nil, source.Refuse(source.ErrNotRegular, fmt.Sprintf(
			"%q is a pointer to Git LFS, and its content is not in the repository: commit the file itself, or refer to a folder without it", name))
	}
	return data, nil
}

// isPointer reports whether a file is one that Git LFS writes in place of another; see
// docs/spec.md of LFS.
func isPointer(data []byte) bool {
	return len(data) < 1024 && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/"))
}

// readPackage reads a module. It walks the module until nothing of it is missing, so that
// many blobs are fetched at a time.
func (f *Files) readPackage(ctx context.Context, p local.Package) (source.Tree, error) {
	for range maxRounds {
		tree, err := p.Tree(ctx)
		if err != nil && errors.Is(err, source.ErrLimit) {
			return tree, trimPath(err)
		}
		fetched, fetchErr := f.fetch(ctx)
		if fetchErr != nil {
			return source.Tree{}, fetchErr
		}
		if !fetched {
			return tree, trimPath(err)
		}
	}
	return source.Tree{}, source.OverLimit("symlinks in %q lead to other symlinks more than %d times", p.Module, maxRounds)
}

// trimPath returns an error of this package without the path that a file system puts before
// it.
func trimPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && isSentinel(p.Err) {
		return p.Err
	}
	return err
}

// fetch fetches what is missing, and reports whether anything was.
func (f *Files) fetch(ctx context.Context) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fetched := len(f.missing) > 0
	if fetched {
		if err := f.stored.(partial).fetchBlobs(ctx, slices.Sorted(maps.Keys(f.missing))); err != nil {
			return false, err
		}
		maps.Copy(f.fetched, f.missing)
		clear(f.missing)
	}
	for _, name := range slices.Sorted(maps.Keys(f.modules)) {
		inner, err := f.modules[name].fetch(ctx)
		if err != nil {
			return false, err
		}
		fetched = fetched || inner
	}
	return fetched, nil
}

// node describes an entry of a tree; data is the content of a file.
type node struct {
	entry
	data []byte
}

var _ fs.FileInfo = (*node)(nil)

// Name returns the last part of the path.
func (n *node) Name() string { return n.name }

// Size returns the length of the content in bytes.
func (n *node) Size() int64 { return int64(len(n.data)) }

// ModTime returns the zero time.
func (n *node) ModTime() time.Time { return time.Time{} }

// IsDir reports whether the node is a directory.
func (n *node) IsDir() bool { return n.Mode().IsDir() }

// Sys returns nil.
func (n *node) Sys() any { return nil }

// Mode returns the type of the entry, without the permissions that Git keeps.
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

// Stat describes the file.
func (o *openNode) Stat() (fs.FileInfo, error) { return o.info, nil }

// Close does nothing.
func (o *openNode) Close() error { return nil }
