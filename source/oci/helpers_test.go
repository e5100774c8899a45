// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	oras "oras.land/oras-go/v2/registry/remote"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/oci"
	"github.com/ropewalk/ropewalk/test/servers"
)

const (
	configCUE    = "application/vnd.cue.module.v1+json"
	configTimoni = "application/vnd.timoni.config.v1+json"
	configFlux   = "application/vnd.cncf.flux.config.v1+json"
	layerZip     = "application/zip"
	layerTimoni  = "application/vnd.timoni.content.v1.tar+gzip"
	layerFlux    = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// connect is what a host brings.
func connect(server *servers.OCI) *remote.Registries {
	return &remote.Registries{
		PlainHTTP: func(host string) bool { return host == server.Host && server.CA == nil },
		CA:        map[string][]byte{"": server.CA}, Backoff: time.Millisecond, Timeout: 2 * time.Second,
	}
}

func fetcher(server *servers.OCI) oci.Fetcher {
	registries := connect(server)
	return oci.Fetcher{
		Open: func(ctx context.Context, repository string, secret map[string][]byte) (oci.Repository, error) {
			return registries.Repository(ctx, repository, secret)
		},
		Explain: remote.Explain,
	}
}

// layer is a layer with its type.
type layer struct {
	mediaType string
	data      []byte
}

// blob pushes a blob.
func blob(t testing.TB, repo *oras.Repository, mediaType string, data []byte) ocispec.Descriptor {
	t.Helper()
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	require.NoError(t, repo.Blobs().Push(t.Context(), desc, bytes.NewReader(data)))
	return desc
}

// push pushes an artifact and gives its digest.
func push(t testing.TB, server *servers.OCI, name, tag, config string, layers ...layer) string {
	t.Helper()
	repo := open(t, server, name)
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: blob(t, repo, config, []byte("{}"))}
	m.SchemaVersion = 2
	for _, l := range layers {
		m.Layers = append(m.Layers, blob(t, repo, l.mediaType, l.data))
	}
	return pushManifest(t, repo, tag, m.MediaType, m)
}

func open(t testing.TB, server *servers.OCI, name string) *oras.Repository {
	t.Helper()
	repo, err := connect(server).Repository(t.Context(), server.Host+"/"+name, nil)
	require.NoError(t, err)
	return repo
}

func pushManifest(t testing.TB, repo *oras.Repository, tag, mediaType string, manifest any) string {
	t.Helper()
	data, err := json.Marshal(manifest)
	require.NoError(t, err)
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	require.NoError(t, repo.PushReference(t.Context(), desc, bytes.NewReader(data), tag))
	return desc.Digest.String()
}

// tgz is a tar.gz as Flux and Timoni write it: with a root. A text that begins
// with "-> " is the target of a symlink.
func tgz(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: ".", Mode: 0o755}))
	for _, name := range sorted(files) {
		if target, ok := strings.CutPrefix(files[name], "-> "); ok {
			require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}))
			continue
		}
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o600}))
		_, err := w.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return out.Bytes()
}

func sorted(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// digestOf is the digest of a tree of files.
func digestOf(t testing.TB, files map[string]string) string {
	t.Helper()
	data := map[string][]byte{}
	for name, text := range files {
		data[name] = []byte(text)
	}
	tree, err := source.NewTree(data, "", "")
	require.NoError(t, err)
	return tree.Digest
}

// module is a module that everyone can publish.
func module() map[string]string {
	return map[string]string{
		"cue.mod/module.cue": "module: \"example.com/web@v0\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"web.cue":            "package web\n\nx: 1\n",
		"parts/p.cue":        "package parts\n\ny: 2\n",
		"parts/data.json":    "{}\n",
	}
}

func read(t testing.TB, tree source.Tree, name string) string {
	t.Helper()
	data, err := fs.ReadFile(tree.FS, name)
	require.NoError(t, err)
	return string(data)
}

// kinds are the registries that artifacts are fetched from.
func kinds() map[string]func(testing.TB, ...servers.Option) *servers.OCI {
	return map[string]func(testing.TB, ...servers.Option) *servers.OCI{"docker-registry": servers.Registry, "in process": servers.InProcess}
}
