// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package memfs_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/memfs"
)

func TestFilesLieOverAFileSystem(t *testing.T) {
	under := fstest.MapFS{"a/x.yaml": {Data: []byte("under")}, "a/y.yaml": {Data: []byte("under")}}
	over, err := memfs.Over(under, map[string][]byte{"a/x.yaml": []byte("over"), "a/z/new.yaml": []byte("over")})
	require.NoError(t, err)
	for name, want := range map[string]string{"a/x.yaml": "over", "a/y.yaml": "under", "a/z/new.yaml": "over"} {
		data, err := fs.ReadFile(over, name)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		info, err := fs.Stat(over, name)
		require.NoError(t, err)
		require.EqualValues(t, len(want), info.Size())
	}
	entries, err := fs.ReadDir(over, "a")
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"x.yaml", "y.yaml", "z"}, names)
	_, err = fs.Stat(over, "b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = memfs.Over(under, map[string][]byte{"../a": nil})
	require.ErrorIs(t, err, memfs.ErrConflict)
}
