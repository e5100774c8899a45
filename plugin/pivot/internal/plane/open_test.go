// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// kubeconfig is a file with the contexts "a", which is current, and "b".
func kubeconfig(t *testing.T, a, b string) string {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: a
clusters:
- {name: a, cluster: {server: %q}}
- {name: b, cluster: {server: %q}}
users:
- {name: u, user: {token: hunter2}}
contexts:
- {name: a, context: {cluster: a, user: u}}
- {name: b, context: {cluster: b, user: u}}
- {name: c, context: {cluster: none, user: u}}
`, a, b), 0o600))
	return path
}

func TestOpen(t *testing.T) {
	path := kubeconfig(t, "https://a:6443", "https://b:6443")
	p, err := plane.Open(path, "", plane.Options{Name: "source"})
	require.NoError(t, err)
	require.Equal(t, "https://a:6443", p.Server())
	require.Equal(t, "source", p.Name())
	p, err = plane.Open(path, "b", plane.Options{})
	require.NoError(t, err)
	require.Equal(t, "https://b:6443", p.Server())

	for _, c := range []struct{ path, context, want string }{
		{"none", "", `source plane: kubeconfig "none": `},
		{path, "none", `context "none" does not exist`},
		{path, "c", "invalid configuration"},
		{kubeconfig(t, "://", ""), "", "source plane: kubeconfig "},
	} {
		_, err = plane.Open(c.path, c.context, plane.Options{Name: "source"})
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// TestARealClientRepeatsWhatFails has a server that fails in all the ways that HTTP has.
func TestARealClientRepeatsWhatFails(t *testing.T) {
	cut := func(w http.ResponseWriter) {
		c, _, err := http.NewResponseController(w).Hijack()
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	status := func(code int, reason string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"injected"}`, code, reason)
		}
	}
	answers := []func(http.ResponseWriter){
		cut,
		status(http.StatusTooManyRequests, "TooManyRequests"),
		status(http.StatusInternalServerError, "InternalError"),
		status(http.StatusGatewayTimeout, "Timeout"),
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"kind":`))
			cut(w)
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"u"}}`))
		},
		status(http.StatusForbidden, "Forbidden"),
	}
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "ropewalk-pivot", r.UserAgent())
		requests++
		answers[min(requests, len(answers))-1](w)
	}))
	defer server.Close()
	p, err := plane.Open(kubeconfig(t, server.URL, ""), "", plane.Options{Name: "source", Sleep: func(context.Context, time.Duration) error { return nil }})
	require.NoError(t, err)
	uid, err := p.UID(context.Background())
	require.NoError(t, err)
	require.Equal(t, "u", uid)
	require.Equal(t, len(answers)-1, requests)
	_, err = p.UID(context.Background())
	require.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, "source plane: ")

	server.Close()
	slept := 0
	p, err = plane.Open(kubeconfig(t, server.URL, ""), "", plane.Options{Sleep: func(context.Context, time.Duration) error { slept++; return nil }})
	require.NoError(t, err)
	_, err = p.UID(context.Background())
	require.ErrorContains(t, err, "connection refused")
	require.Greater(t, slept, 60, "for two minutes")
}
