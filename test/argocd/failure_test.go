// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fetching is a rig, a registry, and an application on disk whose module is in that
// registry and was never fetched.
func fetching(t *testing.T) (*rig, *registry, application) {
	t.Helper()
	oci := newRegistry(t)
	r := newRig(t, "--plain-http", oci.host)
	login(t, r, oci)
	root := t.TempDir()
	write(t, root, greeting("oci://"+oci.host+"/modules/greeting@"+oci.push(t, "modules/greeting", module(t))))
	a := application{name: "app", repo: commit(t, root).file(), path: ".", revision: "main", plugin: plugin()}
	return r, oci, a
}

func TestARegistryThatIsDownForAMomentIsWaitedFor(t *testing.T) {
	const down = 5 * time.Second
	r, oci, a := fetching(t)
	oci.stop()
	go func() {
		time.Sleep(down)
		oci.start(t)
	}()
	took := timed(func() { require.Contains(t, r.objects(t, a)[0], `"text":"hello"`) })
	t.Logf("a registry that is down for %s makes a request take %s", down, took)
	require.Greater(t, took, down)
	require.Less(t, took, 20*time.Second)
}

// TestArgoCDKeepsAnErrorUntilAHardRefresh is why a sidecar has to try again by
// itself: after three failures Argo CD asks no more.
func TestArgoCDKeepsAnErrorUntilAHardRefresh(t *testing.T) {
	r, oci, a := fetching(t)
	oci.stop()
	for i := range 3 {
		// Long enough for several attempts, all of which fail.
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		var err error
		took := timed(func() { _, err = r.generate(ctx, a) })
		cancel()
		require.ErrorContains(t, err, "greeting.yaml:6:")
		require.NotContains(t, err.Error(), "(cached)")
		require.Less(t, took, 3*time.Second, "the answer comes inside of the deadline")
		t.Logf("failure %d after %s: %v", i+1, took, err)
	}
	oci.start(t)
	var err error
	took := timed(func() { _, err = r.generate(t.Context(), a) })
	require.ErrorContains(t, err, "Manifest generation error (cached)")
	require.ErrorContains(t, err, "greeting.yaml:6:", "our text is in it, whole")
	t.Logf("with the registry back, after %s: %v", took, err)
	a.hard = true
	took = timed(func() { require.Len(t, r.objects(t, a), 1) })
	t.Logf("a hard refresh renders, in %s", took)
	a.hard = false
	require.Len(t, r.objects(t, a), 1, "and what it renders is kept")
}
