// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// simpleTag returns the tag under which cosign v2 keeps the signatures of a manifest.
func simpleTag(d ocispec.Descriptor) string {
	return strings.Replace(d.Digest.String(), "sha256:", "sha256-", 1) + ".sig"
}

// copySimple copies the signatures of cosign v2 of a manifest, which are the layers of one
// image under a tag. If one side has all signatures of the other, its image stays. An image
// with layers that the source lacks is never replaced: the signatures of the destination
// would be lost.
func (c *copier) copySimple(ctx context.Context, subject ocispec.Descriptor) error {
	tag := simpleTag(subject)
	d, exists, err := resolve(ctx, c.from, tag)
	if err != nil || !exists {
		return ofSource(err)
	}

	// The same image on both sides needs no copy, except for a check of its content.
	old, oldExists, err := resolve(ctx, c.to, tag)
	if err != nil {
		return err
	}
	there := oldExists && old.Digest == d.Digest
	if there && !c.opts.Check {
		return nil
	}

	// Images that differ are compared by their layers, in both directions.
	ours, err := readFound(ctx, c.from, d)
	if err != nil {
		return ofSource(err)
	}
	added := ours.Layers
	if oldExists && !there {
		theirs, err := readFound(ctx, c.to, old)
		if err != nil {
			return manifest.About(tag, err)
		}
		added = missingLayers(theirs, ours)
		if len(added) == 0 {
			return nil
		}
		if lacking := missingLayers(ours, theirs); len(lacking) > 0 {
			return manifest.Refuse(ErrShape, "%.200q: the destination has %d layers (%s) that the source lacks, "+
				"which may be signatures of cosign v2: add them to the source, remove that tag, or copy without referrers (artifact copy --bare)", tag, len(lacking), theirs.desc.Digest)
		}
	}

	// The content goes before the image, and the image by its tag.
	for _, part := range ours.Parts() {
		if err := c.copyContent(ctx, manifest.Bare(part)); err != nil {
			return err
		}
	}
	if there {
		there, err = c.to.Exists(ctx, ours.desc)
		if there || err != nil {
			return err
		}
	}
	if err := c.to.PushReference(ctx, ours.desc, bytes.NewReader(ours.data), tag); err != nil {
		return manifest.About(tag, err)
	}

	// The result counts signatures, and no other layers of the image.
	c.count(ours.desc.Size)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range added {
		if l.MediaType == typeSimple {
			c.simples++
		}
	}
	return nil
}

// missingLayers returns the layers of from that m does not have. The same text may be signed
// by several keys, so layers are compared by their text and their signature.
func missingLayers(m, image found) []ocispec.Descriptor {
	return slices.DeleteFunc(slices.Clone(image.Layers), func(l ocispec.Descriptor) bool {
		return slices.ContainsFunc(m.Layers, func(o ocispec.Descriptor) bool {
			return o.Digest == l.Digest && o.Annotations[annotationSimple] == l.Annotations[annotationSimple]
		})
	})
}
