// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheImageIsThatOfAReleasedVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0":      "ghcr.io/ropewalk/ropewalk:v0.1.0",
		"v1.2.3-rc.1": "ghcr.io/ropewalk/ropewalk:v1.2.3-rc.1",
		"(devel)":     "", "main": "", "v0.1.0+dirty": "",
		"v0.1.1-0.20261128162310-0123456789ab": "",
	} {
		image, err := imageOf("", version)
		require.Equal(t, want, image)
		if want == "" {
			require.ErrorContains(t, err, "this is a development build ("+version+")")
		}
		own := "registry.example.com:5000/a@sha256:" + strings.Repeat("0", 64)
		image, err = imageOf(own, version)
		require.NoError(t, err)
		require.Equal(t, own, image)
	}
}
