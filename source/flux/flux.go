// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// DefaultTimeout bounds a download.
const DefaultTimeout = 2 * time.Minute

// Artifact holds the status of a source.
type Artifact struct {
	// URL leads to the tar.gz: status.artifact.url, "" if there is no artifact.
	URL string
	// Digest identifies the tar.gz, algorithm:hex: status.artifact.digest.
	Digest string
	// Revision is status.artifact.revision, such as main@sha1:….
	Revision string
	// Ready says that the condition Ready is true, and for this generation of the
	// source.
	Ready bool
	// Reason is the message of that condition, for people.
	Reason string
}

// Artifacts looks sources up. The kind is one of GitRepository, OCIRepository,
// Bucket and ExternalArtifact. An error is source.ErrNotFound where there is no
// such source.
type Artifacts interface {
	Artifact(ctx context.Context, kind, namespace, name string) (Artifact, error)
}

// ArtifactsFunc is a function that is Artifacts.
type ArtifactsFunc func(ctx context.Context, kind, namespace, name string) (Artifact, error)

// Artifact calls f.
func (f ArtifactsFunc) Artifact(ctx context.Context, kind, namespace, name string) (Artifact, error) {
	return f(ctx, kind, namespace, name)
}

// Fetcher gets trees from sources of Flux. References are Kind/namespace/name,
// and Kind/namespace/name@algorithm:hex for a certain artifact.
type Fetcher struct {
	// Artifacts looks sources up. Required.
	Artifacts Artifacts
	// Client downloads; nil is the zero value, which takes the proxy that the
	// environment names. Its CheckRedirect does not count.
	Client *http.Client
	// Limits bound each tree, and what is downloaded for it.
	Limits source.Limits
	// Timeout bounds a download; DefaultTimeout where zero.
	Timeout time.Duration
	// Whole gives all files of an artifact, and not only those that the package
	// needs: a project has several modules.
	Whole bool
}

var _ source.Resolver = Fetcher{}

// Resolve returns the artifact of a source. It asks no server if the reference
// has a digest.
func (f Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	r, err := parseRef(ref)
	if err != nil {
		return source.Resolved{}, err
	}
	if r.digest != "" {
		return source.Resolved{Ref: ref, Revision: r.digest, Immutable: true}, nil
	}
	artifact, err := f.findArtifact(ctx, r)
	if err != nil {
		return source.Resolved{}, err
	}
	ref.Ref = r.pinned(artifact.Digest)
	return source.Resolved{Ref: ref, Revision: cmp.Or(artifact.Revision, artifact.Digest)}, nil
}

// Fetch gets the tree of a source. Its package is in the folder ref.Path; see
// [tarball.Narrow] for what else the tree holds if it is not the whole artifact.
//
// Errors are source.ErrReference, ErrNotFound (also for an artifact that the source no longer
// has), ErrUnavailable (also for a source that is not ready), ErrUnauthorized, ErrDigest,
// ErrLimit, ErrPath, ErrNotRegular, and tarball.ErrFormat.
func (f Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	r, err := parseRef(ref)
	if err != nil {
		return source.Tree{}, err
	}
	artifact, err := f.findArtifact(ctx, r)
	if err != nil {
		return source.Tree{}, err
	}

	// The digest of a reference is also its revision, so that it never changes.
	b := &source.Builder{Limits: f.Limits}
	if err := f.download(ctx, r, artifact, b); err != nil {
		return source.Tree{}, err
	}
	revision := cmp.Or(r.digest, artifact.Revision, artifact.Digest)
	tree, err := b.Tree(r.String(), revision)
	if err != nil {
		return source.Tree{}, about(r, err)
	}
	tree.Pinned = r.pinned(artifact.Digest)

	// The package is a part of the artifact, unless the caller wants all of it.
	if f.Whole {
		tree, err = tree.At(ref.Path)
	} else {
		tree, err = tarball.Narrow(ctx, tree, ref.Path, f.Limits)
	}
	if err != nil {
		return source.Tree{}, about(r, err)
	}
	return tree, nil
}

// parseRef reads a reference, and refuses options that Flux has and this fetcher does not.
func parseRef(ref source.Ref) (reference, error) {
	r, err := parse(ref.Ref)
	switch {
	case err != nil:
		return r, err
	case ref.Verify.Provider != "":
		return r, fault(source.ErrReference, r, "the signature of a source is verified by Flux: set spec.verify of the source instead")
	case ref.Secret != "":
		return r, fault(source.ErrReference, r, "the credentials of a source are those that Flux has: set spec.secretRef of the source instead")
	}
	return r, nil
}

// findArtifact returns the artifact that a source has now. A reference with a digest must
// lead to the same artifact.
func (f Fetcher) findArtifact(ctx context.Context, r reference) (Artifact, error) {
	a, err := f.Artifacts.Artifact(ctx, r.kind, r.namespace, r.name)
	switch {
	case err != nil:
		return a, about(r, err)
	case !a.Ready:
		return a, fault(source.ErrUnavailable, r, "the source is not ready%s: see kubectl describe, and try again", reason(a))
	case a.URL == "" || a.Digest == "":
		return a, fault(source.ErrUnavailable, r, "the source has no artifact%s: see kubectl describe, and try again", reason(a))
	case r.digest != "" && a.Digest != r.digest:
		return a, fault(source.ErrNotFound, r, "the source has the artifact %s now, and no longer %s", line(a.Digest), r.digest)
	}
	if _, err := parseDigest(a.Digest); err != nil {
		return a, fault(source.ErrDigest, r, "the digest of the artifact, %q, cannot be checked: %v", line(a.Digest), err)
	}
	return a, nil
}

// download reads an artifact into b, and checks its digest.
func (f Fetcher) download(ctx context.Context, r reference, a Artifact, b *source.Builder) error {
	u, err := url.Parse(a.URL)
	isWeb := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	if !isWeb || u.User != nil {
		return fault(source.ErrReference, r, "the URL of its artifact is not one of http or https that has no credentials")
	}
	timeout := cmp.Or(f.Timeout, DefaultTimeout)
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	limits := f.Limits.WithDefaults()
	content := &body{room: limits.Bytes + 1<<20 + 256*int64(limits.Files)}
	err = f.read(bounded, r, u, a, content, b)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return about(r, ctx.Err())
	case bounded.Err() != nil:
		return fault(source.ErrUnavailable, r, "%q did not send the artifact within %s: try again later", u.Host, timeout)
	case errors.Is(err, errTooLarge):
		return fault(source.ErrLimit, r, "the artifact has more than %d bytes: leave files out by spec.ignore of the source", content.room)
	}
	return err
}

// read requests an artifact and unpacks it.
func (f Fetcher) read(ctx context.Context, r reference, u *url.URL, a Artifact, content *body, b *source.Builder) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return fault(source.ErrReference, r, "the URL of its artifact cannot be requested")
	}
	// The hash covers the bytes of the artifact, so they must not be unpacked on the way.
	request.Header.Set("Accept-Encoding", "identity")

	// The response must hold the artifact, within the limits.
	response, err := f.client().Do(request) //nolint:gosec // the status of the source has the URL, and the digest is known
	if err != nil {
		return errUnreached(r, u, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errStatus(r, u, response.StatusCode)
	}
	if response.ContentLength > content.room {
		return errTooLarge
	}

	// The artifact is unpacked while it comes in, and hashed on the way.
	content.digest, err = parseDigest(a.Digest)
	if err != nil {
		return err
	}
	content.r = response.Body
	err = tarball.Gzip(ctx, content, b, tarball.Options{Keep: tarball.Visible, Symlinks: true})
	if errors.Is(err, source.ErrLimit) {
		return about(r, err) // it is not worth to read on
	}
	// Whatever is wrong inside, a wrong digest is the reason.
	_, _ = io.Copy(io.Discard, content) // content keeps the error
	switch {
	case errors.Is(content.err, errTooLarge):
		return errTooLarge
	case content.err != io.EOF: //nolint:errorlint // body keeps it bare
		return fault(source.ErrUnavailable, r, "the artifact was truncated after %d bytes (%v): try again", content.n, content.err)
	case !content.digest.Verified():
		return fault(source.ErrDigest, r,
			"%q did not send the artifact with the digest %s: try again; if it stays so, check the server of artifacts", u.Host, a.Digest)
	case err != nil:
		return about(r, err)
	}
	return nil
}

// client returns the client, which does not follow redirects to other hosts.
func (f Fetcher) client() *http.Client {
	client := http.Client{}
	if f.Client != nil {
		client = *f.Client
	}
	client.CheckRedirect = redirect
	return &client
}

// errElsewhere says that a server redirects to another.
var errElsewhere = errors.New("the server redirects to another host, or from https to http, which is not followed")

// redirect allows up to ten redirects on one host.
func redirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= 10:
		return errors.New("the server redirects more than 10 times")
	case r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme:
		return errElsewhere
	}
	return nil
}

// errStatus returns the error for a status.
func errStatus(r reference, u *url.URL, status int) error {
	text := fmt.Sprintf("%q returned status %d %s", u.Host, status, strings.ToLower(http.StatusText(status)))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fault(source.ErrUnauthorized, r, "%s: let this program reach the server of artifacts", text)
	case status == http.StatusNotFound || status == http.StatusGone:
		return fault(source.ErrUnavailable, r, "%s: the source has moved on, try again", text)
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		return fault(source.ErrUnavailable, r, "%s: try again later", text)
	}
	return fmt.Errorf("%s: %s", r, text)
}

// errUnreached returns the error for a request without an answer. The URL is left out.
func errUnreached(r reference, u *url.URL, err error) error {
	if errors.Is(err, errElsewhere) {
		return fault(source.ErrReference, r, "%q: %v", u.Host, errElsewhere)
	}
	for e := (*url.Error)(nil); errors.As(err, &e); {
		err = e.Err
	}
	return fault(source.ErrUnavailable, r, "%q: %s: try again later", u.Host, line(err.Error()))
}

// reason returns in brackets why a source is not ready, as the source says it; "" where it
// says nothing.
func reason(a Artifact) string {
	if text := line(a.Reason); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// line returns a text from outside in one line of bounded length.
func line(text string) string {
	const longest = 300
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	return printable.Cut(text, longest, "…")
}
