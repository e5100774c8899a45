// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// parseDigest is the hash of a digest, and what it should come to. Flux has
// sha256 by default; --artifact-digest-algo names others.
func parseDigest(text string) (hash.Hash, []byte, error) {
	algorithm, sum, _ := strings.Cut(text, ":")
	var h hash.Hash
	switch algorithm {
	case "sha256":
		h = sha256.New()
	case "sha384":
		h = sha512.New384()
	case "sha512":
		h = sha512.New()
	default:
		return nil, nil, fmt.Errorf("the algorithm %q is none of sha256, sha384 and sha512", algorithm)
	}
	want, err := hex.DecodeString(sum)
	if err != nil || len(want) != h.Size() || sum != strings.ToLower(sum) {
		return nil, nil, fmt.Errorf("expected %d hex digits in lower case", 2*h.Size())
	}
	return h, want, nil
}

// errTooLarge says that a body is longer than it may be.
var errTooLarge = errors.New("too large")

// body is a download on its way: it hashes and bounds what is read.
type body struct {
	r    io.Reader
	hash hash.Hash
	// n is how much was read, room how much may be.
	n, room int64
	// err is what ended it, io.EOF included.
	err error
}

// Read reads.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	_, _ = b.hash.Write(p[:n]) // hashes take everything
	if b.n > b.room {
		b.err = errTooLarge
		return 0, b.err
	}
	b.err = err
	return n, err
}

// is reports whether all that was read comes to a sum.
func (b *body) is(sum []byte) bool { return subtle.ConstantTimeCompare(b.hash.Sum(nil), sum) == 1 }
