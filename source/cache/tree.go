// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ropewalk/ropewalk/source"
)

// pointer leads from a reference to a tree. Nothing in it is a secret: a
// reference with credentials in it is never fetched.
type pointer struct {
	// Digest has a name of its own: a pointer from before Version leads nowhere.
	Digest   string `json:"tree"`
	Origin   string `json:"origin,omitempty"`
	Revision string `json:"revision,omitempty"`
	Pinned   string `json:"pinned,omitempty"`
	Dir      string `json:"dir,omitempty"`
	Version  string `json:"version,omitempty"`
}

// treeKey returns the key of the tar of a tree.
func treeKey(scope, digest string) string {
	return fmt.Sprintf("%s scope %q", digest, scope)
}

// idKey returns the key of the pointer of a Git tree.
func idKey(scope, id string) string {
	return fmt.Sprintf("git-tree %q scope %q", id, scope)
}

// pack returns the canonical tar of a tree. Tar and tree have the same digest.
func pack(tree source.Tree) ([]byte, error) {
	var buffer bytes.Buffer
	if err := source.WriteTar(&buffer, tree.FS); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(buffer.Bytes())
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != tree.Digest {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf(
			"the tree of %q is %s and says that it is %s", scrub(tree.Origin), got, tree.Digest))
	}
	return buffer.Bytes(), nil
}

// unpack returns the tree of a canonical tar. The error is ErrDigest for any other tar, such
// as one with links or folders, and ErrLimit for one over the limits.
func unpack(data []byte, p pointer, limits source.Limits) (source.Tree, error) {
	b := source.Builder{Limits: limits}
	r := tar.NewReader(bytes.NewReader(data))

	// The tar must have only what pack writes: files, each as long as its header says.
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || h.Typeflag != tar.TypeReg {
			return source.Tree{}, source.Refuse(source.ErrDigest, "not the canonical tar of a tree")
		}
		if err := b.Room(h.Name, h.Size); err != nil {
			return source.Tree{}, err
		}
		// Room has bounded the size, but only the tar tells whether it is there.
		content := make([]byte, min(h.Size, int64(len(data))))
		if _, err := io.ReadFull(r, content); err != nil {
			return source.Tree{}, source.Refuse(source.ErrDigest, "the tar of a tree is truncated")
		}
		if err := b.Add(h.Name, content); err != nil {
			return source.Tree{}, err
		}
	}

	// The pointer says what the tree should be.
	tree, err := b.Tree(p.Origin, p.Revision)
	if err != nil {
		return source.Tree{}, err
	}
	if tree.Digest != p.Digest {
		return source.Tree{}, source.Refuse(source.ErrDigest, fmt.Sprintf("a tree is %s and should be %s", tree.Digest, p.Digest))
	}
	tree.Pinned, tree.Dir, tree.Version = p.Pinned, p.Dir, p.Version
	if info, err := fs.Stat(tree.FS, tree.Dir); err != nil || !info.IsDir() {
		return source.Tree{}, source.Refuse(source.ErrDigest, fmt.Sprintf("a tree has no folder %q", tree.Dir))
	}
	return tree, nil
}

// readTree returns the tree that a pointer leads to; false where the pointer or the tree is
// missing or is not what it should be. The error is one of the file system, or ErrLimit where
// the tree is over the limits.
func (s *Store) readTree(ctx context.Context, scope, key string, limits source.Limits) (source.Tree, bool, error) {
	var p pointer
	if ok, err := s.readRecord(ctx, KindPointer, key, &p); !ok {
		return source.Tree{}, false, err
	}
	name := treeKey(scope, p.Digest)
	data, ok, err := s.Get(ctx, KindTree, name)
	if !ok {
		return source.Tree{}, false, err
	}
	tree, err := unpack(data, p, limits)
	if err == nil || errors.Is(err, source.ErrLimit) {
		return tree, err == nil, err
	}
	// The bytes are as they were put, and still no tree of ours: a version that
	// had other rules put them. They go, so that the next tree takes their place.
	s.countersOf(KindTree).corrupt.Add(1)
	s.remove(KindTree, name)
	return source.Tree{}, false, nil
}

// putTree keeps a tree and the pointer to it. A tar that is there already is not written
// again.
func (s *Store) putTree(ctx context.Context, scope, key string, tree source.Tree) error {
	data, err := pack(tree)
	if err != nil {
		return err
	}
	name := treeKey(scope, tree.Digest)
	if !s.has(KindTree, name) {
		if err := s.Put(ctx, KindTree, name, data); err != nil {
			return err
		}
	}
	return s.putRecord(ctx, KindPointer, key, pointer{
		Digest: tree.Digest, Origin: tree.Origin, Revision: tree.Revision, Pinned: tree.Pinned, Dir: tree.Dir, Version: tree.Version,
	})
}

// readRecord reads an entry that is JSON into v; false if there is no such entry.
func (s *Store) readRecord(ctx context.Context, kind, key string, v any) (bool, error) {
	data, ok, err := s.Get(ctx, kind, key)
	if !ok {
		return false, err
	}
	ok = json.Unmarshal(data, v) == nil
	if !ok {
		s.countersOf(kind).corrupt.Add(1)
	}
	return ok, nil
}

// putRecord keeps v as JSON.
func (s *Store) putRecord(ctx context.Context, kind, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.Put(ctx, kind, key, data)
}

// TreeByID returns the tree that was cached under the id of a Git tree; false if there is no such
// entry. Origin, Revision and Pinned name the commit that it was cached for: the same tree can be
// part of many commits.
func (s *Store) TreeByID(ctx context.Context, scope, id string) (source.Tree, bool) {
	tree, ok, err := s.readTree(ctx, scope, idKey(scope, id), source.Limits{})
	return tree, ok && err == nil
}

// RememberTreeID caches a tree under the id of a Git tree, for [Store.TreeByID]. The
// tree must hold nothing but what the id names: no files from outside of it, behind
// links or in submodules.
func (s *Store) RememberTreeID(ctx context.Context, scope, id string, tree source.Tree) error {
	return s.putTree(ctx, scope, idKey(scope, id), tree)
}
