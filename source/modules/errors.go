// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cuelabs.dev/go/oci/ociregistry"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/source"
	store "github.com/ropewalk/ropewalk/source/cache"
)

// shapeError says that what lies at a reference is no CUE module.
type shapeError struct{ err error }

// Error is the reason.
func (e *shapeError) Error() string { return e.err.Error() }

// cutError says that an answer ended before its end.
type cutError struct {
	what string
	got  int
	err  error
}

// Error is what ended, and where.
func (e *cutError) Error() string {
	return fmt.Sprintf("its %s was truncated after %d bytes", e.what, e.got)
}

// Unwrap is what the connection said.
func (e *cutError) Unwrap() error { return e.err }

// about has an error name the module.
func about(mv module.Version, err error) error {
	return fmt.Errorf("module %q: %w", mv.String(), err)
}

// damaged says that the archive of a module cannot be read.
func damaged(mv module.Version, err error) error {
	return source.Refuse(source.ErrDigest, fmt.Sprintf("module %q: its zip is damaged, or was not made by cue mod publish: %s", mv.String(), oneLine(err)))
}

// errNoStore is the error of a Registry without a Store.
var errNoStore = errors.New("there is no cache")

// offline is the error for a module that is not cached.
func offline(mv module.Version, err error) error {
	why := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		why = "the cache does not hold it"
	}
	return source.Refuse(errors.Join(source.ErrNotFound, store.ErrOffline), fmt.Sprintf(
		"module %q: offline, and %s: run %q once with the network, or %q to keep it in the project", mv.String(), why, "ropewalk lock", "ropewalk vendor"))
}

func notInLock(mv module.Version) error {
	return source.Refuse(source.ErrLocked, fmt.Sprintf("module %q: not in ropewalk.lock: run %q", mv.String(), "ropewalk lock"))
}

func otherThanLocked(mv module.Version, want, got, origin string) error {
	return source.Refuse(source.ErrLocked, fmt.Sprintf(
		"module %q: %s has the digest %s, and ropewalk.lock says %s: a published version must not change, so find out who changed it; if it is meant, run %q",
		mv.String(), origin, got, want, "ropewalk lock"))
}

func vendoredOtherThanLocked(mv module.Version, want, got string) error {
	return source.Refuse(source.ErrLocked, fmt.Sprintf(
		"module %q: what %s has of it comes from a zip with the digest %s, and ropewalk.lock says %s: run %q for what is locked, or %q for what is vendored",
		mv.String(), vendorFolder, got, want, "ropewalk vendor", "ropewalk lock"))
}

// classify turns what a registry or the way to it said into an error that names
// the module and where it was looked for. Texts of servers and addresses with
// queries are left out: redirects carry signatures, and some servers repeat
// what they were sent.
func classify(ctx, bounded context.Context, mv module.Version, origin string, timeout time.Duration, err error) error {
	refuse := func(is error, format string, args ...any) error {
		return source.Refuse(is, fmt.Sprintf("module %q at %s: ", mv.String(), origin)+fmt.Sprintf(format, args...))
	}
	var status ociregistry.HTTPError
	var shape *shapeError
	var cut *cutError
	switch {
	case errors.Is(err, modregistry.ErrRegistryNotFound):
		return source.Refuse(source.ErrAbsent, fmt.Sprintf("module %q: no registry is configured for it: name one in CUE_REGISTRY", mv.String()))
	case ctx.Err() != nil:
		return about(mv, context.Cause(ctx))
	case bounded.Err() != nil:
		return refuse(source.ErrUnavailable, "no complete response within %s: try again", timeout)
	case errors.Is(err, source.ErrLimit):
		return refuse(source.ErrLimit, "%s", err)
	case errors.Is(err, source.ErrDigest):
		return refuse(source.ErrDigest, "%s", err)
	case errors.As(err, &shape):
		return fmt.Errorf("module %q at %s: not a CUE module: %s", mv.String(), origin, oneLine(shape))
	case errors.As(err, &cut):
		return refuse(source.ErrUnavailable, "%s: try again", cut)
	case errors.As(err, &status):
		return answered(status.StatusCode(), refuse)
	}
	return unreached(err, refuse)
}

// answered is the error for a status of a registry or its token server.
func answered(status int, refuse func(error, string, ...any) error) error {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return refuse(source.ErrUnauthorized, "the registry answers %s: give credentials that may read it, or check them (docker login)", text)
	case status == http.StatusNotFound:
		return refuse(source.ErrAbsent, "the registry has no such version: check the name, the version and CUE_REGISTRY")
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		return refuse(source.ErrUnavailable, "the registry answers %s: try again later", text)
	}
	return refuse(source.ErrReference, "the registry answers %s", text)
}

// unreached is the error for a request that got no answer.
func unreached(err error, refuse func(error, string, ...any) error) error {
	// The address of a failed request is not repeated, only what is wrong.
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	var certificate *tls.CertificateVerificationError
	text := oneLine(err)
	switch {
	case errors.As(err, &certificate):
		return refuse(source.ErrHostKey, "its certificate is not trusted: %s", text)
	case strings.Contains(text, "HTTP response to HTTPS client"):
		return refuse(source.ErrUnavailable, "the registry speaks plain HTTP: write +insecure behind its name in CUE_REGISTRY if that is meant")
	}
	return refuse(source.ErrUnavailable, "%s", text)
}

// oneLine is the text of an error without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
