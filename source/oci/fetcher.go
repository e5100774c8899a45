// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"context"
	"io"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// Repository reads a repository, as the Repository of oras-go (registry/remote) does. It returns
// the errors of oras-go.
type Repository interface {
	// Resolve says where a tag or a digest leads.
	Resolve(ctx context.Context, reference string) (ocispec.Descriptor, error)
	// FetchReference is Resolve with the manifest, in one go.
	FetchReference(ctx context.Context, reference string) (ocispec.Descriptor, io.ReadCloser, error)
	// Fetch gets a blob, or a manifest, by its type.
	Fetch(ctx context.Context, target ocispec.Descriptor) (io.ReadCloser, error)
	// Tags lists tags, page by page.
	Tags(ctx context.Context, last string, fn func(tags []string) error) error
	// Referrers lists the artifacts about a manifest, page by page. It is for
	// verifiers.
	Referrers(ctx context.Context, manifest ocispec.Descriptor, artifactType string, fn func(referrers []ocispec.Descriptor) error) error
}

// Verifier checks that a manifest is signed by one of the keys: the entries *.pub
// of a Secret, by name. An error says that it is not, or that it could not be
// found out; the latter as Repository has it.
type Verifier interface {
	Verify(ctx context.Context, repo Repository, manifest ocispec.Descriptor, keys map[string][]byte) error
}

// VerifierFunc is a function that is a Verifier.
type VerifierFunc func(ctx context.Context, repo Repository, manifest ocispec.Descriptor, keys map[string][]byte) error

// Verify calls f.
func (f VerifierFunc) Verify(ctx context.Context, repo Repository, manifest ocispec.Descriptor, keys map[string][]byte) error {
	return f(ctx, repo, manifest, keys)
}

// Fetcher gets trees from registries. References are oci://host/repository with
// :tag, @sha256:<hex>, both, or ?semver=<range>; nothing means the tag latest.
type Fetcher struct {
	// Open connects to host/repository, with the entries of a Secret, which are nil where the
	// reference names no Secret. Required.
	Open func(ctx context.Context, repository string, secret map[string][]byte) (Repository, error)
	// Secrets has the Secrets that references name; nil has no Secrets.
	Secrets source.Secrets
	// Verifier checks signatures of cosign; nil refuses references that ask for a signature.
	Verifier Verifier
	// Limits bound each tree, and what is transferred for it.
	Limits source.Limits
	// Explain makes an error for people of one of a Repository, with the reference
	// and a sentinel of package source. Nil puts the reference before it.
	Explain func(err error, reference string) error
}

var _ source.Resolver = Fetcher{}

// Resolve returns the digest that a reference leads to. It asks the registry once for a tag,
// for the list of tags too for a range, and not at all for a digest.
func (f Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	r, err := read(ref.Ref)
	if err != nil {
		return source.Resolved{}, err
	}
	if r.digest != "" {
		return source.Resolved{Ref: ref, Revision: revision(r.tag, r.digest), Immutable: true}, nil
	}

	// A range is a tag first, and the tag is a digest then.
	repo, err := f.open(ctx, r, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	r, err = f.choose(ctx, repo, r)
	if err != nil {
		return source.Resolved{}, err
	}
	desc, err := repo.Resolve(ctx, r.tag)
	if err != nil {
		return source.Resolved{}, f.explain(err, r)
	}
	digest := desc.Digest.String()
	if !digests.Is(digest) {
		return source.Resolved{}, fault(source.ErrDigest, r, "the registry says that the digest is %q: it is not sha256", digest)
	}

	ref.Ref = r.pinned(digest)
	return source.Resolved{Ref: ref, Revision: revision(r.tag, digest)}, nil
}

// Check asks the registry whether a reference may be had with its Secret, by one request for
// the head of the manifest. A cache calls it: it has the tree already, and must not return it
// to a tenant that has no access.
func (f Fetcher) Check(ctx context.Context, ref source.Ref) error {
	r, err := read(ref.Ref)
	if err != nil {
		return err
	}
	repo, err := f.open(ctx, r, ref)
	if err != nil {
		return err
	}
	r, err = f.choose(ctx, repo, r)
	if err != nil {
		return err
	}
	_, err = repo.Resolve(ctx, cmp.Or(r.digest, r.tag))
	if err != nil {
		return f.explain(err, r)
	}
	return nil
}

// Fetch gets the tree of a reference. Its package is in the folder ref.Path; see
// [tarball.Narrow] for what else the tree holds.
//
// Errors are source.ErrReference, ErrNotFound, ErrUnauthorized, ErrUnavailable,
// ErrDigest, ErrSignature, ErrLimit, ErrPath, ErrNotRegular, and
// tarball.ErrFormat.
func (f Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	r, err := read(ref.Ref)
	if err != nil {
		return source.Tree{}, err
	}
	repo, err := f.open(ctx, r, ref)
	if err != nil {
		return source.Tree{}, err
	}
	r, err = f.choose(ctx, repo, r)
	if err != nil {
		return source.Tree{}, err
	}

	// The manifest is signed, so the signature is checked before anything of the content is read.
	desc, manifest, err := f.readManifest(ctx, repo, r)
	if err != nil {
		return source.Tree{}, err
	}
	if err := f.verify(ctx, repo, r, desc, ref.Verify); err != nil {
		return source.Tree{}, err
	}

	// The layers become a tree within the limits.
	layers, err := selectLayers(manifest, f.Limits.WithDefaults())
	if err != nil {
		return source.Tree{}, about(r, err)
	}
	b, err := f.unpack(ctx, repo, r, layers)
	if err != nil {
		return source.Tree{}, err
	}

	// The tree says what it was made of, so that a lock can pin it.
	digest := desc.Digest.String()
	tree, err := b.Tree(r.String(), revision(r.tag, digest))
	if err != nil {
		return source.Tree{}, about(r, err)
	}
	tree.Pinned, tree.Version = r.pinned(digest), manifest.Annotations[ocispec.AnnotationVersion]
	if layers.strip {
		tree.Version = strings.ReplaceAll(r.tag, "_", "+") // Tags of OCI have no plus.
	}
	if tree.Version == "" && manifest.Config.MediaType == configTimoni {
		// Where Timoni wrote it before 0.14.
		tree.Version = manifest.Annotations[ocispec.AnnotationRevision]
	}

	// The package needs only a part of the tree.
	if layers.strip && ref.Path == "" {
		tree.Dir = "." // Templates may read hidden files.
		return tree, nil
	}
	tree, err = tarball.Narrow(ctx, tree, ref.Path, f.Limits)
	if err != nil {
		return source.Tree{}, about(r, err)
	}
	return tree, nil
}

// open connects to the repository of a reference.
func (f Fetcher) open(ctx context.Context, r reference, ref source.Ref) (Repository, error) {
	var secret map[string][]byte
	if ref.Secret != "" {
		var err error
		secret, err = f.readSecret(ctx, r, ref.Secret)
		if err != nil {
			return nil, err
		}
	}
	repo, err := f.Open(ctx, r.repository, secret)
	if err != nil {
		return nil, f.explain(err, r)
	}
	return repo, nil
}

// readSecret returns the Secret of a name. It is never nil where there is no error.
func (f Fetcher) readSecret(ctx context.Context, r reference, name string) (map[string][]byte, error) {
	if f.Secrets == nil {
		return nil, fault(source.ErrNotFound, r, "there are no Secrets here to take %q from", name)
	}
	secret, err := f.Secrets.Secret(ctx, name)
	if err != nil {
		return nil, about(r, err)
	}
	if secret == nil {
		secret = map[string][]byte{}
	}
	return secret, nil
}

// verify checks the signature that a reference requires.
func (f Fetcher) verify(ctx context.Context, repo Repository, r reference, desc ocispec.Descriptor, want source.Verify) error {
	switch {
	case want.Provider == "":
		return nil
	case want.Provider != cosign:
		return fault(source.ErrReference, r, "artifacts are verified with %q, not with %q", cosign, want.Provider)
	case f.Verifier == nil:
		return fault(source.ErrSignature, r, "a signature is asked for, and there is nothing here to verify it with")
	}
	secret, err := f.readSecret(ctx, r, want.Secret)
	if err != nil {
		return err
	}
	keys := publicKeys(secret)
	if len(keys) == 0 {
		return fault(source.ErrSignature, r, "the secret %q has no entry *.pub with a public key to verify with", want.Secret)
	}
	if err := f.Verifier.Verify(ctx, repo, desc, keys); err != nil {
		return asSignatureError(f.explain(err, r))
	}
	return nil
}
