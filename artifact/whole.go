// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
)

// blobs is a registry, which tells the size of a blob in a request of its own.
type blobs interface {
	Blobs() registry.BlobStore
}

// holdsBlob says whether a store has a blob as it should be. A layout is read,
// since that is local; a registry is asked for the size, in one request; of any
// other store it is known only that there is one.
func holdsBlob(ctx context.Context, in Writer, d ocispec.Descriptor) (bool, error) {
	switch in := in.(type) {
	case *Layout:
		return in.intact(ctx, d)
	case blobs:
		at, err := in.Blobs().Resolve(ctx, d.Digest.String())
		if missing(err) {
			return false, nil
		}
		return err == nil && at.Size == d.Size, err
	}
	return in.Exists(ctx, d)
}

// intact reads what is at a digest, and says whether it is there and right.
func (l *Layout) intact(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	rc, err := l.Fetch(ctx, d)
	if err == nil {
		_, err = io.Copy(io.Discard, rc)
		if closeErr := rc.Close(); err == nil {
			err = closeErr
		}
	}
	if missing(err) || errors.Is(err, ErrDigest) {
		return false, nil
	}
	return err == nil, err
}

// intactManifest says whether a manifest of a layout and all that it names is
// there and right.
func (l *Layout) intactManifest(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	m, _, err := readManifest(ctx, l, d)
	if missing(err) || errors.Is(err, ErrDigest) || errors.Is(err, ErrShape) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, part := range m.parts() {
		if good, err := l.intact(ctx, part); !good || err != nil {
			return false, err
		}
	}
	return true, nil
}

// holds says whether the content of what a tag leads to is there: all of it in
// a layout, and the content of the whole in a registry, where each barrier layer
// would be a request more.
func (p *pusher) holds(ctx context.Context, at current, content ocispec.Descriptor) (bool, error) {
	l, local := p.to.(*Layout)
	if !local {
		return holdsBlob(ctx, p.to, content)
	}
	if good, err := l.intactManifest(ctx, at.desc); !good || err != nil {
		return false, err
	}
	for _, r := range at.layers {
		if _, good, err := p.layer(ctx, r); !good || err != nil {
			return false, err
		}
	}
	return true, nil
}

// layer is the manifest of a barrier layer, and whether it can be kept: whether
// its content is there too.
func (p *pusher) layer(ctx context.Context, r LayerRef) (ocispec.Descriptor, bool, error) {
	at, err := lookUp(ctx, p.to, r.Digest)
	switch {
	case missing(err), errors.Is(err, ErrShape), errors.Is(err, ErrDigest), errors.Is(err, ErrLimit):
		return at.desc, false, nil // it is pushed again
	case err != nil:
		return at.desc, false, err
	}
	if l, local := p.to.(*Layout); local {
		good, err := l.intactManifest(ctx, at.desc)
		return at.desc, good, err
	}
	content, err := at.content()
	if err != nil {
		return at.desc, false, nil //nolint:nilerr // as above
	}
	good, err := holdsBlob(ctx, p.to, content)
	return at.desc, good, err
}

// mended wants the content that was missing to be there now: a registry may take
// a blob, know its digest, and keep the damaged one that it has.
func mended(ctx context.Context, to Writer, content ocispec.Descriptor) error {
	good, err := holdsBlob(ctx, to, content)
	if err != nil || good {
		return err
	}
	return errKept(content)
}
