// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestACopyMakesADamagedLayoutGoodAgain(t *testing.T) {
	t.Parallel()
	set := artifacts.Layered(t, "kind: A\n", "kind: B\n", "")
	signer, verifier, _, _ := keys(t)
	from := openLayout(t, t.TempDir())
	artifacts.Push(t, from, set, "v1")
	signed, err := artifact.SignSet(t.Context(), from, "v1", signer)
	require.NoError(t, err)
	signature := layerOf(t, from, signed[0].Signature)
	for name, change := range map[string]func([]byte) []byte{"removed": nil, "altered": flip} {
		for what, digest := range map[string]string{
			"the content of the whole": set.Complete.Layer.Digest.String(), "the content of a layer": set.Layers[1].Layer.Digest.String(),
			"a signature": signature,
		} {
			t.Run(what+" is "+name, func(t *testing.T) {
				dir := t.TempDir()
				again := func(opts artifact.CopyOptions) bool {
					copied, err := artifact.Copy(t.Context(), from, openLayout(t, dir), "v1", opts)
					require.NoError(t, err)
					return copied.Changed
				}
				full := artifact.CopyOptions{Referrers: true, Check: true, At: at}
				require.True(t, again(full))
				require.False(t, again(full))
				harm(t, dir, digest, change)
				require.False(t, again(artifact.CopyOptions{Referrers: true}))
				require.True(t, again(full))
				require.NoError(t, artifacts.VerifyLayout(dir))
				_, err := artifact.VerifySet(t.Context(), openLayout(t, dir), "v1", verifier)
				require.NoError(t, err)
			})
		}
	}
}

// layerOf is the digest of the content of a manifest.
func layerOf(t *testing.T, from artifact.Store, digest string) string {
	t.Helper()
	found, err := artifact.Inspect(t.Context(), from, digest, artifact.PullOptions{})
	require.NoError(t, err)
	return found.Blobs[len(found.Blobs)-1].Digest
}

// lose has a registry say that a blob is not there until it is sent once more.
func lose(o *servers.OCI, digest string) { loseAt(o, "/blobs/"+digest) }

// loseAt is lose for a blob or a manifest, by the end of its path.
func loseAt(o *servers.OCI, path string) {
	var back atomic.Bool
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		if r.Method == http.MethodPut && (strings.HasSuffix(r.URL.Path, path) || strings.HasSuffix(path, "/blobs/"+r.URL.Query().Get("digest"))) {
			back.Store(true)
		}
		read := r.Method == http.MethodHead || r.Method == http.MethodGet
		return servers.Answer(http.StatusNotFound, "BLOB_UNKNOWN", "it is gone"), !back.Load() && read && strings.HasSuffix(r.URL.Path, path)
	})
}

func TestABlobThatARegistryLostIsCopiedAgain(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*servers.OCI{"in process": servers.InProcess(t), "docker-registry": servers.Registry(t)} {
		set := artifacts.Layered(t, "kind: A\n", "kind: B\n", "")
		from := openLayout(t, t.TempDir())
		artifacts.Push(t, from, set, "v1")
		for what, digest := range map[string]string{"whole": set.Complete.Layer.Digest.String(), "layer": set.Layers[0].Layer.Digest.String()} {
			t.Run(name+" "+what, func(t *testing.T) {
				opts := artifact.CopyOptions{Referrers: true, Check: true, At: time.Now()}
				_, err := artifact.Copy(t.Context(), from, repository(o, "shop"), "v1", opts)
				require.NoError(t, err)
				lose(o, digest)
				copied, err := artifact.Copy(t.Context(), from, repository(o, "shop"), "v1", opts)
				require.NoError(t, err)
				require.True(t, copied.Changed)
				_, err = artifact.Pull(t.Context(), repository(o, "shop"), "v1", artifact.PullOptions{})
				require.NoError(t, err)
				again, err := artifact.Copy(t.Context(), from, repository(o, "shop"), "v1", opts)
				require.NoError(t, err)
				require.False(t, again.Changed)
				o.Fault(nil)
			})
		}
	}
}

func TestWhoSignsAgainHasASignatureThatCanBeRead(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	set := artifacts.Single(t, "a", "")
	t.Run("in a layout", func(t *testing.T) {
		for name, change := range map[string]func([]byte) []byte{"removed": nil, "altered": flip} {
			dir := t.TempDir()
			artifacts.Push(t, openLayout(t, dir), set, "v1")
			signed, err := artifact.SignSet(t.Context(), openLayout(t, dir), "v1", signer)
			require.NoError(t, err)
			harm(t, dir, layerOf(t, openLayout(t, dir), signed[0].Signature), change)
			_, err = artifact.SignSet(t.Context(), openLayout(t, dir), "v1", signer)
			require.NoError(t, err, name)
			_, err = artifact.VerifySet(t.Context(), openLayout(t, dir), "v1", verifier)
			require.NoError(t, err, name)
		}
	})
	for name, o := range map[string]*servers.OCI{"in process": servers.InProcess(t), "docker-registry": servers.Registry(t)} {
		t.Run(name, func(t *testing.T) {
			artifacts.Push(t, repository(o, "shop"), set, "v1")
			signed, err := artifact.SignSet(t.Context(), repository(o, "shop"), "v1", signer)
			require.NoError(t, err)
			lose(o, layerOf(t, repository(o, "shop"), signed[0].Signature))
			_, err = artifact.SignSet(t.Context(), repository(o, "shop"), "v1", signer)
			require.NoError(t, err)
			_, err = artifact.VerifySet(t.Context(), repository(o, "shop"), "v1", verifier)
			require.NoError(t, err)
		})
	}
	t.Run("in a registry that keeps what it damaged", func(t *testing.T) {
		o := servers.InProcess(t)
		artifacts.Push(t, repository(o, "shop"), set, "v1")
		signed, err := artifact.SignSet(t.Context(), repository(o, "shop"), "v1", signer)
		require.NoError(t, err)
		blob := layerOf(t, repository(o, "shop"), signed[0].Signature)
		o.Fault(func(r *http.Request) (http.Handler, bool) {
			return servers.Alter(o.Server(), flip), r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, blob)
		})
		_, err = artifact.SignSet(t.Context(), repository(o, "shop"), "v1", signer)
		require.ErrorIs(t, err, artifact.ErrDigest)
		require.ErrorContains(t, err, "does not replace it")
	})
}
