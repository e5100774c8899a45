// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
)

func TestNobodyIsLostOfThoseWhoWriteOneArchiveAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 12 {
		file := filepath.Join(t.TempDir(), "a.tar")
		const many = 6
		var group errgroup.Group
		for i := range many {
			// All of them find no file.
			l, err := layout.OpenArchive(file, true)
			require.NoError(t, err)
			push(t, l, single(t, fmt.Sprint(i), ""), fmt.Sprint("v", i))
			group.Go(l.Close)
		}
		require.NoError(t, group.Wait(), round)
		l, err := layout.OpenArchive(file, false)
		require.NoError(t, err)
		require.NoError(t, l.Verify(t.Context()))
		for i := range many {
			_, err := artifact.Pull(t.Context(), l, fmt.Sprint("v", i), artifact.PullOptions{})
			require.NoError(t, err)
		}
		entries, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing stays beside")
	}
}

func TestWhatIsDeletedInAnArchiveThatOthersChangedStaysDeleted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.tar")
	open := func() *layout.Layout {
		l, err := layout.OpenArchive(file, true)
		require.NoError(t, err)
		return l
	}
	first := open()
	old := single(t, "old", "")
	push(t, first, old, "v1")
	require.NoError(t, first.Close())
	one, two := open(), open()
	require.NoError(t, one.Delete(t.Context(), old.Complete.Descriptor))
	push(t, two, single(t, "new", ""), "v2")
	require.NoError(t, two.Close())
	require.NoError(t, one.Close())
	l := open()
	_, err := l.Resolve(t.Context(), "v1")
	require.ErrorIs(t, err, artifact.ErrNotFound)
	_, err = artifact.Pull(t.Context(), l, "v2", artifact.PullOptions{})
	require.NoError(t, err)
	there, err := l.Exists(t.Context(), old.Complete.Layer)
	require.NoError(t, err)
	require.False(t, there)
}

func TestALayoutThatWasMadeForWhatFailedIsTakenAway(t *testing.T) {
	t.Parallel()
	set := single(t, "a", "")
	dir := filepath.Join(t.TempDir(), "new")
	l := open(t, dir)
	push(t, l, set, "v1")
	require.NoError(t, l.Abandon(t.Context()))
	require.NoDirExists(t, dir)

	l = open(t, dir)
	push(t, l, set, "v1")
	push(t, open(t, dir), single(t, "b", ""), "v2")
	require.NoError(t, l.Abandon(t.Context()), "others have written to it")
	require.NoError(t, open(t, dir).Verify(t.Context()))
	_, err := artifact.Pull(t.Context(), open(t, dir), "v1", artifact.PullOptions{})
	require.NoError(t, err)

	l = open(t, dir)
	push(t, l, single(t, "c", ""), "v3")
	require.NoError(t, l.Abandon(t.Context()), "it was there before")
	_, err = open(t, dir).Resolve(t.Context(), "v3")
	require.NoError(t, err)

	file := filepath.Join(t.TempDir(), "a.tar")
	archive, err := layout.OpenArchive(file, true)
	require.NoError(t, err)
	push(t, archive, set, "v1")
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
