// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

const (
	// maxManifests limits the manifests of one copy.
	maxManifests = 4000
	// concurrency limits the subjects that are copied at once, and the nodes of each subject.
	concurrency = 3
)

// CopyOptions configure Copy. The zero value copies the artifact with its barrier
// layers.
type CopyOptions struct {
	// Tags are the tags at the destination. Default: the reference, if it is a tag.
	Tags []string
	// Referrers copies what is attached too: signatures (of cosign v2 too), attestations, and what
	// is attached to them.
	Referrers bool
	// Check compares source and destination even if the first tag at the destination
	// already resolves to the artifact. Without it such a destination is taken for
	// complete, which holds for what Copy wrote, because tags move last; referrers that
	// were attached later, and content that the destination lost, are not noticed.
	Check bool
	// MountFrom is the repository of the source, if the destination is another
	// repository of the same registry: blobs are mounted then, where the registry
	// allows it.
	MountFrom string
	// At is the time in the retention tags, see [PushOptions].
	At time.Time
	// Verify is called with the digest before something is copied, and with Check always;
	// an error ends the copy. It may be nil.
	Verify func(ctx context.Context, digest string) error
	// Progress is called with the size of each blob and manifest that was written, from
	// several goroutines. It may be nil.
	Progress func(bytes int64)
}

// Copied is the result of Copy.
type Copied struct {
	Digest string `json:"digest"`
	// Changed reports that something was written.
	Changed bool `json:"changed"`
	// Checked reports that the referrers of both sides were compared: without
	// CopyOptions.Check, only if the tag did not resolve to the artifact before.
	Checked bool `json:"checked"`
	// Layers are the barrier layers that belong to the artifact.
	Layers []LayerRef `json:"layers,omitempty"`
	// Referrers are the digests of the referrers that were written, sorted.
	Referrers []string `json:"referrers,omitempty"`
	// Simple is the number of signatures of cosign v2 that were added.
	Simple int      `json:"cosignV2,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	// Bytes is the size of all that was written, manifests included.
	Bytes int64 `json:"bytes"`
}

// Copy copies an artifact, its barrier layers and, with Referrers, everything that is
// attached to them from one store to another. Digests stay the same, so signatures
// stay valid. Tags at the destination move last.
//
// If the first tag at the destination already resolves to the artifact, the copy ends
// after two requests. Otherwise it is an oras.ExtendedCopyGraph for the artifact and
// for each barrier layer.
//
// Signatures of cosign v2 are one image under a tag. If both sides have signatures that
// the other one lacks, the copy is refused (ErrShape).
//
// The error is a *[SourceError] if the source caused it.
func Copy(ctx context.Context, src, dst Store, reference string, opts CopyOptions) (Copied, error) {
	if err := checkReference(reference); err != nil {
		return Copied{}, err
	}

	// The tags are checked before the first request.
	c := &copier{
		from:      src,
		to:        dst,
		opts:      opts,
		tags:      opts.Tags,
		cached:    map[digest.Digest][]byte{},
		retention: map[digest.Digest]string{},
		edges:     map[digest.Digest]edge{},
		resent:    map[digest.Digest]bool{},
	}
	if len(c.tags) == 0 && isTag(reference) {
		c.tags = []string{reference}
	}
	if err := CheckTags(c.tags); err != nil {
		return Copied{}, err
	}
	c.tags = unique(c.tags)

	// If the destination has the artifact, and no check is wanted, only the tags are left to do.
	same, err := c.compare(ctx, reference)
	if err != nil {
		return Copied{}, err
	}
	compared := !same || opts.Check
	if compared {
		c.layers, err = layerRefs(c.root.Manifest)
		if err != nil {
			return Copied{}, ofSource(manifest.About(reference, err))
		}
		if opts.Verify != nil {
			if err := opts.Verify(ctx, c.root.desc.Digest.String()); err != nil {
				return Copied{}, ofSource(err)
			}
		}
		if err := c.run(ctx); err != nil {
			return Copied{}, c.addReference(reference, err)
		}
	}

	// Tags come last: until then clients read what they read before.
	if err := c.tag(ctx, same); err != nil {
		return Copied{}, err
	}
	slices.Sort(c.attached)
	return Copied{
		Digest: c.root.desc.Digest.String(), Changed: c.bytes > 0, Checked: compared && opts.Referrers,
		Layers: c.layers, Referrers: c.attached, Simple: c.simples, Tags: c.tags, Bytes: c.bytes,
	}, nil
}

// copier is one copy. The fields below mu are written by several goroutines.
type copier struct {
	from, to Store
	opts     CopyOptions
	tags     []string
	root     found
	layers   []LayerRef

	emptyOnce  sync.Mutex
	emptyThere bool

	mu sync.Mutex
	// cached has the manifests of the subjects, which are read once.
	cached map[digest.Digest][]byte
	// retention has the retention tags of the subjects.
	retention map[digest.Digest]string
	// edges has the subject of each referrer.
	edges map[digest.Digest]edge
	nodes int
	// resent has the blobs that were written with Check.
	resent   map[digest.Digest]bool
	attached []string
	simples  int
	bytes    int64
}

// edge leads from a referrer to its subject.
type edge struct {
	subject ocispec.Descriptor
	// listed reports that the destination lists the referrer. One that is there and
	// not listed is left from a copy that was interrupted.
	listed bool
}

// compare resolves the reference at the source and the first tag at the destination, and
// reports whether both lead to the same artifact.
func (c *copier) compare(ctx context.Context, reference string) (same bool, err error) {
	// GET and not HEAD: the manifest is needed unless the copy ends here.
	c.root, err = lookUp(ctx, c.from, reference)
	if err != nil {
		return false, ofSource(err)
	}
	if len(c.tags) > 0 {
		reference = c.tags[0]
	}
	old, exists, err := resolve(ctx, c.to, reference)
	return exists && old.Digest == c.root.desc.Digest, err
}

// run copies everything but the tags.
func (c *copier) run(ctx context.Context) error {
	c.add(c.root, false)
	subjects := []ocispec.Descriptor{c.root.desc}
	for _, l := range c.layers {
		f, err := lookUp(ctx, c.from, l.Digest)
		if err != nil {
			return ofSource(err)
		}
		c.add(f, true)
		subjects = append(subjects, f.desc)
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, subject := range subjects {
		group.Go(func() error {
			if err := c.copyGraph(inner, subject); err != nil || !c.opts.Referrers {
				return err
			}
			return c.copySimple(inner, subject)
		})
	}
	return group.Wait()
}

// add makes a manifest one of the subjects, which get retention tags.
func (c *copier) add(f found, layer bool) {
	c.cached[f.desc.Digest] = f.data
	c.retention[f.desc.Digest] = retentionTag(f.desc.Digest.String(), c.opts.At, layer)
}

// copyGraph copies a manifest with its content and, with Referrers, what is attached to it.
func (c *copier) copyGraph(ctx context.Context, root ocispec.Descriptor) error {
	if !c.opts.Referrers {
		return c.copyContent(ctx, root)
	}
	return unwrapCopyError(oras.ExtendedCopyGraph(ctx, copySource{c}, copyTarget{c}, root,
		oras.ExtendedCopyGraphOptions{CopyGraphOptions: c.options(), FindPredecessors: c.listPredecessors}))
}

// copyContent copies a blob, or a manifest with its content.
func (c *copier) copyContent(ctx context.Context, root ocispec.Descriptor) error {
	return unwrapCopyError(oras.CopyGraph(ctx, copySource{c}, copyTarget{c}, root, c.options()))
}

func (c *copier) options() oras.CopyGraphOptions {
	opts := oras.CopyGraphOptions{Concurrency: concurrency, FindSuccessors: c.listSuccessors}
	if c.opts.MountFrom != "" {
		opts.MountFrom = func(context.Context, ocispec.Descriptor) ([]string, error) { return []string{c.opts.MountFrom}, nil }
	}
	return opts
}

// unwrapCopyError returns the cause of a failed copy, without the node at which it failed.
func unwrapCopyError(err error) error {
	var of *oras.CopyError
	for errors.As(err, &of) {
		err = of.Err
	}
	return err
}

// listPredecessors returns the referrers that a manifest has at the source.
func (c *copier) listPredecessors(
	ctx context.Context, _ content.ReadOnlyGraphStorage, subject ocispec.Descriptor,
) ([]ocispec.Descriptor, error) {
	list, err := Referrers(ctx, c.from, subject, "")
	if err != nil || len(list) == 0 {
		return nil, ofSource(err)
	}
	there, err := Referrers(ctx, c.to, subject, "")
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range list {
		list[i] = manifest.Bare(r)
		c.edges[r.Digest] = edge{subject: manifest.Bare(subject), listed: holds(there, r)}
	}
	if len(c.edges) > maxManifests {
		return nil, ofSource(manifest.OverLimit("it has more than %d referrers", maxManifests))
	}
	return list, nil
}

// listSuccessors returns the descriptors that a manifest names: its content, and the subject
// of a referrer. A referrer that names another subject than the source says is an error.
func (c *copier) listSuccessors(ctx context.Context, fetcher content.Fetcher, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	if !manifest.Is(d.MediaType) {
		return nil, nil
	}
	if d.Size > manifest.MaxSize {
		return nil, ofSource(manifest.OverLimit("%s: a manifest of %d bytes; at most %d are read", d.Digest, d.Size, manifest.MaxSize))
	}

	// A copy reads each manifest by itself, to find what belongs to it.
	data, err := content.FetchAll(ctx, fetcher, d)
	if err != nil {
		return nil, ofSource(err)
	}
	m, err := manifest.Parse(d.MediaType, data)
	if err != nil {
		return nil, ofSource(manifest.About(d.Digest.String(), err))
	}

	// Nodes are visited concurrently, and counted together.
	c.mu.Lock()
	c.nodes++
	tooMany := c.nodes > maxManifests
	e, referrer := c.edges[d.Digest]
	c.mu.Unlock()
	if tooMany {
		return nil, ofSource(manifest.OverLimit("more than %d manifests belong to it", maxManifests))
	}

	// The content goes by bare descriptors, without what a registry reports beside them.
	next := m.Parts()
	for i := range next {
		next[i] = manifest.Bare(next[i])
	}
	if !referrer {
		return next, nil
	}

	// A referrer leads to its subject, which is copied before it.
	if m.Subject == nil || m.Subject.Digest != e.subject.Digest {
		err := manifest.Refuse(ErrShape, "%s is not a referrer of %s, although the store lists it as one", d.Digest, e.subject.Digest)
		return nil, ofSource(err)
	}
	return append(next, e.subject), nil
}

// tag moves the tags to the artifact. If same is set, the tags after the first are compared
// first, and moved only if they differ.
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
		}
		err := persist(ctx, c.root.desc, func() error {
			return c.to.PushReference(ctx, c.root.desc, bytes.NewReader(c.root.data), tag)
		})
		if err != nil {
			return manifest.About(tag, err)
		}
		c.count(c.root.desc.Size)
	}
	return nil
}

// addReference adds to an error the reference at the side that caused it.
func (c *copier) addReference(reference string, err error) error {
	var of *SourceError
	if !errors.As(err, &of) && len(c.tags) > 0 {
		reference = c.tags[0]
	}
	return manifest.About(reference, err)
}

func (c *copier) count(bytes int64) {
	if c.opts.Progress != nil {
		c.opts.Progress(bytes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes
}
