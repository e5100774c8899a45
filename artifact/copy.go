// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

// CopyOptions say what to copy. The zero value copies the artifact, with its
// barrier layers.
type CopyOptions struct {
	// Tags are those at the destination; the one of the reference where there are
	// none and it is a tag.
	Tags []string
	// Referrers copies what is attached too: signatures, also those of cosign v2,
	// attestations, and what is attached to them.
	Referrers bool
	// Check looks at a destination that has the artifact under the first tag
	// already. Without it such a destination is taken for complete, which is true
	// for what Copy wrote, because tags are last; what was attached after that is
	// not noticed then, nor what the destination has lost.
	Check bool
	// MountFrom is the repository of the source, where the destination is another
	// one of the same registry: a hint by which blobs need not be sent.
	MountFrom string
	// At is the time for the retention tags, see [PushOptions]. Where a registry has
	// no referrers API, it tells copies that run at once apart: a time of whole
	// seconds, or none, costs a copy with Referrers about two seconds of waiting
	// there.
	At time.Time
	// Progress is called with the bytes of each blob that was copied; from several
	// goroutines. It may be nil.
	Progress func(bytes int64)
}

// Copied is what a copy did.
type Copied struct {
	Digest string `json:"digest"`
	// Changed says that something was written.
	Changed bool `json:"changed"`
	// Checked says that what is attached was looked for at both sides: without
	// CopyOptions.Check, only where the tag did not lead to the artifact yet.
	Checked bool `json:"checked"`
	// Layers are the barrier layers that belong to it.
	Layers []LayerRef `json:"layers,omitempty"`
	// Referrers are the digests of the referrers that were written, sorted.
	Referrers []string `json:"referrers,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	// Bytes is how much content was written, manifests included.
	Bytes int64 `json:"bytes"`
}

// Copy copies an artifact, the barrier layers that it names and, if asked,
// everything that is attached to them, from a store to another. Digests stay as
// they are, so signatures do too. Tags at the destination move last.
//
// Where the first tag at the destination leads to the artifact already, it asks
// two requests: what the reference leads to on both sides. What was attached since
// is not copied then. With Check it asks for the lists of both sides too, for a
// signature of cosign v2, and whether the destination still has the content of the
// whole and of each barrier layer, and copies what is new and what is gone: six
// requests where there is nothing. Referrers of referrers are looked for where the
// referrer itself is new.
//
// Others may copy to the same destination, sign and attach there at the same
// time: see [Attach]. A copy that is the first to attach something, and that sees
// nobody else, does not wait for that.
func Copy(ctx context.Context, from, to Store, reference string, opts CopyOptions) (Copied, error) {
	if err := checkReference(reference); err != nil {
		return Copied{}, err
	}
	c := &copier{from: from, to: to, opts: opts, tags: opts.Tags, slots: make(chan struct{}, parallel), blobs: map[string]bool{}, manifests: map[string]bool{}}
	if len(c.tags) == 0 && isTag(reference) {
		c.tags = []string{reference}
	}
	if err := CheckTags(c.tags); err != nil {
		return Copied{}, err
	}
	c.tags = unique(c.tags)
	same, err := c.compare(ctx, reference)
	if err != nil {
		return Copied{}, err
	}
	look := !same || opts.Check
	if look {
		if c.layers, err = c.root.layerRefs(); err != nil {
			return Copied{}, about(c.root.desc.Digest.String(), err)
		}
		if err := c.run(ctx); err != nil {
			return Copied{}, about(reference, err)
		}
	}
	if err := c.tag(ctx, same); err != nil {
		return Copied{}, err
	}
	var attached []string
	for _, a := range c.attached {
		attached = append(attached, a.referrer.Digest.String())
	}
	slices.Sort(attached)
	return Copied{
		Digest: c.root.desc.Digest.String(), Changed: c.bytes > 0, Checked: look && opts.Referrers,
		Layers: c.layers, Referrers: attached, Tags: c.tags, Bytes: c.bytes,
	}, nil
}

// compare asks what the reference leads to on both sides, at the same time.
func (c *copier) compare(ctx context.Context, reference string) (same bool, _ error) {
	there := reference
	if len(c.tags) > 0 {
		there = c.tags[0]
	}
	var old ocispec.Descriptor
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		// The manifest as a whole is one request as well, and the only one where it
		// is to be copied.
		c.root, err = lookUp(inner, c.from, reference)
		return err
	})
	group.Go(func() (err error) {
		old, c.ask, err = steadyResolve(inner, c.to, there)
		return err
	})
	if err := group.Wait(); err != nil {
		return false, err
	}
	c.present = c.ask && old.Digest == c.root.desc.Digest
	return c.present, nil
}

// tag has the tags lead to the root. Those after the first are asked for where
// nothing else was to be done.
func (c *copier) tag(ctx context.Context, same bool) error {
	for i, tag := range c.tags {
		if same {
			if i == 0 {
				continue
			}
			d, exists, err := steadyResolve(ctx, c.to, tag)
			if err != nil {
				return err
			}
			if exists && d.Digest == c.root.desc.Digest {
				continue
			}
		}
		err := persist(ctx, c.root.desc, func(int) error {
			return c.to.PushReference(ctx, c.root.desc, bytes.NewReader(c.root.data), tag)
		})
		if err != nil {
			return about(tag, err)
		}
		c.count(c.root.desc.Size)
	}
	return nil
}

// simpleTag is the tag under which cosign v2 keeps the signatures of a manifest.
func simpleTag(d ocispec.Descriptor) string {
	return strings.Replace(d.Digest.String(), "sha256:", "sha256-", 1) + ".sig"
}
