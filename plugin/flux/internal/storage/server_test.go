// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/http/fetch"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// TestFluxFetchesWhatIsServed: with the fetcher of its controllers, which checks
// the digest.
func TestFluxFetchesWhatIsServed(t *testing.T) {
	s, _ := opened(t)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	digest := put(t, s, "a", "b")
	url := server.URL + "/transform/team/web/" + strings.TrimPrefix(digest, "sha256:") + ".tar.gz"
	dir := t.TempDir()
	require.NoError(t, fetch.New(fetch.WithRetries(0), fetch.WithUntar()).Fetch(url, digest, dir))
	require.Equal(t, []string{"00.yaml", "01.yaml"}, names(t, dir))

	missing := strings.Replace(url, digest[7:12], "00000", 1)
	require.ErrorIs(t, fetch.New(fetch.WithRetries(0)).Fetch(missing, digest, t.TempDir()), fetch.ErrFileNotFound,
		"which Flux tries again after a while")
}

func TestNothingElseIsServed(t *testing.T) {
	s, dir := opened(t)
	digest := put(t, s, "a")
	require.NoError(t, s.PutPlan(owner(), Plan{Desired: delivery.Desired{Digest: digest}}))
	_, err := s.Retain(owner(), nil, nil, time.Now())
	require.NoError(t, err)
	hex := strings.TrimPrefix(digest, "sha256:")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "transform/team/web/notes.tar.gz"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, hex+".tar.gz"), []byte("x"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "transform/team/web", strings.Repeat("a", 64)+".tar.gz"), 0o700))
	require.NoError(t, os.Symlink("notes.tar.gz", filepath.Join(dir, "transform/team/web", strings.Repeat("b", 64)+".tar.gz")))

	server := httptest.NewServer(s.Handler())
	defer server.Close()
	status := func(method, path string) int {
		t.Helper()
		connection, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://")) // a client would tidy the path up
		require.NoError(t, err)
		defer connection.Close()
		_, err = io.WriteString(connection, method+" "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		answer, err := io.ReadAll(connection)
		require.NoError(t, err)
		require.NotContains(t, string(answer), dir)
		var code int
		_, rest, _ := strings.Cut(string(answer), " ")
		for _, digit := range rest[:3] {
			code = code*10 + int(digit-'0')
		}
		return code
	}
	good := "/transform/team/web/" + hex + ".tar.gz"
	require.Equal(t, http.StatusOK, status("GET", good))
	require.Equal(t, http.StatusOK, status("HEAD", good))
	require.Equal(t, http.StatusMethodNotAllowed, status("PUT", good))
	require.Equal(t, http.StatusMethodNotAllowed, status("DELETE", good))
	for _, path := range []string{
		"/", "/transform", "/transform/", "/transform/team/web/", "/transform/team/web/" + hex + ".json", "/transform/team/web/" + hex + ".unused",
		"/transform/team/web/notes.tar.gz", "/" + hex + ".tar.gz", "/incoming/x", "/transform/team/web/" + hex, good + "/", good + "/..",
		"/transform/team/web/../web/" + hex + ".tar.gz", "/transform/team/web/%2e%2e/" + hex + ".tar.gz", "/transform/team/..%2fteam/web/" + hex + ".tar.gz",
		"/transform/team/web/" + strings.Repeat("a", 64) + ".tar.gz", "/transform/team/web/" + strings.Repeat("b", 64) + ".tar.gz",
		"/transform/team/web/" + strings.ToUpper(hex) + ".tar.gz", "//etc/passwd", "/..%2f..%2fetc/passwd",
	} {
		require.Equal(t, http.StatusNotFound, status("GET", path), path)
	}
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, func() int {
		// The server of the controller has limits that this one has not.
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		limited := NewServer(s, "")
		limited.Listener = listener
		go func() { ended <- limited.Start(ctx) }()
		defer func() { stop(); require.NoError(t, <-ended) }()
		server.URL = "http://" + listener.Addr().String()
		return status("GET", "/"+strings.Repeat("a", 64<<10))
	}())
}

func TestTheServerStartsAndStops(t *testing.T) {
	s, _ := opened(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := NewServer(s, "")
	server.Listener = listener
	require.True(t, server.NeedLeaderElection())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	response, err := http.Get("http://" + listener.Addr().String() + "/")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	stop()
	require.NoError(t, <-ended)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	require.ErrorContains(t, NewServer(s, taken.Addr().String()).Start(t.Context()), "address already in use")
}

// FuzzServed: whatever is asked for, only the name of an archive comes out, as it
// is written.
func FuzzServed(f *testing.F) {
	hex := strings.Repeat("0a", 32)
	for _, seed := range []string{
		"/transform/team/web/" + hex + ".tar.gz", "/transform/../web/" + hex + ".tar.gz", "/transform/team/./" + hex + ".tar.gz", "transform/a/b/" + hex + ".json", "",
	} {
		f.Add(seed)
	}
	archive := regexp.MustCompile(`^transform/[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?/[0-9a-f]{64}\.tar\.gz$`)
	f.Fuzz(func(t *testing.T, path string) {
		name, sum := served(path)
		if name == "" {
			return
		}
		require.Regexp(t, archive, name)
		require.Equal(t, name, strings.TrimPrefix(path, "/"))
		require.NotContains(t, name, "..")
		require.True(t, isSum(sum))
	})
}
