// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// FuzzIndex feeds anything to the reader of index.json.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"digest":"sha256:` + strings.Repeat("a", 64) + `","size":1,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parseIndex(data)
		if err != nil {
			return
		}
		out, err := x.encode()
		require.NoError(t, err)
		again, err := parseIndex(out)
		require.NoError(t, err)
		twice, err := again.encode()
		require.NoError(t, err)
		require.Equal(t, string(out), string(twice))
	})
}

// TestAnIndexEndsAtItsFirstBadEntry counts what is allocated: entries without a digest would
// take fifty times their text.
func TestAnIndexEndsAtItsFirstBadEntry(t *testing.T) {
	data := []byte(`{"schemaVersion":2,"manifests":[` + strings.Repeat(`{"a":1},`, 1_000_000) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := parseIndex(data)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, manifest.ErrNotLayout)
	require.ErrorContains(t, err, `index.json names "": only sha256 digests are read`)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(data)))

	_, err = parseIndex([]byte(`{"schemaVersion":2,"manifests":{}}`))
	require.ErrorContains(t, err, "manifests is not a list")
	x, err := parseIndex([]byte(`{"schemaVersion":2,"manifests":null}`))
	require.NoError(t, err)
	require.Empty(t, x.Manifests)
}
