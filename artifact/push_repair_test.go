// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// harm changes the file of a blob of a layout; nil removes it.
func harm(t *testing.T, dir, digest string, change func([]byte) []byte) {
	t.Helper()
	file := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
	if change == nil {
		require.NoError(t, os.Remove(file))
		return
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, change(data), 0o600))
}

func flip(data []byte) []byte { data[len(data)/2] ^= 1; return data }
func cut(data []byte) []byte  { return data[:len(data)/2] }

func TestAPushMakesADamagedLayoutGoodAgain(t *testing.T) {
	t.Parallel()
	set := artifacts.Layered(t, "kind: A\n", "kind: B\n", "")
	for name, change := range map[string]func([]byte) []byte{"removed": nil, "altered": flip, "cut short": cut} {
		for what, digest := range map[string]string{
			"the content of the whole": set.Complete.Layer.Digest.String(), "the manifest of the whole": set.Complete.Descriptor.Digest.String(),
			"the content of a layer": set.Layers[1].Layer.Digest.String(), "the manifest of a layer": set.Layers[1].Descriptor.Digest.String(),
		} {
			t.Run(what+" is "+name, func(t *testing.T) {
				dir := t.TempDir()
				artifacts.Push(t, openLayout(t, dir), set, "v1")
				require.False(t, artifacts.Push(t, openLayout(t, dir), set, "v1").Changed)
				harm(t, dir, digest, change)
				require.Error(t, artifacts.VerifyLayout(dir))
				again := artifacts.Push(t, openLayout(t, dir), set, "v1")
				require.True(t, again.Changed)
				require.Equal(t, set.Complete.Descriptor.Digest.String(), again.Digest)
				require.NoError(t, artifacts.VerifyLayout(dir))
				require.False(t, artifacts.Push(t, openLayout(t, dir), set, "v1").Changed)
			})
		}
	}
}

func TestAnUnchangedLayerThatIsDamagedIsNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := artifacts.Layered(t, "kind: A\n", "kind: B\n", "")
	artifacts.Push(t, openLayout(t, dir), first, "v1")
	harm(t, dir, first.Layers[0].Layer.Digest.String(), flip)
	artifacts.Push(t, openLayout(t, dir), artifacts.Layered(t, "kind: A\n", "kind: C\n", ""), "v1")
	got, err := artifact.Pull(t.Context(), openLayout(t, dir), "v1", artifact.PullOptions{Layer: "base"})
	require.NoError(t, err)
	require.Equal(t, "kind: A\n", string(got.Files[0].Data))
}

func TestABlobThatARegistryLostIsPushedAgain(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*servers.OCI{"in process": servers.InProcess(t), "docker-registry": servers.Registry(t)} {
		t.Run(name, func(t *testing.T) {
			set := artifacts.Layered(t, "kind: A\n", "kind: B\n", "")
			artifacts.Push(t, repository(o, "shop"), set, "v1")
			lost := "/v2/shop/blobs/" + set.Complete.Layer.Digest.String()
			o.Fault(servers.First(2, func(r *http.Request) (http.Handler, bool) {
				return servers.Answer(http.StatusNotFound, "BLOB_UNKNOWN", "it is gone"), r.Method == http.MethodHead && r.URL.Path == lost
			}))
			o.Reset()
			pushed := artifacts.Push(t, repository(o, "shop"), set, "v1")
			o.Fault(nil)
			require.True(t, pushed.Changed)
			require.Equal(t, set.Complete.Descriptor.Digest.String(), pushed.Digest)
			require.Contains(t, strings.Join(o.Lines(), "\n"), "digest=sha256%3A"+strings.TrimPrefix(set.Complete.Layer.Digest.String(), "sha256:"))
			require.False(t, artifacts.Push(t, repository(o, "shop"), set, "v1").Changed)
		})
	}
}

func TestABlobThatARegistryDamagedAndKeepsIsSaid(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	set := artifacts.Single(t, "kind: A\n", "")
	artifacts.Push(t, repository(o, "shop"), set, "v1")
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		short := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", "3")
		})
		return short, r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, set.Complete.Layer.Digest.String())
	})
	_, err := artifact.Push(t.Context(), repository(o, "shop"), set, []string{"v1"}, artifact.PushOptions{})
	require.ErrorIs(t, err, artifact.ErrDigest)
	require.ErrorContains(t, err, "is damaged in the store, which does not replace it")
}

func TestAManifestThatALayoutLostIsNoAbsenceOfReferrers(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	for name, change := range map[string]func([]byte) []byte{"removed": nil, "altered": flip} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			set := artifacts.Single(t, "a", "")
			artifacts.Push(t, openLayout(t, dir), set, "v1")
			signed, err := artifact.SignSet(t.Context(), openLayout(t, dir), "v1", signer)
			require.NoError(t, err)
			harm(t, dir, signed[0].Signature, change)
			_, err = artifact.Referrers(t.Context(), openLayout(t, dir), set.Complete.Descriptor, "")
			require.ErrorIs(t, err, map[bool]error{true: artifact.ErrDamaged, false: artifact.ErrDigest}[change == nil])
			require.ErrorContains(t, err, signed[0].Signature)
			_, err = artifact.VerifySet(t.Context(), openLayout(t, dir), "v1", verifier)
			require.ErrorContains(t, err, signed[0].Signature)
			require.NotContains(t, err.Error(), "has no signature")
			_, err = artifact.SignSet(t.Context(), openLayout(t, dir), "v1", signer)
			require.ErrorContains(t, err, signed[0].Signature)
			to := openLayout(t, t.TempDir())
			_, err = artifact.Copy(t.Context(), openLayout(t, dir), to, "v1", artifact.CopyOptions{Referrers: true})
			require.ErrorContains(t, err, signed[0].Signature)
			_, err = to.Resolve(t.Context(), "v1")
			require.ErrorIs(t, err, artifact.ErrNotFound, "nothing is there as if there were no signature")
			_, err = artifact.Inspect(t.Context(), openLayout(t, dir), "v1", artifact.PullOptions{})
			require.ErrorContains(t, err, signed[0].Signature)
			_, err = artifact.Copy(t.Context(), openLayout(t, dir), to, "v1", artifact.CopyOptions{})
			require.NoError(t, err, "without what is attached it can be copied")
		})
	}
}

// Of a registry a list may name what it no longer has.
func TestAReferrerThatARegistryListsAndLostIsAnError(t *testing.T) {
	t.Parallel()
	signer, _, _, _ := keys(t)
	o := servers.InProcess(t)
	set := artifacts.Single(t, "a", "")
	artifacts.Push(t, repository(o, "shop"), set, "v1")
	signed, err := artifact.SignSet(t.Context(), repository(o, "shop"), "v1", signer)
	require.NoError(t, err)
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(http.StatusNotFound, "MANIFEST_UNKNOWN", "it is gone"), strings.HasSuffix(r.URL.Path, "/manifests/"+signed[0].Signature)
	})
	_, err = artifact.Copy(t.Context(), repository(o, "shop"), openLayout(t, t.TempDir()), "v1", artifact.CopyOptions{Referrers: true})
	require.ErrorContains(t, err, signed[0].Signature)
}
