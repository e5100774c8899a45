// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
)

func TestAnImageIsPulledFromTheMirrorOfItsLongestPrefix(t *testing.T) {
	t.Parallel()
	mirrors := []spec.Mirror{
		{Prefix: "docker.io", To: "registry.internal/hub"}, {Prefix: "ghcr.io", To: "registry.internal/ghcr"},
		{Prefix: "ghcr.io/acme", To: "registry.internal:5000/acme"}, {Prefix: "localhost:5000", To: "registry.internal"},
	}
	digest := "@sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]string{
		"nginx":                         "registry.internal/hub/library/nginx",
		"nginx:1.29":                    "registry.internal/hub/library/nginx:1.29",
		"bitnami/redis:8" + digest:      "registry.internal/hub/bitnami/redis:8" + digest,
		"index.docker.io/a/b":           "registry.internal/hub/a/b",
		"ghcr.io/acme/api:1":            "registry.internal:5000/acme/api:1",
		"ghcr.io/acmecorp/api" + digest: "registry.internal/ghcr/acmecorp/api" + digest,
		"localhost:5000/x:1":            "registry.internal/x:1",
		"quay.io/a/b:1":                 "quay.io/a/b:1",
		"registry.internal/hub/x":       "registry.internal/hub/x",
		"UPPER":                         "UPPER",
		".":                             ".",
	} {
		got, ok := Mirrored(image, mirrors)
		require.Equal(t, want, got)
		require.Equal(t, want != image, ok, image)
	}
}
