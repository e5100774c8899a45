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
	// Quick takes a destination that has the artifact under the first tag for
	// complete, which is true for what Copy wrote: tags are last. What was attached
	// after that is not noticed then, nor what the destination has lost.
	Quick bool
	// MountFrom is the repository of the source, where the destination is another
	// one of the same registry: a hint by which blobs need not be sent.
	MountFrom string
	// At is the time for the retention tags, see [PushOptions].
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
// Where nothing is to be done, it asks two requests: what the reference leads to on
// both sides. With Referrers it asks for the lists of both sides too, for a
// signature of cosign v2, and whether the destination still has the content of the
// whole and of each barrier layer, and copies again what is gone: six requests,
// unless it is Quick. Referrers of referrers are looked for where the referrer
// itself is new.
//
// Others may copy to the same destination, sign and attach there at the same
// time: see [Attach].
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
	if !same || opts.Referrers && !opts.Quick {
		if err := c.load(ctx); err != nil {
			return Copied{}, err
		}
		if err := c.run(ctx); err != nil {
			return Copied{}, about(reference, err)
		}
	}
	if err := c.tag(ctx, same); err != nil {
		return Copied{}, err
	}
	slices.Sort(c.attached)
	return Copied{
		Digest: c.root.desc.Digest.String(), Changed: c.bytes > 0, Layers: c.layers, Referrers: c.attached, Tags: c.tags, Bytes: c.bytes,
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
		if c.opts.Referrers && !c.opts.Quick {
			c.root, err = lookUp(inner, c.from, reference)
			return err
		}
		var exists bool
		if c.root.desc, exists, err = resolve(inner, c.from, reference); err == nil && !exists {
			err = refuse(ErrNotFound, "%.200q: nothing is there: correct the tag or the digest", reference)
		}
		return err
	})
	group.Go(func() (err error) {
		old, c.ask, err = resolve(inner, c.to, there)
		return err
	})
	if err := group.Wait(); err != nil {
		return false, err
	}
	c.present = c.ask && old.Digest == c.root.desc.Digest
	return c.present, nil
}

// load reads the manifest of the root and what barrier layers it has.
func (c *copier) load(ctx context.Context) error {
	if c.root.data == nil {
		m, data, err := readManifest(ctx, c.from, c.root.desc)
		if err != nil {
			return about(c.root.desc.Digest.String(), err)
		}
		c.root.manifest, c.root.data = m, data
	}
	var err error
	c.layers, err = c.root.layerRefs()
	return about(c.root.desc.Digest.String(), err)
}

// tag has the tags lead to the root. Those after the first are asked for where
// nothing else was to be done.
func (c *copier) tag(ctx context.Context, same bool) error {
	for i, tag := range c.tags {
		if same {
			if i == 0 {
				continue
			}
			d, exists, err := resolve(ctx, c.to, tag)
			if err != nil {
				return err
			}
			if exists && d.Digest == c.root.desc.Digest {
				continue
			}
			if err := c.load(ctx); err != nil {
				return err
			}
		}
		if err := c.to.PushReference(ctx, c.root.desc, bytes.NewReader(c.root.data), tag); err != nil {
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
