// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Reader reads an artifact and its signatures.
type Reader interface {
	// Resolve is the descriptor of the manifest at a tag or a digest, ErrNotFound if nothing is
	// there.
	Resolve(ctx context.Context, reference string) (ocispec.Descriptor, error)
	// Fetch is the content of a manifest or a blob.
	Fetch(ctx context.Context, target ocispec.Descriptor) (io.ReadCloser, error)
	// Referrers calls fn with the manifests whose subject is desc, of an artifact
	// type where that is not "".
	Referrers(ctx context.Context, desc ocispec.Descriptor, artifactType string, fn func([]ocispec.Descriptor) error) error
}

// Writer takes manifests and blobs.
type Writer interface {
	// Exists reports whether a manifest or a blob is there.
	Exists(ctx context.Context, target ocispec.Descriptor) (bool, error)
	// Push writes a manifest or a blob.
	Push(ctx context.Context, expected ocispec.Descriptor, content io.Reader) error
	// PushReference writes a manifest and puts it under a tag.
	PushReference(ctx context.Context, expected ocispec.Descriptor, content io.Reader, reference string) error
}

// Store is a repository of a registry, or an image layout: layout.Layout and *remote.Repository of
// oras-go implement it. A repository is told to leave old referrers indexes alone
// (SkipReferrersGC), because registries refuse to delete them.
type Store interface {
	Reader
	Writer
	// FetchReference is Resolve and Fetch in one call.
	FetchReference(ctx context.Context, reference string) (ocispec.Descriptor, io.ReadCloser, error)
	// Tags calls fn with the tags after last.
	Tags(ctx context.Context, last string, fn func(tags []string) error) error
	// Delete removes a manifest and its tags.
	Delete(ctx context.Context, target ocispec.Descriptor) error
}
