// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"archive/tar"
	"bytes"
	"context"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/oci"
	"github.com/ropewalk/ropewalk/test/servers"
)

// on is a fault for the requests whose path holds part.
func on(part string, h http.Handler) servers.Fault {
	return func(r *http.Request) (http.Handler, bool) { return h, strings.Contains(r.URL.Path, part) }
}

func TestFaultsOfARegistryAreToldApart(t *testing.T) {
	server := servers.InProcess(t)
	push(t, server, "a", "v1", configFlux, layer{layerFlux, tgz(t, module())})
	alter := func(change func([]byte) []byte) http.Handler { return servers.Alter(server.Server(), change) }
	flip := alter(func(b []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b })
	for name, c := range map[string]struct {
		fault servers.Fault
		want  string
		is    error
	}{
		"401":                      {servers.Always(servers.Answer(401, "UNAUTHORIZED", "who?")), "requires valid credentials", source.ErrUnauthorized},
		"403":                      {servers.Always(servers.Answer(403, "DENIED", "no")), "denies access", source.ErrUnauthorized},
		"404":                      {servers.Always(servers.Answer(404, "MANIFEST_UNKNOWN", "none")), "not found in the registry", source.ErrNotFound},
		"404 for a layer":          {on("/blobs/", servers.Answer(404, "BLOB_UNKNOWN", "none")), "has lost sha256:", source.ErrNotFound},
		"429 for ever":             {servers.Always(servers.Answer(429, "TOOMANYREQUESTS", "slow", "Retry-After", "0")), "429", source.ErrUnavailable},
		"500 for ever":             {servers.Always(servers.Answer(500, "UNKNOWN", "oops")), "500", source.ErrUnavailable},
		"a reset":                  {servers.Always(servers.Reset()), "", source.ErrUnavailable},
		"a hang":                   {servers.Always(servers.Hang()), "", source.ErrUnavailable},
		"a hang for a layer":       {on("/blobs/", servers.Hang()), "", source.ErrUnavailable},
		"a manifest that is cut":   {on("/manifests/", servers.Cut(server.Server(), 100)), "the response was truncated: try again", source.ErrUnavailable},
		"a manifest that is other": {on("/manifests/", flip), "the server sent content that does not match its digest", source.ErrDigest},
		"a layer that is cut":      {on("/blobs/", servers.Cut(server.Server(), 100)), "the response was truncated: try again", source.ErrUnavailable},
		"a layer without a byte":   {on("/blobs/", servers.Cut(server.Server(), 0)), "the response was truncated: try again", source.ErrUnavailable},
		"a layer that is other":    {on("/blobs/", flip), "the server sent content that does not match its digest", source.ErrDigest},
		"a layer that is shorter":  {on("/blobs/", alter(func(b []byte) []byte { return b[:len(b)-1] })), "", source.ErrDigest},
		"a layer that is longer":   {on("/blobs/", alter(func(b []byte) []byte { return append(bytes.Clone(b), 'x') })), "", source.ErrDigest},
		"a manifest of 5 MiB":      {on("/manifests/", http.HandlerFunc(huge)), "", source.ErrLimit},
		"a manifest that is none":  {on("/manifests/", http.HandlerFunc(html)), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server.Fault(c.fault)
			f := fetcher(server)
			registries := connect(server)
			registries.Timeout, registries.Attempts = 200*time.Millisecond, 2
			f.Open = func(ctx context.Context, repository string, secret map[string][]byte) (oci.Repository, error) {
				return registries.Repository(ctx, repository, secret)
			}
			ref := "oci://" + server.Host + "/a:v1"
			tree, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
			require.ErrorContains(t, err, ref+": ")
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.Nil(t, tree.FS)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	server.Fault(nil)
	_, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/a:v1"})
	require.NoError(t, err)
}

func huge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
	w.Header().Set("Content-Length", strconv.Itoa(5<<20))
	w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
	_, _ = w.Write(bytes.Repeat([]byte(" "), 5<<20)) // the client may be gone
}

func html(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<html>welcome</html>"))
}

func TestPassingFaultsPass(t *testing.T) {
	server := servers.InProcess(t)
	push(t, server, "a", "v1", configFlux, layer{layerFlux, tgz(t, module())})
	for name, h := range map[string]http.Handler{
		"500 three times": servers.Answer(500, "UNKNOWN", "oops"), "429 three times": servers.Answer(429, "TOOMANYREQUESTS", "slow", "Retry-After", "0"),
	} {
		t.Run(name, func(t *testing.T) {
			server.Fault(servers.First(3, servers.Always(h)))
			tree, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/a:v1"})
			require.NoError(t, err)
			require.Equal(t, digestOf(t, module()), tree.Digest)
		})
	}
}

func TestAFetchEndsWithItsContext(t *testing.T) {
	server := servers.InProcess(t)
	push(t, server, "a", "v1", configFlux, layer{layerFlux, tgz(t, module())})
	server.Fault(on("/blobs/", servers.Hang()))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := fetcher(server).Fetch(ctx, source.Ref{Ref: "oci://" + server.Host + "/a:v1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestCredentialsComeFromTheSecret(t *testing.T) {
	const password = "pass" + "word-1"
	for name, option := range map[string]servers.Option{
		"basic": servers.WithBasicAuth("ann", password), "token": servers.WithTokenAuth("ann", password),
	} {
		t.Run(name, func(t *testing.T) {
			server := servers.InProcess(t, option)
			f := fetcher(server)
			f.Secrets = source.SecretsFunc(func(_ context.Context, name string) (map[string][]byte, error) {
				return map[string][]byte{"username": []byte("ann"), "password": []byte(map[string]string{"good": password, "bad": "bad" + password}[name])}, nil
			})
			seed(t, server, password)
			ref := source.Ref{Ref: "oci://" + server.Host + "/a:v1", Secret: "good"}
			tree, err := f.Fetch(t.Context(), ref)
			require.NoError(t, err)
			require.Equal(t, digestOf(t, module()), tree.Digest)
			_, err = f.Resolve(t.Context(), ref)
			require.NoError(t, err)
			for _, secret := range []string{"bad", ""} {
				ref.Secret = secret
				_, err = f.Fetch(t.Context(), ref)
				require.ErrorIs(t, err, source.ErrUnauthorized)
				require.NotContains(t, err.Error(), password)
				_, err = f.Resolve(t.Context(), ref)
				require.ErrorIs(t, err, source.ErrUnauthorized)
			}
		})
	}
	f := oci.Fetcher{}
	_, err := f.Fetch(t.Context(), source.Ref{Ref: "oci://h/a", Secret: "s"})
	require.EqualError(t, err, `oci://h/a:latest: there are no Secrets here to take "s" from`)
}

// seed pushes the module to a registry that asks for a password.
func seed(t *testing.T, server *servers.OCI, password string) {
	t.Helper()
	registries := connect(server)
	repo, err := registries.Repository(t.Context(), server.Host+"/a", map[string][]byte{"username": []byte("ann"), "password": []byte(password)})
	require.NoError(t, err)
	m := ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, Config: blob(t, repo, configFlux, []byte("{}")),
		Layers: []ocispec.Descriptor{blob(t, repo, layerFlux, tgz(t, module()))},
	}
	m.SchemaVersion = 2
	pushManifest(t, repo, "v1", m.MediaType, m)
}

func TestTLSIsSpokenWithAnAuthority(t *testing.T) {
	server := servers.InProcess(t, servers.WithTLS())
	push(t, server, "a", "v1", configFlux, layer{layerFlux, tgz(t, module())})
	ref := source.Ref{Ref: "oci://" + server.Host + "/a:v1"}
	_, err := fetcher(server).Fetch(t.Context(), ref)
	require.NoError(t, err)
	server.CA = nil
	f := fetcher(server)
	registries := connect(server)
	registries.PlainHTTP = nil
	f.Open = func(ctx context.Context, repository string, secret map[string][]byte) (oci.Repository, error) {
		return registries.Repository(ctx, repository, secret)
	}
	_, err = f.Fetch(t.Context(), ref)
	require.ErrorIs(t, err, source.ErrHostKey)
}

func TestABombInALayerEndsEarly(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	require.NoError(t, tar.NewWriter(z).WriteHeader(&tar.Header{Name: "docs/big.txt", Size: 10 << 30, Mode: 0o644}))
	require.NoError(t, z.Close())
	var zeros bytes.Buffer
	z.Reset(&zeros)
	_, err := z.Write(make([]byte, 64<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for range 160 { // members of one gzip follow each other
		bomb.Write(zeros.Bytes())
	}
	server := servers.InProcess(t)
	push(t, server, "a", "v1", configFlux, layer{layerFlux, bomb.Bytes()})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, err = fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/a:v1"})
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, source.ErrLimit)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "with what the server allocates")
}
