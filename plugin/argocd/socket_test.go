// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

func TestAStaleSocketIsReplacedAndARunningServerIsNot(t *testing.T) {
	opts := options(t)
	socket := filepath.Join(opts.Dir, "ropewalk.sock")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	_, _ = start(t, opts)
	_, err = dial(t, socket).CheckPluginConfiguration(t.Context(), &wire.Empty{})
	require.NoError(t, err)
	require.ErrorIs(t, New(opts).Serve(t.Context()), ErrRunning)
	require.NoError(t, os.WriteFile(filepath.Join(opts.Dir, "other.sock"), nil, 0o600))
	opts.Name = "other"
	require.ErrorContains(t, New(opts).Serve(t.Context()), "is not a socket")
	opts.Name = "../x"
	require.ErrorContains(t, New(opts).Serve(t.Context()), `plugin name "../x"`)
	left, err := fs.Glob(os.DirFS(opts.Dir), ".*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTheEndLetsRequestsEnd(t *testing.T) {
	t.Parallel()
	opts, renderer := slow(t, 30*time.Second)
	var seen atomic.Bool
	renderer.until = seen.Load
	s := New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	require.Eventually(t, s.answers, 5*time.Second, time.Millisecond)
	socket := filepath.Join(opts.Dir, "ropewalk.sock")
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	require.Equal(t, []int{200, 200}, []int{get(t, web.URL+"/healthz"), get(t, web.URL+"/readyz")})
	answered := make(chan error, 1)
	go func() {
		_, err := generate(t, socket, call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"})
		answered <- err
	}()
	require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 1 }, 5*time.Second, time.Millisecond)
	cancel()
	require.Eventually(t, func() bool { _, err := os.Lstat(socket); return errors.Is(err, fs.ErrNotExist) }, 5*time.Second, time.Millisecond)
	require.Equal(t, []int{200, 503}, []int{get(t, web.URL+"/healthz"), get(t, web.URL+"/readyz")})
	seen.Store(true)
	require.NoError(t, <-answered)
	require.NoError(t, <-ended)
}

func TestTheEndDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	opts, _ := slow(t, time.Minute)
	opts.Drain = 200 * time.Millisecond
	s := New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	require.Eventually(t, s.answers, 5*time.Second, time.Millisecond)
	go func() {
		_, _ = generate(t, filepath.Join(opts.Dir, "ropewalk.sock"), call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"})
	}()
	require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 1 }, 5*time.Second, time.Millisecond)
	start := time.Now()
	cancel()
	require.NoError(t, <-ended)
	require.Less(t, time.Since(start), 5*time.Second)
}

func get(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url) //nolint:noctx // loopback
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}
