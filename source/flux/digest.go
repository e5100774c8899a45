// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
)

// parseDigest returns a verifier for a digest. Flux has sha256 by default; its flag
// --artifact-digest-algo selects others.
func parseDigest(text string) (digest.Verifier, error) {
	d, err := digest.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it is sha256:, sha384: or sha512: and hex digits in lower case", err)
	}
	return d.Verifier(), nil
}

// errTooLarge says that a body is longer than it may be.
var errTooLarge = errors.New("too large")

// body is a download on its way: it hashes and bounds what is read.
type body struct {
	r      io.Reader
	digest digest.Verifier
	// n counts the bytes that were read, and room limits them.
	n, room int64
	// err ended the download; it may be io.EOF.
	err error
}

// Read reads, hashes what it reads, and keeps its error.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	_, _ = b.digest.Write(p[:n]) // hashes take everything
	if b.n > b.room {
		b.err = errTooLarge
		return 0, b.err
	}
	b.err = err
	return n, err
}
