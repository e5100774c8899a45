// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package checkout

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

func TestOnlyTheFileOfAFlagIsReadOutside(t *testing.T) {
	outside, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	repository, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"values.yaml", "secret.yaml", "crds/a.yaml"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(outside, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(name), 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(repository, "link.yaml")))
	files, err := Open(t.Context(), repository, "")
	require.NoError(t, err)
	t.Cleanup(files.Close)
	flags := files.Flags(&command.ProjectFlags{
		Values: []string{filepath.Join(outside, "values.yaml"), filepath.Join(repository, "link.yaml")}, Crds: []string{filepath.Join(outside, "crds")},
	})
	require.Equal(t, []string{".given/0/values.yaml", "link.yaml"}, flags.Values)
	for _, name := range []string{".given/0/values.yaml", ".given/1/crds/a.yaml"} {
		_, err := fs.ReadFile(files, name)
		require.NoError(t, err, name)
	}
	for _, name := range []string{".given/0/secret.yaml", ".given/0/crds/a.yaml", ".given/0/values.yaml/../secret.yaml", ".given/0/../secret.yaml", ".given/1/secret.yaml", "link.yaml"} {
		_, err := fs.ReadFile(files, name)
		require.Error(t, err, name)
	}
	for _, name := range []string{".given", ".given/0", ".given/1"} {
		list, err := fs.ReadDir(files, name)
		require.Error(t, err, "%s: %v", name, list)
	}
	_, err = files.Lstat("link.yaml/x")
	require.Error(t, err)
}

func TestInsideFollowsNoLinkOfTheRepository(t *testing.T) {
	repository, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(repository, "a"), 0o700))
	require.NoError(t, os.Symlink(".", filepath.Join(repository, "self")))
	require.NoError(t, os.Symlink("a", filepath.Join(repository, "link")))
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.Symlink(repository, other))
	t.Chdir(filepath.Join(other, "a"))
	for name, want := range map[string]string{
		"b": "a/b", "../c": "c", ".": "a", "../self/c": "self/c", "../link/b": "link/b", filepath.Join(repository, "c"): "c", filepath.Join(other, "a/b"): "a/b",
	} {
		got, ok := Inside(repository, name)
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"../..", "../../x", "/etc/passwd"} {
		_, ok := Inside(repository, name)
		require.False(t, ok, name)
	}
}
