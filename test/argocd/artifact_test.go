// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnArtifactIsADirectoryOfManifests: what ropewalk build pushes needs no
// plugin on the other side.
func TestAnArtifactIsADirectoryOfManifests(t *testing.T) {
	r, oci := newRig(t), newRegistry(t)
	want := r.programs.rendered(t, "../../cue/examples/shop")
	digest := strings.TrimSpace(r.programs.run(t, []string{"DOCKER_CONFIG=" + oci.docker(t)}, "build", "../../cue/examples/shop",
		"--dialect", "argocd", "--kube-version", "1.36.0", "--plain-http", oci.host, "--to", "oci://"+oci.host+"/acme/shop:v1", "--format", "json"))
	require.Contains(t, digest, `"digest"`)
	for _, revision := range []string{"v1", digest[strings.Index(digest, "sha256:"):][:len("sha256:")+64]} {
		a := application{name: "shop", repo: oci.source("acme/shop"), path: ".", revision: revision, hard: true}
		var got []string
		took := timed(func() { got = r.objects(t, a) })
		require.Equal(t, want, got)
		require.Equal(t, "Directory", r.details(t, a).Type)
		t.Logf("%s: %d objects in %s", revision, len(got), took)
	}
}
