// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestARevisionIsAFileSystem(t *testing.T) {
	t.Parallel()
	g := servers.NewGit(t, filepath.Join(t.TempDir(), "r.git"))
	below := craft(t, g, "100755 blob {first}\trun", "100644 blob {first}\ta")
	commit(t, g, "main", craft(t, g, "100644 blob {other}\ta.txt", "040000 tree "+below+"\ta", "120000 blob {a/run}\tlink"))
	commit(t, g, "other", craft(t, g,
		"100644 blob {version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n}\tlarge", "160000 commit "+g.Hash("main")+"\tmodule"))

	for _, binary := range []string{FindBinary(), ""} {
		open := func(rev string) *Files {
			from, err := openCheckout(t.Context(), binary, g.Dir, rev)
			require.NoError(t, err)
			f, err := newFiles(from, from.commit, 100, from.close)
			require.NoError(t, err)
			t.Cleanup(f.Close)
			return f
		}
		f := open("main")
		data, err := fs.ReadFile(f, "a/run")
		require.NoError(t, err)
		require.Equal(t, "first", string(data))
		entries, err := f.ReadDir(".")
		require.NoError(t, err)
		require.Len(t, entries, 3)
		require.Equal(t, "a", entries[0].Name(), "sorted by name, and not as Git sorts folders")
		to, err := f.ReadLink("link")
		require.NoError(t, err)
		require.Equal(t, "a/run", to)
		_, err = f.Lstat("a/none")
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = f.Lstat("a.txt/none")
		require.ErrorIs(t, err, fs.ErrNotExist)

		f.left = 4
		_, err = f.Lstat("a.txt")
		require.ErrorIs(t, err, source.ErrLimit)
		_, err = f.Lstat("a")
		require.ErrorIs(t, err, source.ErrLimit, "after an error of an object nothing is read")

		f = open("other")
		_, err = f.Open("large")
		require.ErrorContains(t, err, "Git LFS")
		_, err = f.Lstat("module/file")
		require.ErrorContains(t, err, `"module" is in a submodule`)
	}
	f, err := OpenRevision(t.Context(), g.Dir, "main")
	require.NoError(t, err)
	f.Close()
	_, err = OpenRevision(t.Context(), g.Dir, "none")
	require.ErrorIs(t, err, source.ErrNotFound)
}
