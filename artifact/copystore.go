// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// buffered is the size up to which content is copied through memory, so that the
// client can send it again; larger blobs are streamed.
const buffered = 8 << 20

var (
	_ content.ReadOnlyGraphStorage = copySource{}
	_ content.Storage              = copyTarget{}
	_ registry.Mounter             = copyTarget{}
)

// copySource is the source of a copy as oras-go reads it. Content is verified, and its errors are
// marked as errors of the source.
type copySource struct{ *copier }

// Fetch opens content of the source.
func (s copySource) Fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	s.mu.Lock()
	data, ok := s.cached[d.Digest]
	s.mu.Unlock()
	if ok {
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	rc, err := manifest.Open(ctx, s.from, d)
	if err != nil {
		return nil, ofSource(manifest.About(d.Digest.String(), err))
	}
	return sourceContent{rc}, nil
}

// Exists returns true: a copy finds out what is missing when it reads.
func (s copySource) Exists(context.Context, ocispec.Descriptor) (bool, error) { return true, nil }

// Predecessors returns the referrers of a manifest.
func (s copySource) Predecessors(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	return s.listPredecessors(ctx, s, d)
}

// copyTarget is the destination of a copy as oras-go writes it.
type copyTarget struct{ *copier }

// Exists reports whether the destination needs nothing for this node. With Check a manifest
// never counts as there, so that everything below it is looked at; Push then does not send it
// again. A referrer has to be listed too.
func (t copyTarget) Exists(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	if d.Digest == manifest.EmptyDigest {
		return true, t.writeEmpty(ctx)
	}
	if !manifest.Is(d.MediaType) {
		var held bool
		err := persist(ctx, d, func() (err error) { held, err = holdsBlob(ctx, t.to, d); return err })
		return held, err
	}
	if t.opts.Check {
		return false, nil
	}
	if e, referrer := t.edge(d); referrer {
		return e.listed, nil
	}
	return t.to.Exists(ctx, d)
}

// writeEmpty writes the config that artifacts and referrers share, once for all of them: some
// registries answer with errors when it is written several times at once.
func (t copyTarget) writeEmpty(ctx context.Context) error {
	t.emptyOnce.Lock()
	defer t.emptyOnce.Unlock()
	if t.emptyThere {
		return nil
	}
	data := []byte(manifest.EmptyJSON)
	d := manifest.Describe(ocispec.MediaTypeEmptyJSON, data)
	there, err := holdsBlob(ctx, t.to, d)
	if err == nil && !there {
		err = t.Mount(ctx, d, t.opts.MountFrom, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	}
	t.emptyThere = err == nil
	return err
}

// Fetch opens content of the destination. A copy does not call it.
func (t copyTarget) Fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	return t.to.Fetch(ctx, d)
}

// Push writes a blob or a manifest.
func (t copyTarget) Push(ctx context.Context, d ocispec.Descriptor, r io.Reader) error {
	if d.Size > buffered {
		if err := t.to.Push(ctx, d, r); err != nil {
			return err
		}
		t.count(d.Size)
		return nil
	}

	// Manifests and small blobs are held in memory, so that they can be sent again.
	data, err := manifest.Drain(r, d.Size)
	if err != nil {
		return ofSource(err)
	}
	if manifest.Is(d.MediaType) {
		return manifest.About(d.Digest.String(), t.writeManifest(ctx, d, data))
	}
	if err := t.to.Push(ctx, d, bytes.NewReader(data)); err != nil {
		return err
	}
	t.count(d.Size)

	// With Check, the store must return what was sent.
	if !t.opts.Check {
		return nil
	}
	t.mu.Lock()
	t.resent[d.Digest] = true
	t.mu.Unlock()
	return checkMended(ctx, t.to, d)
}

// writeManifest writes a manifest: a subject under its retention tag, a referrer with its
// entry in the list of its subject.
func (t copyTarget) writeManifest(ctx context.Context, d ocispec.Descriptor, data []byte) error {
	e, referrer := t.edge(d)
	if t.opts.Check && (!referrer || e.listed) {
		if kept, err := t.hasManifest(ctx, d, data); kept || err != nil {
			return err
		}
	}
	err := persist(ctx, d, func() error {
		if tag := t.retention[d.Digest]; tag != "" {
			return t.to.PushReference(ctx, d, bytes.NewReader(data), tag)
		}
		return pushReferrer(ctx, t.to, d, data)
	})
	if err != nil {
		return err
	}
	t.count(d.Size)
	if referrer {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.attached = append(t.attached, d.Digest.String())
	}
	return nil
}

// hasManifest reports whether the destination has a manifest, and had its content.
func (t copyTarget) hasManifest(ctx context.Context, d ocispec.Descriptor, data []byte) (bool, error) {
	m, err := manifest.Parse(d.MediaType, data)
	if err != nil {
		return false, ofSource(err)
	}
	t.mu.Lock()
	lost := slices.ContainsFunc(m.Parts(), func(part ocispec.Descriptor) bool { return t.resent[part.Digest] })
	t.mu.Unlock()
	if lost {
		return false, nil
	}
	return t.to.Exists(ctx, d)
}

// Mount takes a blob from another repository of the same registry, and copies it if
// the registry refuses.
func (t copyTarget) Mount(ctx context.Context, d ocispec.Descriptor, src string, fetch func() (io.ReadCloser, error)) error {
	if m, ok := t.to.(registry.Mounter); ok && src != "" {
		err := m.Mount(ctx, d, src, fetch)
		if err == nil {
			t.count(d.Size)
			return nil
		}
		var of *SourceError
		if errors.As(err, &of) || ctx.Err() != nil {
			return err
		}
	}
	rc, err := fetch()
	if err != nil {
		return err
	}
	defer rc.Close() //nolint:errcheck // it was read only
	return t.Push(ctx, d, rc)
}

func (c *copier) edge(d ocispec.Descriptor) (edge, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.edges[d.Digest]
	return e, ok
}

// sourceContent is content of the source, whose errors are marked as errors of the source.
type sourceContent struct{ io.ReadCloser }

// Read reads content.
func (b sourceContent) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &SourceError{Err: err}
	}
	return n, err
}
