// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
)

// The query of an OCI reference has no plus for a space: "+" is a part of a version.
func TestVersionsOfAChartAreReadAsTheyAreWritten(t *testing.T) {
	for version, want := range map[string]string{
		"":              "?semver=%2A",
		"1.2.3+build":   ":1.2.3_build",
		">= 1.8.0-rc.0": "?semver=%3E%3D%201.8.0-rc.0",
		">=1.0.0+a <2":  "?semver=%3E%3D1.0.0%2Ba%20%3C2",
		"^1.2 || 2.x":   "?semver=%5E1.2%20%7C%7C%202.x",
	} {
		ref, ok := chartOf(spec.Helm{Chart: spec.Text{Text: "oci://registry.example.com/web"}, Version: spec.Text{Text: version}})
		require.True(t, ok)
		require.Equal(t, "oci://registry.example.com/web"+want, ref.Ref)
	}
}
