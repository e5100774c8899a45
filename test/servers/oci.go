// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// OCI is a registry that runs as long as the test.
type OCI struct {
	// Host is 127.0.0.1:port, the host of references.
	Host string
	// URL is the root with its scheme, without a slash at the end.
	URL string
	// CA is the certificate authority in PEM, nil without TLS.
	CA []byte

	server http.Handler // the registry behind the proxy
	guard  guard        // who may pass, nil for everyone

	mu       sync.Mutex
	fault    Fault
	requests []*Request
	open     int // how many requests are being answered
}

// Request is what a client asked for and got.
type Request struct {
	Method, Path, Query string
	// Header is that of the request.
	Header http.Header
	// Status is the status of the answer, 0 while there is none.
	Status int
	// Received and Sent are how large the bodies of request and answer were.
	Received, Sent int64
}

// Option changes what a registry is like.
type Option func(*options)

type options struct {
	guard       guard
	tls         bool
	noReferrers bool
	deletes     bool
}

// WithTLS has the registry speak TLS, with the authority in OCI.CA.
func WithTLS() Option { return func(o *options) { o.tls = true } }

// NoReferrers takes the referrers API from a registry in process;
// docker-registry has none.
func NoReferrers() Option { return func(o *options) { o.noReferrers = true } }

// WithDelete lets a docker-registry delete manifests by their digests, with their tags.
func WithDelete() Option { return func(o *options) { o.deletes = true } }

func settings(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// front puts the proxy before a registry.
func front(t testing.TB, server http.Handler, o options) *OCI {
	t.Helper()
	oci := &OCI{server: server, guard: o.guard}
	s := httptest.NewUnstartedServer(oci)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // tests make the mistakes that it would tell of
	if o.tls {
		s.StartTLS()
		oci.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	} else {
		s.Start()
	}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	oci.URL, oci.Host = s.URL, s.Listener.Addr().String()
	return oci
}

// Server is the registry without the proxy: what a fault can answer from. It
// asks for no credentials.
func (o *OCI) Server() http.Handler { return o.server }

// Fault has f answer in place of the registry from now on; nil ends that. It
// comes before the check of credentials.
func (o *OCI) Fault(f Fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fault = f
}

// Requests is what was asked since the last Reset, in the order in which it
// came in. Answers that are on their way are waited for, a second at most.
func (o *OCI) Requests() []Request {
	for range 1000 {
		if o.idle() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]Request, 0, len(o.requests))
	for _, r := range o.requests {
		out = append(out, *r)
	}
	return out
}

// Lines is Requests, one line for each: method, path and status.
func (o *OCI) Lines() []string {
	requests := o.Requests()
	out := make([]string, 0, len(requests))
	for _, r := range requests {
		out = append(out, r.String())
	}
	return out
}

// String is the request as a line: method, path with its query, and status.
func (r Request) String() string {
	path := r.Path
	if r.Query != "" {
		path += "?" + r.Query
	}
	return fmt.Sprintf("%s %s %d", r.Method, path, r.Status)
}

// Reset forgets the requests.
func (o *OCI) Reset() {
	o.Requests() // those that are on their way belong to what is forgotten
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = nil
}

func (o *OCI) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open == 0
}

// ServeHTTP is the proxy.
func (o *OCI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone()}
	o.mu.Lock()
	o.requests = append(o.requests, seen)
	o.open++
	fault := o.fault
	o.mu.Unlock()

	counted := &counter{ResponseWriter: w}
	body := &bodyCounter{ReadCloser: r.Body}
	r.Body = body
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.open--
		seen.Status, seen.Sent, seen.Received = counted.status, counted.bytes, body.bytes
	}()
	if fault != nil {
		if h, ok := fault(r); ok {
			h.ServeHTTP(counted, r)
			return
		}
	}
	if o.guard != nil && !o.guard.pass(counted, r) {
		return
	}
	o.server.ServeHTTP(counted, r)
}

// counter counts an answer.
type counter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader notes the status.
func (c *counter) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write counts data.
func (c *counter) Write(data []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(data)
	c.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach what the writer can do.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// bodyCounter counts the body of a request.
type bodyCounter struct {
	io.ReadCloser
	bytes int64
}

// Read counts data.
func (b *bodyCounter) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	b.bytes += int64(n)
	return n, err
}

// repository is the repository of a path of the API, "" where it has none.
func repository(path string) string {
	rest, ok := strings.CutPrefix(path, "/v2/")
	if !ok {
		return ""
	}
	parts := strings.Split(rest, "/")
	for i := len(parts) - 1; i > 0; i-- {
		if slices.Contains([]string{"blobs", "manifests", "tags", "referrers"}, parts[i]) {
			return strings.Join(parts[:i], "/")
		}
	}
	return ""
}
