// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// buffered is up to which size a blob is copied through memory, so that the
	// client can send it again; larger ones are streamed.
	buffered = 8 << 20
	// asked is from which size a registry is asked whether it has a blob of what is
	// new there. To send a smaller one takes two requests, and to ask is a third.
	asked = 256 << 10
)

// blob copies a blob.
func (c *copier) blob(ctx context.Context, d ocispec.Descriptor) error {
	d = ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	if c.asks(d) {
		if good, err := holdsBlob(ctx, c.to, d); good || err != nil {
			return err
		}
	}
	if m, ok := c.to.(mounter); ok && c.opts.MountFrom != "" {
		if mounted, err := c.mount(ctx, m, d); mounted || err != nil {
			return err
		}
	}
	if d.Size <= buffered {
		data, err := readAll(ctx, c.from, d, buffered)
		if err != nil {
			return ofSource(err)
		}
		return c.send(ctx, d, data)
	}
	rc, err := c.open(ctx, d)
	if err != nil {
		return err
	}
	defer rc.Close() //nolint:errcheck // it was read only
	if err := c.to.Push(ctx, d, rc); err != nil {
		return rc.blamed(err)
	}
	c.count(d.Size)
	return nil
}

// send writes a blob.
func (c *copier) send(ctx context.Context, d ocispec.Descriptor, data []byte) error {
	_, err := sendBlob(ctx, c.to, d, data, false)
	if err == nil {
		c.count(d.Size)
	}
	return err
}

// asks says whether it is asked first whether the destination has a blob: where it
// may, and the answer costs nothing, or is likely yes, as for the config that all
// artifacts share, or saves much.
func (c *copier) asks(d ocispec.Descriptor) bool {
	_, local := c.to.(*Layout)
	return c.ask && (local || d.Digest == emptyDigest || d.Size >= asked)
}

// mount has the registry take a blob from the repository of the source. A registry
// may refuse: it was a hint.
func (c *copier) mount(ctx context.Context, to mounter, d ocispec.Descriptor) (bool, error) {
	var read *sourceBlob
	err := to.Mount(ctx, d, c.opts.MountFrom, func() (rc io.ReadCloser, err error) {
		read, err = c.open(ctx, d)
		return read, err
	})
	if err == nil {
		c.count(d.Size)
		return true, nil
	}
	var of *SourceError
	if err = read.blamed(err); errors.As(err, &of) || ctx.Err() != nil {
		return false, err
	}
	return false, nil
}

// open is a blob of the source.
func (c *copier) open(ctx context.Context, d ocispec.Descriptor) (*sourceBlob, error) {
	rc, err := open(ctx, c.from, d)
	if err != nil {
		return nil, ofSource(err)
	}
	return &sourceBlob{ReadCloser: rc}, nil
}

// sourceBlob is a blob that is read while it is sent, and knows whether it is to
// blame where that fails.
type sourceBlob struct {
	io.ReadCloser
	failed atomic.Pointer[SourceError] // the client may still read when it gives up
}

// Read reads content.
func (b *sourceBlob) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		of := &SourceError{Err: err}
		b.failed.Store(of)
		return n, of
	}
	return n, err
}

// blamed is why it could not be sent: what failed to be read, or else err.
func (b *sourceBlob) blamed(err error) error {
	if b != nil {
		if of := b.failed.Load(); of != nil {
			return of
		}
	}
	return err
}
