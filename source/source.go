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
	// Revision is the immutable revision that a mutable reference led to, such
	// as main@sha1:… or v1.2.0@sha256:…; "" where the origin has none.
	Revision string
	// Pinned is a reference of the same type that always leads to this revision,
	// such as oci://host/repo@sha256:…; "" where the origin has none.
	Pinned string
	// Digest is sha256:<hex> of the canonical, uncompressed tar of the files.
	Digest string
	// Version is that which the publisher of an artifact has given it; "" where it has
	// none, or the tree was not published.
	Version string
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
	// Secret names the Secret with the credentials for Ref; "" takes those that
	// the fetcher has by itself, or none.
	Secret string
	// Verify says which signature Ref must have; the zero value asks for none.
	Verify Verify
}

// Verify asks for a signature.
type Verify struct {
	// Provider is cosign, pgp or ssh; "" asks for no signature.
	Provider string
	// Secret names the Secret that holds the public keys, one for each entry.
	Secret string
}

// Secrets gets Secrets by name: the name of each entry with its value, as they
// are in data of a Secret of Kubernetes, decoded. What the entries are called
// is that of Flux: username and password, bearerToken, identity, identity.pub
// and known_hosts, ca.crt, .dockerconfigjson, and *.pub or *.asc for keys to
// verify with. An error is ErrNotFound where there is no such Secret.
type Secrets interface {
	Secret(ctx context.Context, name string) (map[string][]byte, error)
}

// SecretsFunc is a function that is Secrets.
type SecretsFunc func(ctx context.Context, name string) (map[string][]byte, error)

// Secret calls f.
func (f SecretsFunc) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	return f(ctx, name)
}

// Fetcher gets trees of one type of reference.
type Fetcher interface {
	Fetch(ctx context.Context, ref Ref) (Tree, error)
}

// FetcherFunc is a function that is a Fetcher.
type FetcherFunc func(ctx context.Context, ref Ref) (Tree, error)

// Fetch calls f.
func (f FetcherFunc) Fetch(ctx context.Context, ref Ref) (Tree, error) { return f(ctx, ref) }

// Resolver is a fetcher that can say where a reference leads without getting
// it. It is what a cache and a lock ask for.
type Resolver interface {
	Fetcher
	// Resolve asks no server where ref is immutable by itself.
	Resolve(ctx context.Context, ref Ref) (Resolved, error)
}

// Resolved is where a reference leads now.
type Resolved struct {
	// Ref is the reference with an immutable revision in it; Fetch of it gives
	// the same tree always.
	Ref Ref
	// Revision is what Tree.Revision will be.
	Revision string
	// Immutable says that the reference that was asked for cannot lead elsewhere
	// tomorrow.
	Immutable bool
}

// Limits bound a tree. The zero value means the defaults.
type Limits struct {
	// Files is how many files a tree may hold; 10,000 where zero.
	Files int
	// Bytes is how large all files may be together; 64 MiB where zero.
	Bytes int64
	// Depth is how many folders deep a file may lie; 64 where zero.
	Depth int
}
