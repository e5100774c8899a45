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

// holdsBlob reports whether a store has a blob undamaged, as far as that costs little: a
// registry is asked for the size, and a layout reads its content.
func holdsBlob(ctx context.Context, store Writer, d ocispec.Descriptor) (bool, error) {
	remote, ok := store.(blobs)
	if !ok {
		return store.Exists(ctx, d)
	}
	at, err := remote.Blobs().Resolve(ctx, d.Digest.String())
	if manifest.Missing(err) {
		return false, nil
	}
	return err == nil && at.Size == d.Size, err
}

// holdsContent reports whether a store has the content of a manifest. A registry is not asked
// for the config, which no engine reads.
func holdsContent(ctx context.Context, store Store, m manifest.Manifest) (bool, error) {
	parts := m.Layers
	if _, remote := store.(blobs); !remote {
		parts = m.Parts()
	}
	for _, part := range parts {
		if held, err := holdsBlob(ctx, store, part); !held || err != nil {
			return false, err
		}
	}
	return true, nil
}

// holds reports whether the content of the artifact at a tag is there. In a layout everything
// is read; in a registry only the content of the complete artifact is asked for, because each
// barrier layer would be one more request.
func (p *pusher) holds(ctx context.Context, located current) (bool, error) {
	held, err := holdsContent(ctx, p.to, located.Manifest)
	if _, remote := p.to.(blobs); remote || !held || err != nil {
		return held, err
	}
	for _, r := range located.layers {
		if _, held, err := p.findLayer(ctx, r); !held || err != nil {
			return false, err
		}
	}
	return true, nil
}

// findLayer returns the manifest of a barrier layer. It reports whether the layer can be kept
// because its content is there too.
func (p *pusher) findLayer(ctx context.Context, r LayerRef) (ocispec.Descriptor, bool, error) {
	located, err := lookUp(ctx, p.to, r.Digest)
	switch {
	case manifest.Missing(err), errors.Is(err, ErrShape), errors.Is(err, ErrDigest), errors.Is(err, ErrLimit):
		return located.desc, false, nil // it is pushed again
	case err != nil:
		return located.desc, false, err
	}
	held, err := holdsContent(ctx, p.to, located.Manifest)
	return located.desc, held, err
}

// checkMended returns an error if content that was missing is still missing after it was
// sent: a registry may accept a blob, know its digest, and keep the damaged one that it has.
func checkMended(ctx context.Context, dst Writer, content ocispec.Descriptor) error {
	held, err := holdsBlob(ctx, dst, content)
	if err != nil || held {
		return err
	}
	return errKept(content)
}
