// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/json"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
)

const hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestAReferenceIsRead(t *testing.T) {
	for text, want := range map[string]reference{
		"oci://ghcr.io/org/repo:v1.2.0":                           {repository: "ghcr.io/org/repo", tag: "v1.2.0"},
		"oci://ghcr.io/org/repo":                                  {repository: "ghcr.io/org/repo", tag: "latest"},
		"oci://localhost:5000/repo":                               {repository: "localhost:5000/repo", tag: "latest"},
		"oci://[::1]:5000/repo:a":                                 {repository: "[::1]:5000/repo", tag: "a"},
		"oci://ghcr.io/org/repo@sha256:" + hex:                    {repository: "ghcr.io/org/repo", digest: "sha256:" + hex},
		"oci://ghcr.io/org/repo:v1@sha256:" + hex:                 {repository: "ghcr.io/org/repo", tag: "v1", digest: "sha256:" + hex},
		"oci://ghcr.io/org/repo?semver=^1.2":                      {repository: "ghcr.io/org/repo", versions: "^1.2"},
		"oci://ghcr.io/org/repo?semver=>=1.0.0 <2.0.0":            {repository: "ghcr.io/org/repo", versions: ">=1.0.0 <2.0.0"},
		"oci://ghcr.io/org/repo?semver=%3E%3D1.0.0%20%3C2.0.0":    {repository: "ghcr.io/org/repo", versions: ">=1.0.0 <2.0.0"},
		"oci://ghcr.io/org/repo?semver=>=1.0.0-0":                 {repository: "ghcr.io/org/repo", versions: ">=1.0.0-0"},
		"oci://ghcr.io/a/b/c/d_e.f-g:" + strings.Repeat("x", 128): {repository: "ghcr.io/a/b/c/d_e.f-g", tag: strings.Repeat("x", 128)},
	} {
		t.Run(text, func(t *testing.T) {
			r, err := parse(text)
			require.NoError(t, err)
			require.Equal(t, want, r)
		})
	}
}

func TestAReferenceIsRefused(t *testing.T) {
	const secret = "oci reference must hold no credentials"
	for text, want := range map[string]string{
		"":                           "the reference does not begin with oci://",
		"ghcr.io/org/repo:v1":        "the reference does not begin with oci://",
		"https://ghcr.io/org/repo":   "the reference does not begin with oci://",
		"oci://":                     "the reference has no host, or no repository",
		"oci://repo":                 "the reference has no host, or no repository",
		"oci:///org/repo":            "the reference has no host, or no repository",
		"oci://ghcr.io/":             `"" is not a repository name`,
		"oci://ghcr.io/Org/Repo":     `"Org/Repo" is not a repository name`,
		"oci://ghcr.io/a/../b":       `"a/../b" is not a repository name`,
		"oci://ghcr.io//b":           `"/b" is not a repository name`,
		"oci://gh cr.io/a":           `"gh cr.io" is not a host name`,
		"oci://gｈcr.io/a":            `"gｈcr.io" is not a host name, which is letters and digits of ASCII`,
		"oci://ghcr。io/a":            `"ghcr。io" is not a host name`,
		"oci://bücher.example/a":     `"bücher.example" is not a host name`,
		"oci://gh*cr.io/a":           `"gh*cr.io" is not a host name`,
		"oci://ghcr.io:65536/a":      `"ghcr.io:65536" has no port from 1 to 65535`,
		"oci://ghcr.io:0/a":          `"ghcr.io:0" has no port`,
		"oci://[::1]:/a":             `"[::1]:" has no port`,
		"oci://ghcr.io/a:":           "the tag is empty",
		"oci://ghcr.io/a:-x":         `"-x" is not a tag`,
		"oci://ghcr.io/a:b/c":        `"b/c" is not a tag`,
		"oci://ghcr.io/a@sha256:abc": `"sha256:abc" is not a digest`,
		"oci://ghcr.io/a@sha256:" + strings.ToUpper(hex): "is not a digest",
		"oci://ghcr.io/a#b":                                 `"a#b" is not a repository name`,
		"oci://ghcr.io/a\n":                                 "the reference holds characters that are no text",
		"oci://ghcr.io/a?branch=main":                       `the query has an unknown key "branch"`,
		"oci://ghcr.io/a?semver=":                           "semver in the query has no value that can be read",
		"oci://ghcr.io/a?semver=%zz":                        "semver in the query has no value that can be read",
		"oci://ghcr.io/a?semver=new":                        `"new" is not a range of versions`,
		"oci://ghcr.io/a:v1?semver=^1":                      "the reference has a range of versions beside a tag or a digest",
		"oci://ann:pass" + "word@ghcr.io/a":                 secret,
		"oci://ann:pass" + "word@sha256:x@ghcr.io/a":        secret,
		"oci://ghcr.io/a@sha512:" + hex:                     "what follows @ is not sha256: and the 64 digits of a digest",
		"oci://ghcr.io/a@":                                  "what follows @ is not sha256: and the 64 digits of a digest",
		"oci://tok" + "en@ghcr.io/a@sha256:" + hex:          secret,
		"oci://ghcr.io/" + strings.Repeat("a/", 2000) + "a": "the reference is longer than 2048 bytes",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := read(text)
			require.ErrorContains(t, err, want)
			require.ErrorIs(t, err, source.ErrReference)
			require.Less(t, len(err.Error()), 800)
			require.NotContains(t, err.Error(), "password")
			require.NotContains(t, err.Error(), "token@")
		})
	}
}

func FuzzReference(f *testing.F) {
	for _, seed := range []string{
		"oci://ghcr.io/org/repo:v1", "oci://h:1/r@sha256:" + hex, "oci://h/r:t@sha256:" + hex, "oci://h/r?semver=>=1.0.0 <2.0.0", "oci://u:p@h/r", "oci://[::1]/r",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(text)
		if err != nil {
			require.ErrorIs(t, err, source.ErrReference)
			return
		}
		// What is read is what is written, so that the form which is kept leads to
		// the same place.
		again, err := parse(r.String())
		require.NoError(t, err, "%q", r)
		require.Equal(t, r.repository, again.repository)
		require.Equal(t, r.tag, again.tag)
		require.Equal(t, r.digest, again.digest)
		require.NotContains(t, r.String()[len(scheme):len(scheme)+len(r.repository)], "@")
	})
}

func FuzzManifest(f *testing.F) {
	for _, config := range []string{configCUE, configTimoni, configFlux, ocispec.MediaTypeImageConfig} {
		for _, layer := range []string{layerZip, layerTimoni, layerFlux, ocispec.MediaTypeImageLayerGzip} {
			m := ocispec.Manifest{Config: ocispec.Descriptor{MediaType: config}, Layers: []ocispec.Descriptor{{MediaType: layer, Digest: "sha256:" + hex, Size: 3}}}
			data, err := json.Marshal(m)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Add([]byte(`{"layers": [{"size": -1}], "manifests": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data, ocispec.MediaTypeImageManifest)
		if err != nil {
			return
		}
		limits := source.Limits{Bytes: 1000, Files: 1, Depth: 1}
		c, err := selectLayers(m, limits)
		if err != nil {
			return
		}
		var size int64
		for _, layer := range c.layers {
			require.NoError(t, layer.Digest.Validate())
			require.NotNil(t, layer.Digest.Verifier())
			require.GreaterOrEqual(t, layer.Size, int64(0))
			size += layer.Size
		}
		require.NotEmpty(t, c.layers)
		require.LessOrEqual(t, size, int64(1000+1<<20+256))
	})
}
