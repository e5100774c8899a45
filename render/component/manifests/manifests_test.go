// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component/manifests"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestFilesOfAFolder(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"a/B.YAML", "a/c.Yml", "a/d.JSON", "a/e.yaml", "a/f+g h.yml", "a/.hidden.yaml", "a/.git/x.yaml", "a/README.md", "a/e.yaml.bak"} {
		files[name] = &fstest.MapFile{}
	}
	got, err := manifests.Files(files, ".", spec.Manifests{Paths: []spec.Text{{Text: "a"}}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a/B.YAML", "a/c.Yml", "a/d.JSON", "a/e.yaml", "a/f+g h.yml"}, got)
}
