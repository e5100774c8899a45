// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/ropewalk/ropewalk/test/servers"
)

// pushModule pushes a module of one file under a tag, as Flux does.
func pushModule(t *testing.T, server *servers.OCI, name, tag, text string) {
	t.Helper()
	pushFiles(t, server, name, tag, map[string]string{"module.cue": text})
}

// pushFiles pushes files under a tag, as Flux does.
func pushFiles(t *testing.T, server *servers.OCI, name, tag string, files map[string]string) {
	t.Helper()
	repo, err := remote.NewRepository(server.Host + "/" + name)
	require.NoError(t, err)
	repo.PlainHTTP = true
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o600}))
		_, err = w.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	config, err := oras.PushBytes(t.Context(), repo, "application/vnd.cncf.flux.config.v1+json", []byte("{}"))
	require.NoError(t, err)
	layer, err := oras.PushBytes(t.Context(), repo, "application/vnd.cncf.flux.content.v1.tar+gzip", archive.Bytes())
	require.NoError(t, err)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: []ocispec.Descriptor{layer},
	})
	require.NoError(t, err)
	_, err = oras.TagBytes(t.Context(), repo, ocispec.MediaTypeImageManifest, manifest, tag)
	require.NoError(t, err)
}

func TestAnArtifactWithoutFilesReplacesNoFolder(t *testing.T) {
	alone(t)
	server := servers.InProcess(t)
	pushFiles(t, server, "empty", "v1", nil)
	dir := writeIn(t, t.TempDir(), map[string]string{"keep.yaml": "keep: me\n"})
	code, _, stderr := call(t, "artifact", "pull", "oci://"+server.Host+"/empty:v1", "-o", dir, "--plain-http", server.Host)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "oci://"+server.Host+"/empty:v1 has no files: "+dir+" is left as it is")
	data, err := os.ReadFile(filepath.Join(dir, "keep.yaml"))
	require.NoError(t, err)
	require.Equal(t, "keep: me\n", string(data))
}

// TestPullAsksWhereATagLeads: without it a tag leads for five minutes where it led before.
func TestPullAsksWhereATagLeads(t *testing.T) {
	alone(t)
	for kind, start := range registries() {
		t.Run(kind, func(t *testing.T) {
			server := start(t)
			publish := func(text string) {
				module := webModule()["web.cue"]
				pushModule(t, server, "web", "v1", strings.Replace(module, `metadata: name: "web"`, `metadata: name: "`+text+`"`, 1))
			}
			dir := writeIn(t, t.TempDir(), map[string]string{"web.yaml": specOf("web", "type: oci, ref: \"oci://"+server.Host+"/web:v1\"")})
			render := func(args ...string) string {
				return good(t, append([]string{"render", dir, "--plain-http", server.Host}, args...)...)
			}
			publish("old")
			require.Contains(t, render(), "name: old\n")
			publish("new")
			server.Reset()
			require.Contains(t, render(), "name: old\n")
			require.Empty(t, server.Requests(), "where it leads is known for five minutes")
			require.Contains(t, render("--pull"), "name: new\n")
			require.Contains(t, render(), "name: new\n", "and from then on where it leads now")
		})
	}
}
