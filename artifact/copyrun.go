// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

const (
	// maxDepth is how deep referrers of referrers are followed.
	maxDepth = 4
	// maxManifests is how many manifests one copy may have.
	maxManifests = 4000
)

// copier is one copy. Its fields below mu are written by several goroutines.
type copier struct {
	from, to Store
	opts     CopyOptions
	tags     []string
	root     found
	layers   []LayerRef
	// ask says that the destination has something under the tag already, so that
	// it may have blobs too.
	ask bool
	// present says that the destination has the root.
	present bool
	// slots bound how many requests are under way.
	slots chan struct{}

	mu        sync.Mutex
	blobs     map[string]bool // those that are on their way
	manifests map[string]bool
	writes    [maxDepth + 2][]write // by depth: a manifest is written after what it is about
	attached  []attachment
	// unlisted writes referrers and leaves their lists to the copy, nil where the
	// store lists them itself.
	unlisted Writer
	// early are the referrers that were written while the tags were listed.
	early map[string]bool
	// began is when the first subject was about to be written.
	began time.Time
	// listsThere says that the destination had a list of referrers of a whole or a
	// layer when it was looked at first.
	listsThere bool
	damaged    []ocispec.Descriptor // blobs that the destination lost
	simples    int                  // signatures of cosign v2 that the destination had not
	bytes      int64
}

// write is a manifest that is written when all blobs are there.
type write struct {
	desc ocispec.Descriptor
	data []byte
	tag  string // "" where it is written by its digest
	// subject is what a referrer is about, nil of what is none.
	subject *ocispec.Descriptor
}

// run copies all but the tags: blobs first, at once, then manifests.
func (c *copier) run(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	for _, l := range c.layers {
		group.Go(func() error { return c.barrier(inner, group, l) })
	}
	group.Go(func() error {
		return c.subject(inner, group, c.root, retentionTag(c.root.desc.Digest.String(), c.opts.At, false), c.present)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.mended(ctx); err != nil {
		return err
	}
	return c.manifestsAndLists(ctx)
}

// manifestsAndLists writes the manifests of all levels, and settles the lists of
// referrers that change by that.
func (c *copier) manifestsAndLists(ctx context.Context) error {
	c.began = time.Now()
	if err := c.levels(ctx, c.writes[:1]); err != nil {
		return err
	}
	alone, err := c.alone(ctx)
	if err != nil {
		return err
	}
	if err := c.levels(ctx, c.writes[1:]); err != nil {
		return err
	}
	if alone {
		if alone, err = c.unchanged(ctx); err != nil {
			return err
		}
	}
	if alone && !c.late(done) {
		return nil
	}
	if len(c.attached) > 0 && keepsLists(c.to) {
		c.waits()
	}
	return settleAll(ctx, c.attached)
}

// levels writes manifests, the ones of a level at once.
func (c *copier) levels(ctx context.Context, levels [][]write) error {
	for _, level := range levels {
		// The order does not depend on which answer came first.
		slices.SortFunc(level, func(a, b write) int { return bytes.Compare([]byte(a.desc.Digest+"\n"), []byte(b.desc.Digest+"\n")) })
		group, inner := errgroup.WithContext(ctx)
		for _, w := range level {
			group.Go(func() error { return c.within(inner, func() error { return c.write(inner, w) }) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if err := c.firstLists(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// within runs a request in one of the slots.
func (c *copier) within(ctx context.Context, request func() error) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.slots }()
	return request()
}

// barrier copies a barrier layer. One that is there is copied no more.
func (c *copier) barrier(ctx context.Context, group *errgroup.Group, l LayerRef) error {
	var (
		f      found
		exists bool
	)
	if c.ask {
		if err := c.within(ctx, func() (err error) { _, exists, err = steadyResolve(ctx, c.to, l.Digest); return err }); err != nil {
			return err
		}
	}
	if err := c.within(ctx, func() (err error) { f, err = lookUp(ctx, c.from, l.Digest); return ofSource(err) }); err != nil {
		return err
	}
	return c.subject(ctx, group, f, retentionTag(l.Digest, c.opts.At, true), exists)
}

// subject copies a whole or a layer, and what is attached to it.
func (c *copier) subject(ctx context.Context, group *errgroup.Group, f found, tag string, present bool) error {
	if present {
		var err error
		if present, err = c.whole(ctx, f); err != nil {
			return err
		}
	}
	if !present {
		if err := c.content(ctx, group, f, write{desc: f.desc, data: f.data, tag: tag}, 0); err != nil {
			return err
		}
	}
	if !c.opts.Referrers {
		return nil
	}
	group.Go(func() error { return c.simple(ctx, group, f.desc) })
	return c.referrers(ctx, group, f.desc, present, 1)
}

// content copies the blobs of a manifest, or the manifests of an index, and
// notes that the manifest is to be written.
func (c *copier) content(ctx context.Context, group *errgroup.Group, f found, w write, depth int) error {
	if !c.first(c.manifests, f.desc, w.tag) {
		return nil
	}
	for _, child := range f.Manifests {
		m, err := c.read(ctx, child)
		if err != nil {
			return err
		}
		if isIndex(m.desc.MediaType) {
			return ofSource(refuse(ErrShape, "%s is an index of indexes, which is not copied: copy what is in it", f.desc.Digest))
		}
		if err := c.content(ctx, group, m, write{desc: m.desc, data: m.data}, depth); err != nil {
			return err
		}
	}
	blobs := slices.Clone(f.Layers)
	if !isIndex(f.desc.MediaType) {
		blobs = append(blobs, f.Config)
	}
	for _, b := range blobs {
		if c.first(c.blobs, b, "") {
			group.Go(func() error { return c.within(ctx, func() error { return c.blob(ctx, b) }) })
		}
	}
	// An index comes after its manifests.
	if len(f.Manifests) > 0 {
		depth++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.manifests) > maxManifests {
		return ofSource(refuse(ErrLimit, "more than %d manifests belong to it", maxManifests))
	}
	c.writes[depth] = append(c.writes[depth], w)
	return nil
}

// first says whether a digest is seen for the first time.
func (c *copier) first(seen map[string]bool, d ocispec.Descriptor, tag string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := d.Digest.String() + " " + tag
	if seen[key] {
		return false
	}
	seen[key] = true
	return true
}

func (c *copier) read(ctx context.Context, d ocispec.Descriptor) (found, error) {
	f := found{desc: ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}}
	err := c.within(ctx, func() (err error) {
		f.manifest, f.data, err = readManifest(ctx, c.from, f.desc)
		return ofSource(about(d.Digest.String(), err))
	})
	return f, err
}

// referrers copies the referrers that the destination does not list, or lost.
func (c *copier) referrers(ctx context.Context, group *errgroup.Group, subject ocispec.Descriptor, present bool, depth int) error {
	var here, there []ocispec.Descriptor
	lists, inner := errgroup.WithContext(ctx)
	lists.Go(func() error {
		return c.within(inner, func() (err error) { here, err = steadyReferrers(inner, c.from, subject); return ofSource(err) })
	})
	// A destination without the subject is asked too: some registries say that they
	// know referrers when one is written, and list none. And an earlier copy that
	// was cut short may have written some.
	if present || depth == 1 {
		lists.Go(func() error {
			return c.within(inner, func() (err error) { there, err = steadyReferrers(inner, c.to, subject); return err })
		})
	}
	if err := lists.Wait(); err != nil {
		return err
	}
	if len(there) > 0 {
		c.mu.Lock()
		c.listsThere = true
		c.mu.Unlock()
	}
	if len(here) > 0 && depth > maxDepth {
		return ofSource(refuse(ErrLimit, "%s: referrers of referrers, more than %d deep", subject.Digest, maxDepth))
	}
	for _, r := range here {
		group.Go(func() error {
			if there, err := c.listed(ctx, there, r); there || err != nil {
				return err
			}
			f, err := c.read(ctx, r)
			if err != nil {
				return err
			}
			if f.Subject == nil || f.Subject.Digest != subject.Digest {
				return ofSource(refuse(ErrShape, "%s is no referrer of %s, though the store lists it as one", r.Digest, subject.Digest))
			}
			if err := c.content(ctx, group, f, write{desc: f.desc, data: f.data, subject: &subject}, depth); err != nil {
				return err
			}
			return c.referrers(ctx, group, f.desc, false, depth+1)
		})
	}
	return nil
}

// write writes a manifest.
func (c *copier) write(ctx context.Context, w write) error {
	err := persist(ctx, w.desc, func(int) error {
		if w.tag != "" {
			return c.to.PushReference(ctx, w.desc, bytes.NewReader(w.data), w.tag)
		}
		if c.unlisted != nil {
			if c.early[w.desc.Digest.String()+" "] {
				return nil
			}
			return c.unlisted.Push(ctx, w.desc, bytes.NewReader(w.data))
		}
		return pushReferrer(ctx, c.to, w.desc, w.data)
	})
	if err != nil {
		return about(w.desc.Digest.String(), err)
	}
	c.count(w.desc.Size)
	if w.subject == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attached = append(c.attached, attachment{to: c.to, subject: *w.subject, referrer: w.desc, data: w.data})
	return nil
}

func (c *copier) count(bytes int64) {
	if c.opts.Progress != nil {
		c.opts.Progress(bytes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes
}
