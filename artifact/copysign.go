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

// simpleTag is the tag under which cosign v2 keeps the signatures of a manifest.
func simpleTag(d ocispec.Descriptor) string {
	return strings.Replace(d.Digest.String(), "sha256:", "sha256-", 1) + ".sig"
}

// simple copies the signatures of cosign v2 of a manifest, which are the layers of one
// image under a tag. If one side has all that the other one has, its image is the one
// that stays. An image with layers that the source lacks is never replaced: that would
// lose the signatures of the destination.
func (c *copier) simple(ctx context.Context, subject ocispec.Descriptor) error {
	tag := simpleTag(subject)
	d, exists, err := resolve(ctx, c.from, tag)
	if err != nil || !exists {
		return ofSource(err)
	}
	old, oldExists, err := resolve(ctx, c.to, tag)
	if err != nil {
		return err
	}
	there := oldExists && old.Digest == d.Digest
	if there && !c.opts.Check {
		return nil
	}
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
		if added = lackedBy(theirs, ours); len(added) == 0 {
			return nil
		}
		if lacking := lackedBy(ours, theirs); len(lacking) > 0 {
			return manifest.Refuse(ErrShape, "%.200q: the destination has %d layers (%s) that the source lacks, which may be signatures of cosign v2: "+
				"add them to the source, remove that tag, or copy without referrers (artifact copy --bare)", tag, len(lacking), theirs.desc.Digest)
		}
	}
	for _, part := range ours.Parts() {
		if err := c.content(ctx, manifest.Bare(part)); err != nil {
			return err
		}
	}
	if there {
		if there, err = c.to.Exists(ctx, ours.desc); there || err != nil {
			return err
		}
	}
	if err := c.to.PushReference(ctx, ours.desc, bytes.NewReader(ours.data), tag); err != nil {
		return manifest.About(tag, err)
	}
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

// lackedBy are the layers of from that m has not. The same text may be signed
// by many, so a signature is its text and what signs it.
func lackedBy(m, from found) []ocispec.Descriptor {
	return slices.DeleteFunc(slices.Clone(from.Layers), func(l ocispec.Descriptor) bool {
		return slices.ContainsFunc(m.Layers, func(o ocispec.Descriptor) bool {
			return o.Digest == l.Digest && o.Annotations[annotationSimple] == l.Annotations[annotationSimple]
		})
	})
}
