// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/project"
)

func TestProjectsAreFoundInProjectsAndOnce(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"apps/shop/ropewalk.yaml", "apps/shop/inner/deep/ropewalk.yaml", "apps/bundle/bundle.cue", "apps/plain/spec.yaml",
		".hidden/ropewalk.yaml", "node_modules/x/ropewalk.yaml",
	} {
		full := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, nil, 0o600))
	}
	require.NoError(t, os.Symlink("../..", filepath.Join(dir, "apps/shop/around")))
	require.NoError(t, os.Symlink("apps/shop", filepath.Join(dir, "zlinked")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	for from, want := range map[string][]string{
		".":                    {"apps/bundle", "apps/shop", "apps/shop/inner/deep"},
		"apps/plain":           nil,
		"apps/plain/spec.yaml": nil,
		"nowhere":              nil,
	} {
		found, err := project.Projects(root.FS(), from)
		require.NoError(t, err, from)
		require.Equal(t, want, found, from)
	}
	found, err := project.Projects(root.FS(), "apps/shop")
	require.NoError(t, err)
	require.Len(t, found, 3, "the link leads to the other bundle: %v", found)
}
