// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/test/artifacts"
)

func TestAnArchiveThatAnotherProcessChangedIsNotOverwritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.tar")
	one, two := openArchive(t, file), openArchive(t, file)
	artifacts.Push(t, one, artifacts.Single(t, "one", ""), "v1")
	artifacts.Push(t, two, artifacts.Single(t, "two", ""), "v2")
	require.NoError(t, one.Close())
	err := two.Close()
	require.ErrorIs(t, err, artifact.ErrBusy)
	require.ErrorContains(t, err, "was changed by another process meanwhile: try again")

	l := openArchive(t, file)
	require.NoError(t, artifacts.VerifyLayout(file))
	_, err = artifact.Pull(t.Context(), l, "v1", artifact.PullOptions{})
	require.NoError(t, err)
	_, err = l.Resolve(t.Context(), "v2")
	require.ErrorIs(t, err, artifact.ErrNotFound)
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing stays beside")
}

// openArchive opens an archive, or makes one, whose temporary directory goes with the test.
func openArchive(t testing.TB, file string) *layout.Layout {
	t.Helper()
	l, err := layout.OpenArchive(file, true)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestALayoutThatWasMadeForWhatFailedIsTakenAway(t *testing.T) {
	t.Parallel()
	set := artifacts.Single(t, "a", "")
	dir := filepath.Join(t.TempDir(), "new")
	l := open(t, dir)
	require.NoError(t, l.Push(t.Context(), set.Complete.Layer, bytes.NewReader(set.Complete.Content)))
	require.NoError(t, l.Abandon(t.Context()))
	require.NoDirExists(t, dir)

	l = open(t, dir)
	artifacts.Push(t, open(t, dir), set, "v1")
	require.NoError(t, l.Abandon(t.Context()), "another process has written to it")
	require.NoError(t, artifacts.VerifyLayout(dir))
	_, err := artifact.Pull(t.Context(), open(t, dir), "v1", artifact.PullOptions{})
	require.NoError(t, err)

	l = open(t, dir)
	artifacts.Push(t, l, artifacts.Single(t, "c", ""), "v3")
	require.NoError(t, l.Abandon(t.Context()), "it was there before")
	_, err = open(t, dir).Resolve(t.Context(), "v3")
	require.NoError(t, err)

	file := filepath.Join(t.TempDir(), "a.tar")
	archive := openArchive(t, file)
	artifacts.Push(t, archive, set, "v1")
	require.NoError(t, archive.Abandon(t.Context()))
	require.NoError(t, archive.Close())
	require.NoFileExists(t, file)
}

func TestErrorsOfAnArchiveNameItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.tar")
	f, err := os.Create(file)
	require.NoError(t, err)
	archive := tar.NewWriter(f)
	content := []byte(`{"imageLayoutVersion":"2.0.0"}`)
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: "oci-layout", Mode: 0o644, Size: int64(len(content))}))
	_, err = archive.Write(content)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	require.NoError(t, f.Close())
	_, err = layout.OpenArchive(file, false)
	require.EqualError(t, err, fmt.Sprintf("%q is an image layout of an unsupported version: only version 1 is supported", file))

	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err = layout.OpenArchive(file, false)
	require.ErrorContains(t, err, "set TMPDIR to a directory that can be written")
}
