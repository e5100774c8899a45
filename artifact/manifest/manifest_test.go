// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/digests"
)

func TestTheEmptyObjectHasItsDigest(t *testing.T) {
	require.Equal(t, EmptyDigest, DigestOf([]byte(EmptyJSON)).String())
}

// FuzzManifest feeds anything to the reader of manifests: what it takes has only
// digests and sizes that can be asked for, and a shape of one kind.
func FuzzManifest(f *testing.F) {
	digest := `"sha256:` + strings.Repeat("a", 64) + `"`
	f.Add(ocispec.MediaTypeImageManifest, []byte(`{"schemaVersion":2,"config":{"mediaType":"a","digest":`+digest+`,"size":2},"layers":[{"digest":`+digest+`,"size":-1}]}`))
	f.Add(ocispec.MediaTypeImageManifest, []byte(`{"schemaVersion":2,"config":{"digest":`+digest+`,"size":2},"layers":[],"annotations":{"a":"[{}]"}}`))
	f.Add(ocispec.MediaTypeImageIndex, []byte(`{"schemaVersion":2,"manifests":[{"digest":`+digest+`,"size":1}],"subject":{"digest":`+digest+`}}`))
	f.Fuzz(func(t *testing.T, mediaType string, data []byte) {
		m, err := Parse(mediaType, data)
		if err != nil {
			return
		}
		for _, d := range append(m.Parts(), m.Layers...) {
			require.True(t, digests.Is(d.Digest.String()))
			require.GreaterOrEqual(t, d.Size, int64(0))
		}
		require.False(t, IsIndex(mediaType) && len(m.Layers) > 0)
	})
}

func TestContentIsGivenAwayOnlyWhereItIsRight(t *testing.T) {
	data := []byte("some content")
	d := Describe("text/plain", data)
	for name, c := range map[string]struct {
		content string
		want    string
	}{
		"right":   {"some content", ""},
		"altered": {"some Content", "the content does not match the digest"},
		"short":   {"some", "ends after 4 of 12 bytes"},
		"long":    {"some content and more", "is longer than its 12 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 5, 4096} {
				r := Verify(io.NopCloser(strings.NewReader(c.content)), d)
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
	data, err := Encode(map[string]string{"b": "<&>", "a": "ü"})
	require.NoError(t, err)
	require.Equal(t, `{"a":"ü","b":"<&>"}`, string(data))
	require.True(t, json.Valid(data))
}
