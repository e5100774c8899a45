// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package web fetches files by their URL: a reference is an https URL, with #sha256=<hex> for a
// file that must not change. The tree holds one file, called as the last part of the path.
//
// # Invariants
//
// The reference holds no credentials. Reads are bounded, and their digest is verified.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/source"
)

// Get returns the content of a URL; a nil secret takes the credentials of the host. The error
// is one of package source.
type Get func(ctx context.Context, url string, secret map[string][]byte) (io.ReadCloser, error)

// Fetcher gets files.
type Fetcher struct {
	Get Get
	// Secrets has the Secrets that references name; nil has no Secrets.
	Secrets source.Secrets
	Limits  source.Limits
}

var _ source.Resolver = Fetcher{}

// mark stands before the digest of a reference.
const mark = "#sha256="

// Resolve gets the file, unless the reference has its digest.
func (f Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	u, digest, err := parse(ref.Ref)
	if err != nil {
		return source.Resolved{}, err
	}
	if digest != "" {
		return source.Resolved{Ref: ref, Revision: digest, Immutable: true}, nil
	}
	_, digest, err = f.read(ctx, u.String(), ref.Secret)
	if err != nil {
		return source.Resolved{}, err
	}
	ref.Ref = pinned(u, digest)
	return source.Resolved{Ref: ref, Revision: digest}, nil
}

// Fetch gets the tree with the file.
func (f Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	u, want, err := parse(ref.Ref)
	switch {
	case err != nil:
		return source.Tree{}, err
	case ref.Path != "":
		return source.Tree{}, source.Refuse(source.ErrPath, fmt.Sprintf("%s: a file has no path %q inside", u, ref.Path))
	case ref.Verify.Provider != "":
		return source.Tree{}, source.Refuse(source.ErrReference, fmt.Sprintf(
			"%s: a file has no signature to verify: write %s<hex> after its URL", u, mark))
	}
	data, digest, err := f.read(ctx, u.String(), ref.Secret)
	if err != nil {
		return source.Tree{}, err
	}
	if want != "" && want != digest {
		return source.Tree{}, source.Refuse(source.ErrDigest, fmt.Sprintf("%s: its digest is %s, and not %s", u, digest, want))
	}
	b := source.Builder{Limits: f.Limits}
	if err := b.Add(path.Base(u.Path), data); err != nil {
		return source.Tree{}, fmt.Errorf("%s: %w", u, err)
	}
	tree, err := b.Tree(u.String(), digest)
	tree.Pinned = pinned(u, digest)
	return tree, err
}

func pinned(u *url.URL, digest string) string {
	return u.String() + mark + strings.TrimPrefix(digest, "sha256:")
}

// read returns the content of a URL with its digest.
func (f Fetcher) read(ctx context.Context, address, name string) (data []byte, digest string, err error) {
	secret, err := Secret(ctx, f.Secrets, name)
	if err != nil {
		return nil, "", err
	}
	return Read(ctx, f.Get, address, secret, f.Limits.WithDefaults().Bytes)
}

// Secret returns the Secret of a reference; nil where name is "".
func Secret(ctx context.Context, secrets source.Secrets, name string) (map[string][]byte, error) {
	if name == "" {
		return nil, nil
	}
	if secrets == nil {
		return nil, source.Refuse(source.ErrNotFound, fmt.Sprintf("there are no Secrets here to take %q from", name))
	}
	secret, err := secrets.Secret(ctx, name)
	if err == nil && secret == nil {
		secret = map[string][]byte{}
	}
	return secret, err
}

// Read returns the content of a URL of at most limit bytes, with its digest sha256:<hex>.
func Read(ctx context.Context, get Get, address string, secret map[string][]byte, limit int64) (data []byte, digest string, err error) {
	body, err := get(ctx, address, secret)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = body.Close() }()
	var content bytes.Buffer
	n, err := content.ReadFrom(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return nil, "", source.Refuse(source.ErrUnavailable, fmt.Sprintf("%s: the response was truncated: try again", address))
	case n > limit:
		return nil, "", source.OverLimit("%s: it has more than %d bytes", address, limit)
	}
	sum := sha256.Sum256(content.Bytes())
	return content.Bytes(), "sha256:" + hex.EncodeToString(sum[:]), nil
}

// parse reads a reference; digest is "" where the reference has no digest.
func parse(ref string) (u *url.URL, digest string, err error) {
	text, sum, ok := strings.Cut(ref, mark)
	if ok {
		digest = "sha256:" + sum
		if !digests.Is(digest) {
			return nil, "", source.Refuse(source.ErrReference, fmt.Sprintf("%q is no digest: write %s and 64 hex digits", sum, mark))
		}
	}
	u, err = Parse(text)
	if err == nil && (path.Base(u.Path) == "/" || path.Base(u.Path) == ".") {
		err = source.Refuse(source.ErrReference, fmt.Sprintf("%s names no file", u))
	}
	return u, digest, err
}

// Parse reads a URL of http or https without credentials.
func Parse(text string) (*url.URL, error) {
	const longest = 2048
	u, err := url.Parse(text)
	switch {
	case len(text) > longest, err != nil, u.Host == "", u.Scheme != "https" && u.Scheme != "http":
		return nil, source.Refuse(source.ErrReference, "the reference is no URL: write https://HOST/PATH")
	case u.User != nil:
		return nil, source.Refuse(source.ErrReference,
			"a URL must hold no credentials, because it ends up in files and logs: put them into a Secret")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
