// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// blobs is a registry, which reports the size of a blob in a request of its own.
type blobs interface {
	Blobs() registry.BlobStore
}

// holdsBlob reports whether a store has a blob, undamaged as far as that costs little: a
// registry is asked for the size, and a layout reads its content.
func holdsBlob(ctx context.Context, in Writer, d ocispec.Descriptor) (bool, error) {
	remote, ok := in.(blobs)
	if !ok {
		return in.Exists(ctx, d)
	}
	at, err := remote.Blobs().Resolve(ctx, d.Digest.String())
	if manifest.Missing(err) {
		return false, nil
	}
	return err == nil && at.Size == d.Size, err
}

// holdsContent reports whether a store has the content of a manifest. Of a registry the
// config is not asked for, which no engine reads.
func holdsContent(ctx context.Context, in Store, m manifest.Manifest) (bool, error) {
	parts := m.Layers
	if _, remote := in.(blobs); !remote {
		parts = m.Parts()
	}
	for _, part := range parts {
		if good, err := holdsBlob(ctx, in, part); !good || err != nil {
			return false, err
		}
	}
	return true, nil
}

// holds reports whether the content of what a tag leads to is there: in a layout all of
// it, in a registry that of the complete artifact, because each barrier layer would be a
// request more.
func (p *pusher) holds(ctx context.Context, at current) (bool, error) {
	good, err := holdsContent(ctx, p.to, at.Manifest)
	if _, remote := p.to.(blobs); remote || !good || err != nil {
		return good, err
	}
	for _, r := range at.layers {
		if _, good, err := p.layer(ctx, r); !good || err != nil {
			return false, err
		}
	}
	return true, nil
}

// layer is the manifest of a barrier layer, and whether the layer can be kept because
// its content is there too.
func (p *pusher) layer(ctx context.Context, r LayerRef) (ocispec.Descriptor, bool, error) {
	at, err := lookUp(ctx, p.to, r.Digest)
	switch {
	case manifest.Missing(err), errors.Is(err, ErrShape), errors.Is(err, ErrDigest), errors.Is(err, ErrLimit):
		return at.desc, false, nil // it is pushed again
	case err != nil:
		return at.desc, false, err
	}
	good, err := holdsContent(ctx, p.to, at.Manifest)
	return at.desc, good, err
}

// mended is an error if content that was missing is still not there after it was sent: a
// registry may accept a blob, know its digest, and keep the damaged one that it has.
func mended(ctx context.Context, to Writer, content ocispec.Descriptor) error {
	good, err := holdsBlob(ctx, to, content)
	if err != nil || good {
		return err
	}
	return errKept(content)
}
