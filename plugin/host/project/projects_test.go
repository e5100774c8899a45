// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

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

func TestBundlesOfOtherNamesAreFoundOutsideOfProjects(t *testing.T) {
	const bundle = "bundle: {apiVersion: \"v1alpha1\", instances: {}}\n"
	fsys := fstest.MapFS{}
	for name, text := range map[string]string{
		"flux.cue": bundle, "apps/flux-aio.cue": bundle, "apps/flux-sync.cue": bundle, "apps/own/bundle.cue": bundle, "apps/own/below/db.cue": bundle,
		"apps/own/beside.cue": bundle, "apps/runtime.cue": "runtime: {}\n", "apps/values.cue": "values: bundle: instances: {}\n",
		"shop/ropewalk.yaml": "", "shop/db.cue": bundle, "module/timoni.cue": "", "module/db.cue": bundle,
		".hidden/db.cue": bundle, "cue.mod/pkg/db.cue": bundle,
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for from, want := range map[string][]string{
		".":                 {"apps/flux-aio.cue", "apps/flux-sync.cue", "apps/own/below/db.cue", "flux.cue"},
		"apps":              {"apps/flux-aio.cue", "apps/flux-sync.cue", "apps/own/below/db.cue"},
		"apps/own":          {"apps/own/below/db.cue"},
		"shop":              nil,
		"nowhere":           nil,
		"apps/flux-aio.cue": nil,
	} {
		found, err := project.Bundles(fsys, from)
		require.NoError(t, err, from)
		require.Equal(t, want, found, from)
	}
}
