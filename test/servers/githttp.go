// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/cgi" //nolint:gosec // git http-backend is a CGI program, and this is no server for others
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// GitOption changes what a server of Git repositories is like.
type GitOption func(*gitOptions)

type gitOptions struct {
	guard    guard
	fault    Fault
	noFilter bool
	ca       *[]byte
}

// WithGitAuth asks for a name and a password.
func WithGitAuth(user, password string) GitOption {
	return func(o *gitOptions) { o.guard = basicAuth{user, password} }
}

// WithGitFault has f answer in place of the server, before the check of
// credentials. A fault that only looks counts requests.
func WithGitFault(f Fault) GitOption { return func(o *gitOptions) { o.fault = f } }

// WithGitTLS has the server speak TLS, and puts its authority into ca, in PEM.
func WithGitTLS(ca *[]byte) GitOption { return func(o *gitOptions) { o.ca = ca } }

// NoFilter has the server send whole packs to clients that ask for a filter.
func NoFilter() GitOption { return func(o *gitOptions) { o.noFilter = true } }

// GitHTTP serves the repositories below root with git http-backend, for
// reading only, and returns the URL that root has, without a slash at the end.
func GitHTTP(t testing.TB, root string, opts ...GitOption) string {
	t.Helper()
	var o gitOptions
	for _, opt := range opts {
		opt(&o)
	}
	s := httptest.NewUnstartedServer(o.front(httpBackend(t, root, o.noFilter)))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if o.ca != nil {
		s.StartTLS()
		*o.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	} else {
		s.Start()
	}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// front puts fault and guard before the server.
func (o gitOptions) front(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.fault != nil {
			if h, ok := o.fault(r); ok {
				h.ServeHTTP(w, r)
				return
			}
		}
		if o.guard != nil && !o.guard.pass(w, r) {
			return
		}
		server.ServeHTTP(w, r)
	})
}

func httpBackend(t testing.TB, root string, noFilter bool) http.Handler {
	t.Helper()
	git := find(t, "git", "git")
	libexec, err := exec.Command(git, "--exec-path").Output() //nolint:gosec // the binary is the one that was found
	require.NoError(t, err)
	env := append(gitEnv(t.TempDir()), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1")
	if noFilter {
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=uploadpack.allowFilter", "GIT_CONFIG_VALUE_0=false")
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(libexec)), "git-http-backend"),
		Root: "/", Dir: root, Env: env, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// CGI wants to know the length of a body, and git sends long ones in chunks.
		if r.ContentLength < 0 {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		}
		backend.ServeHTTP(w, r)
	})
}
