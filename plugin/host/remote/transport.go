// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
)

// maxErrorBody is how many bytes of an error response are read.
const maxErrorBody = 8 << 10

var (
	// errIdle reports a response that stalled after it began.
	errIdle = errors.New("the server stalled in its response")
	// errSlow reports a server that did not respond, or could not be connected to, before
	// the deadline of the caller.
	errSlow = errors.New("no response in time")
)

// transport retries requests, ends responses that stall, and removes credentials from
// error responses.
type transport struct {
	base     http.RoundTripper
	attempts int
	backoff  time.Duration
	maxWait  time.Duration
	idle     time.Duration
	manifest int64
}

// RoundTrip implements http.RoundTripper. If the last attempt fails too, the error is a *refused.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p := &policy{transport: t, ctx: r.Context()}
	again := retry.Transport{Base: roundTripper(t.sendOnce), Policy: func() retry.Policy { return p }}
	response, err := again.RoundTrip(r.WithContext(r.Context())) // it changes the request
	switch {
	case r.Context().Err() != nil && err != nil, !transient(response, err):
		return response, err
	case err != nil:
		return nil, &refused{attempts: p.attempts, err: err}
	}
	return nil, &refused{attempts: p.attempts, status: response.StatusCode, message: message(response), after: p.after}
}

// roundTripper is a function that is a http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// policy is the retries of one request.
type policy struct {
	*transport
	ctx      context.Context //nolint:containedctx // that of the request, as long as the request
	attempts int
	after    time.Duration // Retry-After of the server
}

// Retry implements retry.Policy. A wait beyond the limit or the deadline of the caller
// ends the retries.
func (p *policy) Retry(attempt int, response *http.Response, err error) (time.Duration, error) {
	p.attempts = attempt + 1
	p.after = 0
	if !transient(response, err) {
		return -1, nil
	}
	wait := min(p.backoff<<min(attempt, 20), p.maxWait)
	if response != nil {
		p.after = retryAfter(response.Header.Get("Retry-After"), time.Now())
		wait = max(wait, p.after)
	}
	deadline, ok := p.ctx.Deadline()
	if p.attempts >= p.transport.attempts || p.ctx.Err() != nil || wait > p.maxWait || ok && time.Until(deadline) <= wait {
		return -1, nil //nolint:nilerr // the transport returns the error itself
	}
	return wait, nil
}

// refused is a transient failure that outlasted the retries.
type refused struct {
	attempts int
	status   int           // 0 without a response
	message  string        // of the server
	after    time.Duration // Retry-After, 0 for none
	err      error         // set without a response
}

// Error returns a message for logs. Explain makes one for the user.
func (r *refused) Error() string {
	if r.err != nil {
		return fmt.Sprintf("%v, %s", r.err, printable.Count(r.attempts, "attempt"))
	}
	out := fmt.Sprintf("%d %s", r.status, strings.ToLower(http.StatusText(r.status)))
	if r.message != "" {
		out += ": " + r.message
	}
	out += ", " + printable.Count(r.attempts, "attempt")
	if r.after > 0 {
		out += fmt.Sprintf(", with Retry-After %v", r.after)
	}
	return out
}

// Unwrap returns the error of the connection.
func (r *refused) Unwrap() error { return r.err }

// transient reports whether the same request may succeed in a moment.
func transient(response *http.Response, err error) bool {
	if err != nil {
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	switch response.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter returns the wait of a Retry-After header, in seconds or as a date. It is 0 if the
// header is neither.
//
// See https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil && date.After(now) {
		return date.Sub(now).Round(time.Second)
	}
	return 0
}

// sendOnce sends a request once.
func (t *transport) sendOnce(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	response, err := t.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() && r.Context().Err() == nil {
			err = errSlow
		}
		return nil, err
	}
	response.Body = &patient{ReadCloser: response.Body, cause: func() error { return context.Cause(ctx) }, cancel: cancel, idle: t.idle}
	if response.StatusCode >= 400 {
		return response, sanitize(response, r)
	}
	if r.Method == http.MethodGet && isDocument(r.URL.Path) {
		if response.ContentLength > t.manifest {
			_ = response.Body.Close() // its content is not needed
			return nil, tooLarge(t.manifest)
		}
		response.Body = &bounded{ReadCloser: response.Body, left: t.manifest, limit: t.manifest}
	}
	return response, nil
}

// isDocument reports whether the content at a path is read completely: a manifest or a list, not a
// blob.
func isDocument(path string) bool {
	return strings.Contains(path, "/manifests/") || strings.Contains(path, "/referrers/") || strings.HasSuffix(path, "/tags/list")
}

// patient is a body with an idle time-out. Only reads that wait for the server count,
// not pauses of the caller.
type patient struct {
	io.ReadCloser
	cause  func() error // why the request was ended, nil while it was not
	cancel context.CancelCauseFunc
	idle   time.Duration
}

// Read implements io.Reader.
func (p *patient) Read(data []byte) (int, error) {
	timer := time.AfterFunc(p.idle, func() { p.cancel(errIdle) })
	n, err := p.ReadCloser.Read(data)
	timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(p.cause(), errIdle) {
		err = errIdle
	}
	return n, err
}

// Close ends the request.
func (p *patient) Close() error {
	err := p.ReadCloser.Close()
	p.cancel(nil)
	return err
}

// bounded is a body that fails where it is larger than its limit.
type bounded struct {
	io.ReadCloser
	left, limit int64
}

// Read implements io.Reader.
func (b *bounded) Read(data []byte) (int, error) {
	if int64(len(data)) > b.left+1 {
		data = data[:b.left+1]
	}
	n, err := b.ReadCloser.Read(data)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, tooLarge(b.limit)
	}
	return n, err
}

// tooLarge returns the error of a manifest or a list that is too large.
func tooLarge(limit int64) error {
	return source.OverLimit("the manifest or list has more than %d bytes", limit)
}

// sanitize reduces an error response to the codes and messages of the specification, and
// removes the credentials of the request from these and from the headers: some servers
// repeat them.
//
// See https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#error-codes.
func sanitize(response *http.Response, r *http.Request) error {
	data, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	_ = response.Body.Close() // all that is needed was read
	if err != nil && r.Context().Err() != nil {
		return r.Context().Err()
	}
	secrets := sent(r)
	body := document{Errors: []errcode.Error{}}
	if json.Unmarshal(data, &body) == nil {
		for i, e := range body.Errors {
			body.Errors[i] = errcode.Error{Code: hide(e.Code, secrets), Message: hide(e.Message, secrets)}
		}
	}
	data, err = json.Marshal(body)
	if err != nil {
		return err
	}
	for _, values := range response.Header {
		for i := range values {
			values[i] = hide(values[i], secrets)
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(data))
	response.ContentLength = int64(len(data))
	return nil
}

// document is an error of a registry.
type document struct {
	Errors errcode.Errors `json:"errors"`
}

// message returns the message of a response that went through sanitize.
func message(response *http.Response) string {
	defer response.Body.Close() //nolint:errcheck // it is in memory
	var body document
	if json.NewDecoder(response.Body).Decode(&body) != nil {
		return ""
	}
	return serverMessage(body.Errors)
}
