// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
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
	// not noticed then, nor what the destination has lost. With it, each referrer
	// that the destination lists is looked at too, in two requests: whether its
	// manifest and its content are there.
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
	// Waiting is called before the copy waits, for a second or two, for what others
	// write to the same lists of referrers. It may be nil.
	Waiting func()
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
	// Simple is how many signatures of cosign v2 the destination has that it had not.
	Simple int      `json:"cosignV2,omitempty"`
	Tags   []string `json:"tags,omitempty"`
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
// whole, of each barrier layer and of what is attached to them, and copies what is
// new and what is gone: six requests, and two for each referrer, where there is
// nothing. Referrers of referrers are looked for where the referrer itself is new
// or gone.
//
// Signatures of cosign v2 are one image under a tag, so those of both sides become
// one image, see copysign.go.
//
// An error is a *[SourceError] where it is of the source.
//
// Others may copy to the same destination, sign and attach there at the same
// time: see [Attach]. A copy that is the first to attach something, and that sees
// nobody else, does not wait for that.
func Copy(ctx context.Context, from, to Store, reference string, opts CopyOptions) (Copied, error) {
	if err := checkReference(reference); err != nil {
		return Copied{}, err
	}
	c := &copier{from: from, to: to, opts: opts, tags: opts.Tags, slots: make(chan struct{}, parallel), blobs: map[string]bool{}, manifests: map[string]bool{}, early: map[string]bool{}}
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
			return Copied{}, ofSource(about(reference, err))
		}
		if err := c.run(ctx); err != nil {
			return Copied{}, c.about(reference, err)
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
		Layers: c.layers, Referrers: attached, Simple: c.simples, Tags: c.tags, Bytes: c.bytes,
	}, nil
}

// about puts before an error the reference at the side that it is of.
func (c *copier) about(reference string, err error) error {
	var of *SourceError
	if !errors.As(err, &of) && len(c.tags) > 0 {
		reference = c.tags[0]
	}
	return about(reference, err)
}

// compare asks what the reference leads to on both sides, at the same time. Where
// both fail it is always the source that is said.
func (c *copier) compare(ctx context.Context, reference string) (same bool, _ error) {
	there := reference
	if len(c.tags) > 0 {
		there = c.tags[0]
	}
	var old ocispec.Descriptor
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var both [2]error
	var group sync.WaitGroup
	group.Go(func() {
		// The manifest as a whole is one request as well, and the only one where it
		// is to be copied.
		if c.root, both[0] = lookUp(ctx, c.from, reference); both[0] != nil {
			cancel() // what the destination answers does not matter any more
		}
	})
	group.Go(func() { old, c.ask, both[1] = steadyResolve(inner, c.to, there) })
	group.Wait()
	if err := cmp.Or(ofSource(both[0]), both[1]); err != nil {
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
