// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package layout_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/test/artifacts"
)

func TestAPipeIsNoPartOfALayout(t *testing.T) {
	t.Parallel()
	set := artifacts.Single(t, "a", "")
	pipe := func(file string) {
		_ = os.Remove(file)
		require.NoError(t, syscall.Mkfifo(file, 0o600))
	}
	file := filepath.Join(t.TempDir(), "a.tar")
	pipe(file)
	_, err := layout.OpenArchive(file, true)
	require.ErrorIs(t, err, artifact.ErrNotLayout)
	require.ErrorContains(t, err, "is not a regular file")

	dir := t.TempDir()
	artifacts.Push(t, open(t, dir), set, "v1")
	pipe(filepath.Join(dir, "blobs", "sha256", set.Complete.Layer.Digest.Encoded()))
	pipe(filepath.Join(dir, ".tmp-left"))
	_, err = artifact.Pull(t.Context(), open(t, dir), "v1", artifact.PullOptions{})
	require.ErrorIs(t, err, artifact.ErrNotFound)
	require.ErrorContains(t, err, "is not a regular file")
	require.True(t, artifacts.Push(t, open(t, dir), set, "v1").Changed)
	_, err = artifact.Pull(t.Context(), open(t, dir), "v1", artifact.PullOptions{})
	require.NoError(t, err)
	for _, name := range []string{"index.json", "oci-layout"} {
		dir := t.TempDir()
		artifacts.Push(t, open(t, dir), set, "v1")
		pipe(filepath.Join(dir, name))
		l, err := layout.Open(dir, false)
		if err == nil {
			_, err = l.Resolve(t.Context(), "v1")
		}
		require.ErrorIs(t, err, artifact.ErrNotLayout, name)
	}
}
