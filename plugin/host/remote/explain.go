// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
)

// Explain turns an error of a repository into one for the user. It names the reference
// and the response of the server, in one line of bounded length, and what to do. It keeps
// nothing else of err, so it holds none of its credentials.
//
// It is source.ErrUnauthorized (401, 403, no or bad credentials), ErrAbsent
// (404), ErrUnavailable (408, 429, 5xx, time-outs, connections that fail or
// break), ErrHostKey (a certificate that is not trusted), ErrDigest (content
// that does not match its digest), ErrLimit or ErrReference, or
// errdef.ErrUnsupported for methods that the server lacks (405). A context that
// has ended can be matched too, and so can a *[Later]. Other errors match nothing.
func Explain(err error, reference string) error {
	if err == nil {
		return nil
	}
	why, is := explain(err)
	message := why
	if name := line(reference) + ": "; !strings.HasPrefix(why, name) {
		message = name + why
	}
	var r *refused
	switch {
	case is == nil:
		return errors.New(message)
	case errors.As(err, &r) && r.after > 0:
		is = errors.Join(is, &Later{After: r.after})
	case errors.Is(err, context.DeadlineExceeded):
		is = errors.Join(is, context.DeadlineExceeded)
	}
	return source.Refuse(is, message)
}

// Later reports that a server refused further requests for some time, by Retry-After. It
// comes with source.ErrUnavailable.
type Later struct{ After time.Duration }

// Error implements error.
func (l *Later) Error() string { return "retry after " + l.After.String() }

// explain returns the reason of an error and the sentinel that it matches.
func explain(err error) (why string, is error) {
	for _, known := range []func(error) (string, error){ours, answered, credential, mismatch, connection} {
		if why, is := known(err); why != "" {
			return why, is
		}
	}
	return line(withoutURL(err)), nil
}

// ours returns the reason of errors with a sentinel of package source.
func ours(err error) (why string, is error) {
	for _, sentinel := range []error{
		source.ErrUnauthorized, source.ErrAbsent, source.ErrNotFound, source.ErrLimit, source.ErrReference,
		source.ErrDigest, source.ErrSignature, source.ErrHostKey, source.ErrLocked, source.ErrUnavailable,
	} {
		if errors.Is(err, sentinel) {
			return line(own(err, sentinel)), sentinel
		}
	}
	return "", nil
}

// own returns the text of the error that wraps a sentinel directly, without the text of outer
// errors.
func own(err, sentinel error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if errors.Unwrap(e) == sentinel { //nolint:errorlint // the very error is looked for
			return e.Error()
		}
	}
	return withoutURL(err)
}

// answered returns the reason of error responses of servers.
func answered(err error) (why string, is error) {
	// A response after several attempts has none of its details.
	var r *refused
	if errors.As(err, &r) && r.status != 0 {
		return fmt.Sprintf("%sthe server answers %s: try again later", at(err), r), source.ErrUnavailable
	}
	var e *errcode.ErrorResponse
	if !errors.As(err, &e) {
		return "", nil
	}

	// The message of the server may help, and its status decides.
	host := quoted(e.URL)
	answer := fmt.Sprintf("%d %s", e.StatusCode, strings.ToLower(http.StatusText(e.StatusCode)))
	if words := serverMessage(e.Errors); words != "" {
		answer += ": " + words
	}
	switch code := e.StatusCode; {
	case code == http.StatusUnauthorized:
		return fmt.Sprintf("%s requires valid credentials (%s): log in there, or correct the Secret for it", host, answer), source.ErrUnauthorized
	case code == http.StatusForbidden:
		return fmt.Sprintf("%s denies access (%s): request access, or use other credentials", host, answer), source.ErrUnauthorized
	case code == http.StatusNotFound:
		return fmt.Sprintf("%s: not found (%s): correct the name, or log in: some servers hide repositories without access", host, answer), source.ErrAbsent
	case code == http.StatusMethodNotAllowed || has(e.Errors, errcode.ErrorCodeUnsupported):
		return fmt.Sprintf("%s does not support this request (%s)", host, answer), errdef.ErrUnsupported
	case has(e.Errors, errcode.ErrorCodeDigestInvalid):
		return fmt.Sprintf("%s received content that does not match its digest (%s): try again", host, answer), source.ErrDigest
	case code == http.StatusBadRequest && len(e.Errors) == 0 && e.URL != nil && e.URL.Scheme == "http":
		return fmt.Sprintf("%s does not understand plain http (%s): it may want https, so do not allow plain http for it", host, answer), source.ErrUnavailable
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Sprintf("%s answers %s: try again later", host, answer), source.ErrUnavailable
	}
	return fmt.Sprintf("%s answers %s", host, answer), nil
}

// credential returns the reason of errors of missing or unusable credentials.
func credential(err error) (why string, is error) {
	var helper *exec.Error
	switch {
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return at(err) + "the server requires credentials, and there are none for it: log in there, or name a Secret with them", source.ErrUnauthorized
	case errors.As(err, &helper):
		return fmt.Sprintf("the credential helper %q cannot be run: install it, or log in again", helper.Name), source.ErrUnauthorized
	case strings.Contains(err.Error(), "missing username or password"):
		return at(err) + "the server requires a user name and a password, and there is only a token for it", source.ErrUnauthorized
	}
	return "", nil
}

// mismatch returns the reason of errors of content that does not match the request.
func mismatch(err error) (why string, is error) {
	text := err.Error()
	switch {
	case errors.Is(err, errIdle):
		return at(err) + errIdle.Error() + ": try again later", source.ErrUnavailable
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return at(err) + "the response was truncated" + attempts(err) + ": try again", source.ErrUnavailable
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, content.ErrInvalidDescriptorSize),
		errors.Is(err, errdef.ErrInvalidDigest),
		// oras-go has no error of its own for headers that contradict a digest.
		strings.Contains(text, "mismatch Content-Length"), strings.Contains(text, "digest mismatch"), strings.Contains(text, "mismatch digest"),
		strings.Contains(text, "Docker-Content-Digest"):
		return "the server sent content that does not match its digest (" + line(withoutURL(err)) + "): the registry, or a proxy in front of it, changes content", source.ErrDigest
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return line(withoutURL(err)), source.ErrLimit
	case lost(err) != "":
		return "the registry has lost " + lost(err) + ", which other content references: copy it again from a complete registry, or push it again", source.ErrAbsent
	case errors.Is(err, errdef.ErrNotFound):
		return "not found in the registry: correct the name, or log in: some servers hide repositories without access", source.ErrAbsent
	case errors.Is(err, errdef.ErrInvalidReference), errors.Is(err, errdef.ErrMissingReference):
		return line(withoutURL(err)), source.ErrReference
	case errors.Is(err, errdef.ErrUnsupported):
		return line(withoutURL(err)), errdef.ErrUnsupported
	}
	return "", nil
}

// lost returns the digest of missing content that other content references, or "" for other
// errors. The errors of oras-go have the name if it resolves one, and the digest alone if it
// fetches content.
func lost(err error) string {
	var missing interface{ Lost() string }
	if errors.As(err, &missing) {
		return line(missing.Lost())
	}
	digest, isContent := strings.CutSuffix(own(err, errdef.ErrNotFound), ": "+errdef.ErrNotFound.Error())
	if hex, ok := strings.CutPrefix(digest, "sha256:"); !isContent || !ok || len(hex) != 64 {
		return ""
	}
	return line(digest)
}

// connection returns the reason of errors of connections.
func connection(err error) (why string, is error) {
	// Each kind of error has its advice.
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		name        *net.DNSError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled", context.Canceled
	case errors.As(err, &authority):
		return at(err) + "the certificate of the server is signed by an unknown authority: add the authority as ca.crt of the Secret, or to those of the system", source.ErrHostKey
	case errors.As(err, &certificate):
		return at(err) + "the certificate of the server is not valid: " + line(certificate.Err.Error()), source.ErrHostKey
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		is = source.ErrUnavailable
		if host := hostOf(err); host != "" {
			is = errors.Join(is, &source.PlainError{Host: host})
		}
		return at(err) + "the server does not speak https: allow plain http for it if that is intended", is
	case errors.Is(err, errDowngrade):
		return at(err) + errDowngrade.Error() + ", which is not followed", source.ErrUnavailable
	case errors.As(err, &name):
		return fmt.Sprintf("the host %q has no address: correct the name, or try again later", line(name.Name)), source.ErrUnavailable
	case errors.Is(err, syscall.ECONNREFUSED):
		return at(err) + "connection refused: correct host and port, or try again later", source.ErrUnavailable
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return at(err) + "the server closed the connection" + attempts(err) + ": try again", source.ErrUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return at(err) + "no response before the deadline: try again later (plugin argocd: or raise --request-timeout)", source.ErrUnavailable
	case errors.Is(err, errSlow):
		return at(err) + errSlow.Error() + ": try again later", source.ErrUnavailable
	}

	// What is left of the network passes by itself.
	var network *net.OpError
	if errors.As(err, &network) {
		return at(err) + line(network.Err.Error()) + ": try again later", source.ErrUnavailable
	}
	return "", nil
}

// attempts returns the number of attempts for the end of a message, if there was more than one.
func attempts(err error) string {
	var r *refused
	if errors.As(err, &r) && r.attempts > 1 {
		return " (" + printable.Count(r.attempts, "attempt") + ")"
	}
	return ""
}

// at returns the host of a failed request for the beginning of a message. It may differ from that
// of the reference: tokens and blobs often come from other hosts.
func at(err error) string {
	host := hostOf(err)
	if host == "" {
		return ""
	}
	return fmt.Sprintf("%q: ", host)
}

// hostOf returns the host of a failed request, with its port, or "" for other errors.
func hostOf(err error) string {
	var u *url.Error
	if !errors.As(err, &u) {
		return ""
	}
	parsed, err := url.Parse(u.URL)
	if err != nil {
		return ""
	}
	return line(parsed.Host)
}

// withoutURL returns the text of an error without the URL that net/http prepends.
func withoutURL(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// quoted returns the host of a URL for messages.
func quoted(u *url.URL) string {
	if u == nil || u.Host == "" {
		return "the server"
	}
	return fmt.Sprintf("%q", line(u.Host))
}

// serverMessage returns the message of a server, in one line, without details, which can be
// anything. It returns "" if there is none.
func serverMessage(errs errcode.Errors) string {
	var out []string
	for _, e := range errs {
		text := strings.ToLower(strings.ReplaceAll(e.Code, "_", " "))
		switch {
		case text == "":
			text = e.Message
		case e.Message != "":
			text += ": " + e.Message
		}
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return line(strings.Join(out, "; "))
}

// has reports whether a response has an error code.
func has(errs errcode.Errors, code string) bool {
	for _, e := range errs {
		if e.Code == code {
			return true
		}
	}
	return false
}
