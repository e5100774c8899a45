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
	// Revision is the immutable revision that a mutable reference led to, such as main@sha1:… or
	// v1.2.0@sha256:…; "" where the origin has no revisions.
	Revision string
	// Pinned is a reference of the same type that always leads to this revision, such as
	// oci://host/repo@sha256:…; "" where the origin has no such reference.
	Pinned string
	// Digest is sha256:<hex> of the canonical, uncompressed tar of the files.
	Digest string
	// Version was given by the publisher of an artifact; "" if the publisher gave no version, or
	// the tree was not published.
	Version string
	// Dir is the folder of the package inside FS; "." is the root.
	Dir string
}

// Ref names a tree.
type Ref struct {
	// Type chooses the fetcher: path, embedded, inline, configmap, git, …
	Type string
	// Ref has the form that the type requires: a path, a name, a URL, CUE text.
	Ref string
	// Path is a sub-path inside what Ref names.
	Path string
	// Secret names the Secret with the credentials for Ref; "" takes the credentials that the
	// fetcher has by itself, if any exist.
	Secret string
	// Verify says which signature Ref must have; the zero value asks for no signature.
	Verify Verify
}

// Verify asks for a signature.
type Verify struct {
	// Provider is cosign, pgp or ssh; "" asks for no signature.
	Provider string
	// Secret names the Secret that holds the public keys, one for each entry.
	Secret string
}

// Secrets gets Secrets by name: the name of each entry with its value, as they are in data of a
// Secret of Kubernetes, decoded. The entries have the names that Flux uses: username and password,
// bearerToken, identity, identity.pub and known_hosts, ca.crt, .dockerconfigjson, and *.pub or
// *.asc for keys to verify with. An error is ErrNotFound where there is no such Secret.
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

// Resolver is a fetcher that also resolves a reference without getting it. Caches and locks need
// it.
type Resolver interface {
	Fetcher
	// Resolve asks no server where ref is immutable by itself.
	Resolve(ctx context.Context, ref Ref) (Resolved, error)
}

// Resolved is the present target of a reference.
type Resolved struct {
	// Ref is the reference with an immutable revision in it; Fetch of it gives
	// the same tree always.
	Ref Ref
	// Revision has the value that Tree.Revision will have.
	Revision string
	// Immutable says that the reference that was asked for cannot lead elsewhere
	// tomorrow.
	Immutable bool
}

// Limits bound a tree. The zero value means the defaults.
type Limits struct {
	// Files limits the files of a tree; 10,000 where zero.
	Files int
	// Bytes limits the size of all files together; 64 MiB where zero.
	Bytes int64
	// Depth limits the folders above a file; 64 where zero.
	Depth int
}
