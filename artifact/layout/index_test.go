// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
