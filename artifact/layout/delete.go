// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"context"
	"maps"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// Delete removes a manifest with its tags, and the blobs that no other manifest
// names. Its referrers stay.
func (l *Layout) Delete(ctx context.Context, target ocispec.Descriptor) error {
	return l.change(ctx, func(x *index) (func() error, error) {
		d, ok := x.find(target.Digest.String())
		if !ok {
			return nil, manifest.Refuse(manifest.ErrNotFound, "the layout has no %.100q", target.Digest)
		}

		// What other manifests of the index need stays.
		gone, err := l.collectReachable(ctx, []ocispec.Descriptor{d})
		if err != nil {
			return nil, err
		}
		x.Manifests = slices.DeleteFunc(x.Manifests, func(o ocispec.Descriptor) bool { return o.Digest == d.Digest })
		kept, err := l.collectReachable(ctx, x.Manifests)
		if err != nil {
			return nil, err
		}

		// The blobs go after the index is written, so that it never names a missing blob.
		return func() error {
			for _, digest := range slices.Sorted(maps.Keys(gone)) {
				if _, there := l.size(digest); !there || kept[digest] {
					continue
				}
				if err := l.remove(digest); err != nil {
					return err
				}
			}
			return nil
		}, nil
	})
}

// collectReachable returns the digests of manifests and of everything that they name, at any
// depth.
func (l *Layout) collectReachable(ctx context.Context, manifests []ocispec.Descriptor) (map[string]bool, error) {
	out := map[string]bool{}
	todo := slices.Clone(manifests)
	for len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if out[d.Digest.String()] {
			continue
		}
		out[d.Digest.String()] = true
		if !manifest.Is(d.MediaType) {
			continue
		}
		m, _, err := manifest.Read(ctx, l, d)
		if err != nil {
			return nil, err
		}
		todo = append(todo, m.Parts()...)
	}
	return out, nil
}
