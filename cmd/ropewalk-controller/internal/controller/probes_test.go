// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

func TestOnlyTheControllerThatLeadsIsReady(t *testing.T) {
	elected := make(chan struct{})
	check := leads(elected)
	require.EqualError(t, check(nil), "another controller leads, which serves artifacts and children")
	close(elected)
	require.NoError(t, check(nil))
}

func TestAControllerIsReadyWhenTheAPIServerAnswers(t *testing.T) {
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	asks, err := discovery.NewDiscoveryClientForConfigAndClient(&rest.Config{Host: server.URL}, server.Client())
	require.NoError(t, err)
	probe := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	require.NoError(t, answers(asks)(probe))
	away.Store(true)
	require.ErrorContains(t, answers(asks)(probe), "the API server does not answer: ")
}

// lagging is a cache that has what it watches, or never has.
type lagging bool

// WaitForCacheSync waits until the cache has what it watches.
func (l lagging) WaitForCacheSync(ctx context.Context) bool {
	if l {
		<-ctx.Done()
	}
	return !bool(l)
}

func TestAControllerIsReadyWhenItsCacheIs(t *testing.T) {
	probe := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	require.NoError(t, synced(lagging(false))(probe))
	require.ErrorContains(t, synced(lagging(true))(probe), "the cache does not have all that is watched yet")
}
