// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
)

func TestTheEmptyObjectHasItsDigest(t *testing.T) {
	require.Equal(t, emptyDigest, digestOf([]byte(emptyJSON)).String())
}

// FuzzManifest feeds anything to the reader of manifests: what it takes has only
// digests and sizes that can be asked for, and a shape of one kind.
func FuzzManifest(f *testing.F) {
	digest := `"sha256:` + strings.Repeat("a", 64) + `"`
	f.Add(ocispec.MediaTypeImageManifest, []byte(`{"schemaVersion":2,"config":{"mediaType":"a","digest":`+digest+`,"size":2},"layers":[{"digest":`+digest+`,"size":-1}]}`))
	f.Add(ocispec.MediaTypeImageManifest, []byte(`{"schemaVersion":2,"config":{"digest":`+digest+`,"size":2},"layers":[],"annotations":{"`+AnnotationLayers+`":"[{}]"}}`))
	f.Add(ocispec.MediaTypeImageIndex, []byte(`{"schemaVersion":2,"manifests":[{"digest":`+digest+`,"size":1}],"subject":{"digest":`+digest+`}}`))
	f.Fuzz(func(t *testing.T, mediaType string, data []byte) {
		m, err := parseManifest(mediaType, data)
		if err != nil {
			return
		}
		for _, d := range append(m.parts(), m.Layers...) {
			require.True(t, isDigest(d.Digest.String()))
			require.GreaterOrEqual(t, d.Size, int64(0))
		}
		require.False(t, isIndex(mediaType) && len(m.Layers) > 0)
		refs, err := m.layerRefs()
		for _, r := range refs {
			require.True(t, err == nil && isDigest(r.Digest) && isDigest(r.Tree))
		}
		if l, err := m.content(); err == nil {
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

// FuzzIndex feeds anything to the reader of index.json.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"digest":"sha256:` + strings.Repeat("a", 64) + `","size":1,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parseIndex(data)
		if err != nil {
			return
		}
		out, err := x.bytes()
		require.NoError(t, err)
		again, err := parseIndex(out)
		require.NoError(t, err)
		twice, err := again.bytes()
		require.NoError(t, err)
		require.Equal(t, string(out), string(twice))
	})
}

func TestRetentionTagsAreReadAsTheyAreWritten(t *testing.T) {
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

func TestContentIsGivenAwayOnlyWhereItIsRight(t *testing.T) {
	data := []byte("some content")
	d := describe("text/plain", data)
	for name, c := range map[string]struct {
		content string
		want    string
	}{
		"right":   {"some content", ""},
		"altered": {"some Content", "has other content than its digest says"},
		"short":   {"some", "ends after 4 of 12 bytes"},
		"long":    {"some content and more", "goes on after its 12 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 5, 4096} {
				r := verify(io.NopCloser(strings.NewReader(c.content)), d)
				var got []byte
				var err error
				for err == nil {
					block := make([]byte, size)
					var n int
					n, err = r.Read(block)
					got = append(got, block[:n]...)
				}
				if c.want == "" {
					require.ErrorIs(t, err, io.EOF)
					require.Equal(t, data, got)
					continue
				}
				require.ErrorIs(t, err, ErrDigest)
				require.ErrorContains(t, err, c.want)
				require.True(t, name == "long" || len(got) < len(data), "the end is held back")
			}
		})
	}
}

func TestManifestsAreJSONWithoutEscapes(t *testing.T) {
	data, err := encode(map[string]string{"b": "<&>", "a": "ü"})
	require.NoError(t, err)
	require.Equal(t, `{"a":"ü","b":"<&>"}`, string(data))
	require.True(t, json.Valid(data))
}
