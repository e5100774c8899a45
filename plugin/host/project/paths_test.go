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

func TestPathsAreWhatDocumentsName(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	transform := func(name, ref string) string {
		return "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: " + name + "}\nspec: {cueRef: " + ref + "}\n"
	}
	write("apps/shop/ropewalk.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\n"+
		"spec:\n  specs: [api.yaml, c.yaml, broken.yaml, '../specs/*/x.yaml', ../more]\n  policies: [{name: p, cueRef: {type: path, ref: ../../policies}}]\n")
	write("apps/shop/api.yaml", transform("api", "{type: path, ref: ../../shared/api, path: sub}"))
	write("apps/specs/a/x.yaml", transform("a", "{type: path, ref: ../../../../outside}"))
	write("apps/more/b.yaml", transform("b", "{type: embedded, ref: service}")+"---\n")
	write("apps/shop/c.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: c}\ncontainers: {c: {image: x, files: {/etc/x: {source: ../config/x}, /etc/y: {source: /etc/y}}}}\n")
	write("apps/shop/broken.yaml", "apiVersion: ropewalk.dev/v1alpha1\nnonsense: [\n")
	paths, err := project.Paths(project.Options{Dir: dir, Root: ".", Args: []string{"apps/shop"}})
	require.NoError(t, err)
	require.Equal(t, []string{"apps/config/x", "apps/more", "apps/shop/api.yaml", "apps/shop/broken.yaml", "apps/shop/c.yaml", "apps/specs", "policies", "shared/api"}, paths)
}
