// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"io/fs"
)

// Tree is the files of a module.
type Tree struct {
	// FS holds regular files only, with slash-separated relative paths.
	FS fs.FS
	// Origin says where the tree comes from, for people and provenance.
	Origin string
	// Revision is the immutable revision that a mutable reference led to, ""
	// where the origin has none.
	Revision string
	// Digest is sha256:<hex> of the canonical, uncompressed tar of the files.
	Digest string
	// Dir is the folder of the package inside FS; "." is the root.
	Dir string
}

// Ref names a tree.
type Ref struct {
	// Type chooses the fetcher: path, embedded, inline, configmap, git, …
	Type string
	// Ref is what the type makes of it: a path, a name, a URL, CUE text.
	Ref string
	// Path is a sub-path inside what Ref names.
	Path string
}

// Fetcher gets trees of one type of reference.
type Fetcher interface {
	Fetch(ctx context.Context, ref Ref) (Tree, error)
}

// FetcherFunc is a function that is a Fetcher.
type FetcherFunc func(ctx context.Context, ref Ref) (Tree, error)

// Fetch calls f.
func (f FetcherFunc) Fetch(ctx context.Context, ref Ref) (Tree, error) { return f(ctx, ref) }

// Limits bound a tree. The zero value means the defaults.
type Limits struct {
	// Files is how many files a tree may hold; 10,000 where zero.
	Files int
	// Bytes is how large all files may be together; 64 MiB where zero.
	Bytes int64
	// Depth is how many folders deep a file may lie; 64 where zero.
	Depth int
}
