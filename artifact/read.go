// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
)

// found is a manifest at a reference.
type found struct {
	desc ocispec.Descriptor
	data []byte
	manifest.Manifest
}

// readFound reads and parses a manifest.
func readFound(ctx context.Context, src Reader, d ocispec.Descriptor) (found, error) {
	f := found{desc: manifest.Bare(d)}
	var err error
	f.Manifest, f.data, err = manifest.Read(ctx, src, f.desc)
	return f, manifest.About(d.Digest.String(), err)
}

// lookUp reads and parses the manifest at a tag or a digest, in one request.
func lookUp(ctx context.Context, src Store, reference string) (found, error) {
	d, rc, err := src.FetchReference(ctx, reference)
	if err != nil {
		return found{}, manifest.About(reference, err)
	}
	defer rc.Close() //nolint:errcheck // it was read only
	if digests.Is(reference) && d.Digest.String() != reference {
		return found{}, manifest.Refuse(ErrDigest, "%q: the store returned %s instead", reference, d.Digest)
	}
	if d.Size > manifest.MaxSize || d.Size < 0 {
		return found{}, manifest.OverLimit("%.200q: its manifest has %d bytes, and at most %d are read", reference, d.Size, manifest.MaxSize)
	}
	if !digests.Is(d.Digest.String()) {
		return found{}, manifest.Refuse(ErrDigest, "%.200q: its digest %.100q is not sha256: and 64 hexadecimal digits", reference, d.Digest)
	}
	d = ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	data, err := manifest.Drain(manifest.Verify(rc, d), d.Size)
	if err != nil {
		return found{}, manifest.About(reference, err)
	}
	m, err := manifest.Parse(d.MediaType, data)
	return found{desc: d, data: data, Manifest: m}, manifest.About(reference, err)
}

// resolve returns the descriptor at a reference; false if there is nothing.
func resolve(ctx context.Context, src Reader, reference string) (ocispec.Descriptor, bool, error) {
	d, err := src.Resolve(ctx, reference)
	switch {
	case manifest.Missing(err):
		return ocispec.Descriptor{}, false, nil
	case err != nil:
		return ocispec.Descriptor{}, false, manifest.About(reference, err)
	case digests.Is(reference) && d.Digest.String() != reference:
		return ocispec.Descriptor{}, false, manifest.Refuse(ErrDigest, "%q: the store returned %s instead", reference, d.Digest)
	}
	return d, true, nil
}
