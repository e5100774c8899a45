// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/internal/memfs"
)

// Defaults of [Limits].
const (
	DefaultFiles = 10_000
	DefaultBytes = 64 << 20
	DefaultDepth = 64
)

// WithDefaults fills the limits that are zero.
func (l Limits) WithDefaults() Limits {
	if l.Files == 0 {
		l.Files = DefaultFiles
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	return l
}

// Builder collects the files of a tree and refuses what a tree must not hold,
// file by file, so that a backend stops reading in time. The zero value has
// the default limits.
type Builder struct {
	Limits Limits
	files  map[string][]byte
	links  map[string]string
	bytes  int64
}

// Room checks that a file of a size fits at a path. A backend calls it before it reads the
// file.
func (b *Builder) Room(name string, size int64) error {
	limits := b.Limits.WithDefaults()
	if err := CheckPath(name); err != nil {
		return err
	}
	switch {
	case strings.Count(name, "/") > limits.Depth:
		return OverLimit("%q lies more than %d folders deep", name, limits.Depth)
	case len(b.files)+len(b.links) >= limits.Files:
		return OverLimit("the tree holds more than %d files, at %q", limits.Files, name)
	case size > limits.Bytes-b.bytes:
		return OverLimit("the tree holds more than %d bytes, at %q", limits.Bytes, name)
	}
	return nil
}

// Add puts a file into the tree, which keeps data.
func (b *Builder) Add(name string, data []byte) error {
	if err := b.Room(name, int64(len(data))); err != nil {
		return err
	}
	if b.has(name) {
		return Refuse(ErrPath, fmt.Sprintf("%q is in the tree twice", name))
	}
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	b.files[name] = data
	b.bytes += int64(len(data))
	return nil
}

// Link puts a symbolic link into the tree. The reader of the tree resolves it, see source/local.
// Trees of modules that fetchers return have no links.
func (b *Builder) Link(name, target string) error {
	if err := b.Room(name, int64(len(target))); err != nil {
		return err
	}
	if b.has(name) {
		return Refuse(ErrPath, fmt.Sprintf("%q is in the tree twice", name))
	}
	if b.links == nil {
		b.links = map[string]string{}
	}
	b.links[name] = target
	b.bytes += int64(len(target))
	return nil
}

func (b *Builder) has(name string) bool {
	_, file := b.files[name]
	_, link := b.links[name]
	return file || link
}

// Tree returns the tree of what was added, with its digest. The package is at its root;
// callers set Dir where it is not.
func (b *Builder) Tree(origin, revision string) (Tree, error) {
	fsys, err := memfs.Content{Files: b.files, Links: b.links}.FS()
	if err != nil {
		return Tree{}, Refuse(ErrPath, err.Error())
	}
	hash := sha256.New()
	if err := writeTar(hash, b.files, b.links); err != nil {
		return Tree{}, err
	}
	return Tree{
		FS: memory{fsys, b.files, b.links}, Origin: origin, Revision: revision, Digest: "sha256:" + hex.EncodeToString(hash.Sum(nil)), Dir: ".",
	}, nil
}

// NewTree returns a tree of files by path, within the default limits. It keeps the contents,
// which must not be changed any more.
func NewTree(files map[string][]byte, origin, revision string) (Tree, error) {
	var b Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := b.Add(name, files[name]); err != nil {
			return Tree{}, err
		}
	}
	return b.Tree(origin, revision)
}

// CheckPath refuses a name that cannot be the path of a file of a tree: a path that is empty,
// absolute, not clean, with ".." or backslashes, or that leads through a folder of a version
// control system, where a file could become code.
func CheckPath(name string) error {
	bad := func(why string) error { return Refuse(ErrPath, fmt.Sprintf("path %q %s", name, why)) }

	// The text as a whole comes first, so that the parts can be shown in messages.
	switch {
	case name == "":
		return bad("is empty")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("holds control characters or is not UTF-8")
	case strings.Contains(name, `\`):
		return bad("holds a backslash")
	case strings.HasPrefix(name, "/"):
		return bad("is absolute")
	case len(name) > 4096:
		return bad("is longer than 4096 bytes")
	}

	// No part may lead elsewhere.
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return bad("leaves its root")
		}
		if isGit(part) {
			return bad("goes through a folder of Git")
		}
	}
	if path.Clean(name) != name || name == "." {
		return bad("is not clean")
	}
	return nil
}

// isGit reports whether a file system could take a name for .git: case does not count on some
// file systems, trailing dots and spaces do not on Windows, and HFS+ ignores certain
// characters (CVE-2014-9390).
func isGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	name = strings.ToLower(strings.TrimRight(name, ". "))
	return name == ".git" || name == "git~1"
}

// WriteTar writes the canonical tar of a file system of regular files, whose
// SHA-256 is the digest of a tree with these files: sorted by path, USTAR (PAX
// where a name does not fit), times and owners zero, mode 0644, no folders.
func WriteTar(w io.Writer, fsys fs.FS) error {
	if m, ok := fsys.(memory); ok {
		return writeTar(w, m.files, m.links)
	}
	var b Builder
	if err := b.AddFS(fsys); err != nil {
		return err
	}
	return writeTar(w, b.files, nil)
}

// AddFS adds every file of a file system.
func (b *Builder) AddFS(fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
			return err
		case !e.Type().IsRegular():
			return Refuse(ErrNotRegular, fmt.Sprintf("%q is not a regular file", name))
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		return b.Add(name, data)
	})
}

// memory is the file system of a tree, with its files and links for WriteTar.
type memory struct {
	*memfs.FS
	files map[string][]byte
	links map[string]string
}

func writeTar(w io.Writer, files map[string][]byte, links map[string]string) error {
	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: time.Unix(0, 0),
		}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		header := &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: links[name], Mode: 0o777, ModTime: time.Unix(0, 0)}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
	}
	return t.Close()
}
