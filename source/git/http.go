// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// infoRefs is where a repository says what it has; see gitprotocol-http(5).
const infoRefs = "/info/refs"

// sentOn is why a redirect is not followed.
const sentOn = "the server sends the request on to another place, which neither credentials nor plain http follow: write the URL of that place"

// overHTTP is a line over http.
type overHTTP struct {
	// base is the URL of the repository, once redirects were followed.
	base   string
	with   credentials
	client *http.Client
	body   interface{ Close() error }
}

func newHTTP(at location, with credentials, ca []byte) line {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(with.ca)+len(ca) > 0 {
		config.RootCAs = authorities(with, ca)
	}
	h := &overHTTP{base: strings.TrimSuffix(at.url, "/"), with: with}
	h.client = &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}, CheckRedirect: h.redirect}
	return h
}

// authorities are those of the Secret, or of the system, with those in ca.
func authorities(with credentials, ca []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	if len(with.ca) > 0 {
		pool.AppendCertsFromPEM(with.ca)
	} else if system, err := x509.SystemCertPool(); err == nil {
		pool = system
	}
	pool.AppendCertsFromPEM(ca)
	return pool
}

// redirect allows what git does: the first request may be sent on, but not
// with credentials, not to where nothing is encrypted, and not from there, where
// whoever listens could choose the place.
func (h *overHTTP) redirect(to *http.Request, via []*http.Request) error {
	switch {
	case h.with.header() != "" || via[0].URL.Scheme == schemeHTTP:
		return source.Refuse(source.ErrReference, sentOn)
	case len(via) > 5 || to.Method != http.MethodGet:
		return source.Refuse(source.ErrUnavailable, "the server sends requests on without end")
	case via[0].URL.Scheme == schemeHTTPS && to.URL.Scheme != schemeHTTPS:
		return source.Refuse(source.ErrReference, "the server sends the request on to where nothing is encrypted")
	}
	return nil
}

// hello asks for what the server is able to do.
func (h *overHTTP) hello(ctx context.Context) (*bufio.Reader, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+infoRefs+"?service=git-upload-pack", nil)
	if err != nil {
		return nil, bad("the URL cannot be read")
	}
	return h.do(r, "advertisement")
}

// ask posts a request.
func (h *overHTTP) ask(ctx context.Context, request []byte) (*bufio.Reader, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+"/git-upload-pack", bytes.NewReader(request))
	if err != nil {
		return nil, bad("the URL cannot be read")
	}
	r.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	return h.do(r, "result")
}

func (h *overHTTP) do(r *http.Request, answer string) (*bufio.Reader, error) {
	h.end()
	h.with.authorize(r)
	r.Header.Set("Git-Protocol", "version=2")
	r.Header.Set("User-Agent", "git/ropewalk")
	response, err := h.client.Do(r) //nolint:bodyclose // the next request, or close, closes it
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // the caller names the URL
	}
	if err != nil {
		return nil, err
	}
	h.body = response.Body
	if err := judgeStatus(response); err != nil {
		return nil, err
	}
	if got := response.Header.Get("Content-Type"); got != "application/x-git-upload-pack-"+answer {
		return nil, source.Refuse(source.ErrAbsent, "what answers there is no Git server that speaks the smart protocol")
	}
	if r.Method == http.MethodGet {
		final := *response.Request.URL
		final.RawQuery = ""
		h.base = strings.TrimSuffix(final.String(), infoRefs)
	}
	return bufio.NewReaderSize(response.Body, 32<<10), nil
}

// judgeStatus is the error for a status of http.
func judgeStatus(response *http.Response) error {
	said := fmt.Sprintf("the server answers %d", response.StatusCode)
	switch code := response.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return source.Refuse(source.ErrUnauthorized, said+": it does not take the credentials, or wants some; check the Secret of the reference")
	case code == http.StatusNotFound || code == http.StatusGone:
		return source.Refuse(source.ErrAbsent, said+": there is no repository, or none that these credentials may see")
	case code == http.StatusTooManyRequests && response.Header.Get("Retry-After") != "":
		return source.Refuse(source.ErrUnavailable, fmt.Sprintf("%s: it wants to be asked again after %q", said, response.Header.Get("Retry-After")))
	}
	return source.Refuse(source.ErrUnavailable, said+"; try again later")
}

// end gives the last answer back.
func (h *overHTTP) end() {
	if h.body != nil {
		_ = h.body.Close() // it has been read, or is of no use
	}
	h.body = nil
}

func (h *overHTTP) close() {
	h.end()
	h.client.CloseIdleConnections()
}

// isCertificate reports whether a server has a certificate by nobody known.
func isCertificate(err error) bool {
	var unknown x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	return errors.As(err, &unknown) || errors.As(err, &verification)
}
