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

// TestArgoCDKeepsAnOutageUntilAHardRefresh: a sidecar that is not there is an error like
// any other to Argo CD.
func TestArgoCDKeepsAnOutageUntilAHardRefresh(t *testing.T) {
	r := newRig(t)
	a := application{name: "app", repo: commit(t, local(t)).file(), path: "app", revision: "main", plugin: plugin()}
	r.sidecar.kill()
	for range 3 {
		_, err := r.generate(t.Context(), a)
		require.ErrorContains(t, err, "could not find cmp-server plugin")
		require.NotContains(t, err.Error(), "(cached)")
	}
	r.startSidecar(t)
	_, err := r.generate(t.Context(), a)
	require.ErrorContains(t, err, "Manifest generation error (cached)")
	t.Log(err)
	a.hard = true
	require.Len(t, r.objects(t, a), 1)
	a.hard = false
	require.Len(t, r.objects(t, a), 1)
}

// TestAModuleThatTheRepoServerDoesNotSendIsExplained: it sends what the annotation
// manifest-generate-paths names.
func TestAModuleThatTheRepoServerDoesNotSendIsExplained(t *testing.T) {
	r := newRigWith(t, []string{"--plugin-use-manifest-generate-paths"})
	a := application{name: "app", repo: commit(t, local(t)).file(), path: "app", revision: "main", plugin: plugin(), hard: true, generatePaths: "."}
	_, err := r.generate(t.Context(), a)
	require.ErrorContains(t, err, `greeting.yaml:4:`)
	require.ErrorContains(t, err, `Argo CD has sent only "app" of the repository: `+
		`add the missing folder to the annotation argocd.argoproj.io/manifest-generate-paths of the Application, such as .;/modules`)
	t.Log(err)
	a.generatePaths = ".;/modules"
	require.Len(t, r.objects(t, a), 1)
	a.generatePaths = ""
	require.Len(t, r.objects(t, a), 1)
}
