// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// verified reads content and checks its digest and size. The end of content that
// is not as it should be is never given away, so that nobody takes it for whole.
type verified struct {
	io.ReadCloser
	want ocispec.Descriptor
	hash hash.Hash
	read int64
}

// verify is content that is checked while it is read.
func verify(rc io.ReadCloser, want ocispec.Descriptor) *verified {
	return &verified{ReadCloser: rc, want: want, hash: sha256.New()}
}

// Read reads content.
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.read += int64(n)
	v.hash.Write(p[:n])
	switch {
	case v.read > v.want.Size:
		return 0, refuse(ErrDigest, "%s goes on after its %d bytes: it was altered", v.want.Digest, v.want.Size)
	case v.read == v.want.Size && n > 0 || errors.Is(err, io.EOF) && v.read == v.want.Size:
		if sum(v.hash) != v.want.Digest.String() {
			return 0, refuse(ErrDigest, "%s has other content than its digest says: it was altered", v.want.Digest)
		}
	case errors.Is(err, io.EOF):
		return 0, refuse(ErrDigest, "%s ends after %d of %d bytes: try again, or push it again", v.want.Digest, v.read, v.want.Size)
	}
	return n, err
}

// open is a manifest or a blob that something in the store names, checked while it
// is read. Where it is not there the store lost it, and that is said.
func open(ctx context.Context, from Reader, d ocispec.Descriptor) (io.ReadCloser, error) {
	if d.Digest == emptyDigest && d.Size == int64(len(emptyJSON)) {
		return io.NopCloser(bytes.NewReader([]byte(emptyJSON))), nil
	}
	if !isDigest(d.Digest.String()) {
		return nil, refuse(ErrDigest, "%.100q is not sha256: and 64 hexadecimal digits", d.Digest)
	}
	rc, err := from.Fetch(ctx, d)
	if missing(err) {
		return nil, errLost(d, err)
	}
	if err != nil {
		return nil, err
	}
	return verify(rc, d), nil
}

// readAll reads a manifest or a blob of at most limit bytes.
func readAll(ctx context.Context, from Reader, d ocispec.Descriptor, limit int64) ([]byte, error) {
	if d.Size > limit || d.Size < 0 {
		return nil, refuse(ErrLimit, "%s has %d bytes, and at most %d are read", d.Digest, d.Size, limit)
	}
	rc, err := open(ctx, from, d)
	if err != nil {
		return nil, err
	}
	defer rc.Close() //nolint:errcheck // it was read only
	return drain(rc, d.Size)
}

// drain reads content of a known size, which is checked by the reader.
func drain(r io.Reader, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := b.ReadFrom(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// readManifest reads and parses a manifest or an index.
func readManifest(ctx context.Context, from Reader, d ocispec.Descriptor) (manifest, []byte, error) {
	data, err := readAll(ctx, from, d, maxManifest)
	if err != nil {
		return manifest{}, nil, err
	}
	m, err := parseManifest(d.MediaType, data)
	return m, data, err
}

// found is a manifest at a reference.
type found struct {
	desc ocispec.Descriptor
	data []byte
	manifest
}

// readFound reads and parses a manifest.
func readFound(ctx context.Context, from Reader, d ocispec.Descriptor) (found, error) {
	f := found{desc: bareOf(d)}
	var err error
	f.manifest, f.data, err = readManifest(ctx, from, f.desc)
	return f, about(d.Digest.String(), err)
}

// lookUp reads and parses the manifest at a tag or a digest, in one request.
func lookUp(ctx context.Context, from Store, reference string) (found, error) {
	d, rc, err := from.FetchReference(ctx, reference)
	if err != nil {
		return found{}, about(reference, err)
	}
	defer rc.Close() //nolint:errcheck // it was read only
	if isDigest(reference) && d.Digest.String() != reference {
		return found{}, refuse(ErrDigest, "%q: the store gives %s for it", reference, d.Digest)
	}
	if d.Size > maxManifest || d.Size < 0 {
		return found{}, refuse(ErrLimit, "%.200q: its manifest has %d bytes, and at most %d are read", reference, d.Size, maxManifest)
	}
	if !isDigest(d.Digest.String()) {
		return found{}, refuse(ErrDigest, "%.200q: its digest %.100q is not sha256: and 64 hexadecimal digits", reference, d.Digest)
	}
	d = ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	data, err := drain(verify(rc, d), d.Size)
	if err != nil {
		return found{}, about(reference, err)
	}
	m, err := parseManifest(d.MediaType, data)
	return found{desc: d, data: data, manifest: m}, about(reference, err)
}

// missing says that an error is that nothing is there, which may be because
// there is no such repository yet.
func missing(err error) bool {
	var answer *errcode.ErrorResponse
	return errors.Is(err, ErrNotFound) || errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// resolve is the descriptor at a reference, and whether there is one.
func resolve(ctx context.Context, from Reader, reference string) (ocispec.Descriptor, bool, error) {
	d, err := from.Resolve(ctx, reference)
	switch {
	case missing(err):
		return ocispec.Descriptor{}, false, nil
	case err != nil:
		return ocispec.Descriptor{}, false, about(reference, err)
	case isDigest(reference) && d.Digest.String() != reference:
		return ocispec.Descriptor{}, false, refuse(ErrDigest, "%q: the store gives %s for it", reference, d.Digest)
	}
	return d, true, nil
}
