// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
)

// FuzzLayers feeds anything to what reads the layers of a manifest.
func FuzzLayers(f *testing.F) {
	digest := `"sha256:` + strings.Repeat("a", 64) + `"`
	f.Add([]byte(`{"schemaVersion":2,"config":{"digest":` + digest + `,"size":2},"layers":[],"annotations":{"` + AnnotationLayers + `":"[{}]"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Parse(ocispec.MediaTypeImageManifest, data)
		if err != nil {
			return
		}
		refs, err := layerRefs(m)
		for _, r := range refs {
			require.True(t, err == nil && digests.Is(r.Digest) && digests.Is(r.Tree))
		}
		if l, err := contentLayer(m); err == nil {
			require.Len(t, m.Layers, 1)
			require.Contains(t, []string{TypeLayer, TypeFluxLayer}, l.MediaType)
		}
	})
}

// FuzzLayer feeds anything to the unpacker: what comes out is inside its limits
// and a tree of files that can be written.
func FuzzLayer(f *testing.F) {
	pack := func(pairs ...string) []byte {
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		t := tar.NewWriter(zipped)
		for i := 0; i < len(pairs); i += 2 {
			require.NoError(f, writeEntry(t, pairs[i], []byte(pairs[i+1])))
		}
		require.NoError(f, t.Close())
		require.NoError(f, zipped.Close())
		return b.Bytes()
	}
	f.Add(pack("a.yaml", "kind: A\n", "b.yaml", ""))
	f.Add(pack("../a", "x"))
	f.Add([]byte("\x1f\x8b"))
	limits := Limits{Files: 10, Bytes: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := unpack(bytes.NewReader(data), limits)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(files), limits.Files)
		total := 0
		for i, file := range files {
			require.NoError(t, checkPath(file.Path))
			require.True(t, i == 0 || files[i-1].Path < file.Path)
			total += len(file.Data)
		}
		require.LessOrEqual(t, int64(total), limits.Bytes)
	})
}

func TestRetentionTagsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for _, want := range []retained{
		{digest: digest}, {digest: digest, layer: true},
		{digest: digest, at: time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC)}, {digest: digest, layer: true, at: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)},
		{digest: digest, at: time.Date(2026, 11, 21, 13, 15, 0, 1, time.UTC)}, {digest: digest, at: time.Date(2026, 11, 21, 13, 15, 0, 120_000_000, time.UTC)},
	} {
		tag := retentionTag(want.digest, want.at, want.layer)
		require.True(t, isTag(tag), tag)
		got, ok := parseRetention(tag)
		require.True(t, ok, tag)
		require.Equal(t, want, got)
	}
	for _, tag := range []string{"v1", "rw-", "rw-1", "rwl-20261121T131500Z-", "rw-20269921T131500Z-" + digest[7:], "rw--" + digest[7:], "rw-20261121T131500.10Z-" + digest[7:], strings.ToUpper("rw-" + digest[7:])} {
		_, ok := parseRetention(tag)
		require.False(t, ok, tag)
	}
}
