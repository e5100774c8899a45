// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/ropewalk/ropewalk/internal/digests"
)

// Verified reads content and checks its digest and size. The end of content that
// does not match is never returned, so that no caller takes it for complete.
type Verified struct {
	io.ReadCloser
	want ocispec.Descriptor
	hash hash.Hash
	read int64
}

// Verify returns a reader of rc that checks the content against want while it is read.
func Verify(rc io.ReadCloser, want ocispec.Descriptor) *Verified {
	return &Verified{ReadCloser: rc, want: want, hash: sha256.New()}
}

// Read reads content. The error is ErrDigest where the content does not match its digest or
// size.
func (v *Verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.read += int64(n)
	v.hash.Write(p[:n])
	switch {
	case v.read > v.want.Size:
		return 0, Refuse(ErrDigest, "%s is longer than its %d bytes: it was altered", v.want.Digest, v.want.Size)
	case v.read == v.want.Size && (n > 0 || errors.Is(err, io.EOF)):
		if "sha256:"+hex.EncodeToString(v.hash.Sum(nil)) != v.want.Digest.String() {
			return 0, Refuse(ErrDigest, "%s: the content does not match the digest: it was altered", v.want.Digest)
		}
	case errors.Is(err, io.EOF):
		return 0, Refuse(ErrDigest, "%s ends after %d of %d bytes: try again, or push it again", v.want.Digest, v.read, v.want.Size)
	}
	return n, err
}

// Open opens a manifest or a blob that something in the store names, and checks it while it
// is read. The error is ErrDamaged where the store lost it.
func Open(ctx context.Context, src content.Fetcher, d ocispec.Descriptor) (io.ReadCloser, error) {
	if d.Digest == EmptyDigest && d.Size == int64(len(EmptyJSON)) {
		return io.NopCloser(bytes.NewReader([]byte(EmptyJSON))), nil
	}
	if !digests.Is(d.Digest.String()) {
		return nil, Refuse(ErrDigest, "%.100q is not sha256: and 64 hexadecimal digits", d.Digest)
	}
	rc, err := src.Fetch(ctx, d)
	if Missing(err) {
		return nil, errLost(d, err)
	}
	if err != nil {
		return nil, err
	}
	return Verify(rc, d), nil
}

// ReadAll reads a manifest or a blob of at most limit bytes.
func ReadAll(ctx context.Context, src content.Fetcher, d ocispec.Descriptor, limit int64) ([]byte, error) {
	if d.Size > limit || d.Size < 0 {
		return nil, OverLimit("%s has %d bytes, and at most %d are read", d.Digest, d.Size, limit)
	}
	rc, err := Open(ctx, src, d)
	if err != nil {
		return nil, err
	}
	defer rc.Close() //nolint:errcheck // it was read only
	return Drain(rc, d.Size)
}

// Drain reads content of a known size, which is checked by the reader.
func Drain(r io.Reader, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := b.ReadFrom(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Read reads and parses a manifest or an index. It returns its bytes too.
func Read(ctx context.Context, src content.Fetcher, d ocispec.Descriptor) (Manifest, []byte, error) {
	data, err := ReadAll(ctx, src, d, MaxSize)
	if err != nil {
		return Manifest{}, nil, err
	}
	m, err := Parse(d.MediaType, data)
	return m, data, err
}

// Missing reports whether an error says that nothing is there. The reason may be that there
// is no such repository yet.
func Missing(err error) bool {
	var answer *errcode.ErrorResponse
	isAnswer := errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
	return isAnswer || errors.Is(err, ErrNotFound)
}
