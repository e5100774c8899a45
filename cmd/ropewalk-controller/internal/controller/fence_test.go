// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// TestAProcessWithoutItsLeaseDoesNotWrite, and reads.
func TestAProcessWithoutItsLeaseDoesNotWrite(t *testing.T) {
	const lease = "/apis/coordination.k8s.io/v1/namespaces/ropewalk-system/leases/ours"
	const other, status = "/apis/coordination.k8s.io/v1/namespaces/ropewalk-system/leases/other", "/apis/ropewalk.dev/v1alpha1/pivotclusters/blue/status"
	var conflict atomic.Bool
	var writes atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		if conflict.Load() {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	t.Cleanup(server.Close)
	f := &fence{lease: "ours", lasts: time.Minute}
	config := &rest.Config{Host: server.URL}
	f.wrap(config)
	var clients []*http.Client
	for range 2 { // Each client of a configuration has a transport of its own.
		client, err := rest.HTTPClientFor(rest.CopyConfig(config))
		require.NoError(t, err)
		clients = append(clients, client)
	}
	send := func(client int, method, path string) error {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		require.NoError(t, err)
		out, err := clients[client].Do(r)
		if err == nil {
			require.NoError(t, out.Body.Close())
		}
		return err
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		require.NoError(t, send(0, method, status), "it has no lease yet, and does not lead")
	}
	require.NoError(t, send(0, http.MethodPut, lease))
	require.NoError(t, send(1, http.MethodPatch, status))

	// It was stopped for longer than its lease.
	past := time.Now().Add(-time.Minute - time.Second)
	f.renewed.Store(&past)
	before := writes.Load()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		err := send(1, method, status)
		require.ErrorContains(t, err, method+" "+status+` is refused: the lease "ours" of this process has run out at `)
		require.Error(t, send(0, method, other))
	}
	require.Equal(t, before, writes.Load())
	require.NoError(t, send(0, http.MethodGet, status))
	require.NoError(t, send(0, http.MethodHead, status))

	// Another process has it, and then this one again.
	conflict.Store(true)
	require.NoError(t, send(0, http.MethodPut, lease))
	require.Error(t, send(0, http.MethodPut, status))
	conflict.Store(false)
	require.NoError(t, send(0, http.MethodPut, lease))
	require.NoError(t, send(1, http.MethodPut, status))
}
