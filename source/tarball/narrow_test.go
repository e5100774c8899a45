// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// treeOf is a tree of files.
func treeOf(t testing.TB, files map[string]string) source.Tree {
	t.Helper()
	data := map[string][]byte{}
	for name, text := range files {
		data[name] = []byte(text)
	}
	tree, err := source.NewTree(data, "origin", "v1")
	require.NoError(t, err)
	tree.Pinned = "pinned"
	return tree
}

func TestNarrowIsWhatThePathFetcherReads(t *testing.T) {
	monorepo := map[string]string{
		"cue.mod/module.cue": "m", "cue.mod/pkg/x/x.cue": "x", "cue.mod/pkg/x/x.txt": "x", "a.cue": "a", "a.txt": "a", ".gitignore": "x",
		"modules/api/api.cue": "a", "modules/api/data/x.json": "x", "modules/api/.hidden/x.cue": "h", "modules/web/w.cue": "w", "modules/web/w.txt": "w",
		"lib/l.cue": "@extern(embed)\npackage lib\nx: _ @embed(file=data/x.json)\n", "lib/data/x.json": "x", "lib/node_modules/x/x.cue": "x",
		"nested/cue.mod/module.cue": "n", "nested/n.cue": "n", "nested/deep/pkg/p.cue": "p", "nested/deep/pkg/p.txt": "p", "nested/n.txt": "n",
		"docs/readme.md": "d", "__pycache__/x.pyc": "x",
	}
	plain := map[string]string{"m/a.cue": "a", "m/sub/b.cue": "b", "m/sub/b.txt": "b", "n/c.cue": "c", "n/c.txt": "c"}
	for name, c := range map[string]struct {
		files map[string]string
		dir   string
		want  []string
	}{
		"the whole module": {monorepo, "", []string{"a.cue", "a.txt", "cue.mod/module.cue", "cue.mod/pkg/x/x.cue", "cue.mod/pkg/x/x.txt", "docs/readme.md",
			"lib/data/x.json", "lib/l.cue", "modules/api/api.cue", "modules/api/data/x.json", "modules/web/w.cue", "modules/web/w.txt"}},
		"a package of it": {monorepo, "modules/api", []string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/x/x.cue", "cue.mod/pkg/x/x.txt",
			"lib/data/x.json", "lib/l.cue", "modules/api/api.cue", "modules/api/data/x.json", "modules/web/w.cue"}},
		"a module inside":              {monorepo, "nested", []string{"cue.mod/module.cue", "deep/pkg/p.cue", "deep/pkg/p.txt", "n.cue", "n.txt"}},
		"a package of a module inside": {monorepo, "nested/deep/pkg", []string{"cue.mod/module.cue", "deep/pkg/p.cue", "deep/pkg/p.txt", "n.cue"}},
		"no module at all":             {plain, "", []string{"m/a.cue", "m/sub/b.cue", "m/sub/b.txt", "n/c.cue", "n/c.txt"}},
		"a folder without a module":    {plain, "m/sub", []string{"m/a.cue", "m/sub/b.cue", "m/sub/b.txt", "n/c.cue"}},
	} {
		t.Run(name, func(t *testing.T) {
			narrow, err := tarball.Narrow(t.Context(), treeOf(t, c.files), c.dir, source.Limits{})
			require.NoError(t, err)
			require.Equal(t, c.want, namesOf(t, narrow))
			require.Equal(t, []string{"origin", "v1", "pinned"}, []string{narrow.Origin, narrow.Revision, narrow.Pinned})

			root := t.TempDir()
			for name, text := range c.files {
				name = filepath.Join(root, filepath.FromSlash(name))
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
				require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
			}
			read, err := local.Fetcher{Root: root}.Fetch(t.Context(), source.Ref{Ref: ".", Path: c.dir})
			require.NoError(t, err)
			require.Equal(t, read.Digest, narrow.Digest)
			require.Equal(t, read.Dir, narrow.Dir)
		})
	}
}

func TestNarrowLeavesATreeAloneThatIsAModule(t *testing.T) {
	tree := treeOf(t, map[string]string{"cue.mod/module.cue": "m", "a.cue": "a", "data/x.json": "x"})
	narrow, err := tarball.Narrow(t.Context(), tree, "", source.Limits{})
	require.NoError(t, err)
	require.Equal(t, tree, narrow)
}

func TestNarrowRefuses(t *testing.T) {
	tree := treeOf(t, map[string]string{"a.cue": "a", ".hidden/b.cue": "b"})
	for dir, want := range map[string]struct {
		text string
		is   error
	}{
		"none":    {`origin has no folder "none"`, source.ErrNotFound},
		"../x":    {`path "../x" leaves its root`, source.ErrPath},
		".hidden": {`origin has nothing in ".hidden" that a module may hold`, source.ErrNotFound},
	} {
		_, err := tarball.Narrow(t.Context(), tree, dir, source.Limits{})
		require.EqualError(t, err, want.text)
		require.ErrorIs(t, err, want.is)
	}
	_, err := tarball.Narrow(t.Context(), treeOf(t, map[string]string{"a.cue": "", "b.cue": "", ".x": ""}), "", source.Limits{Files: 1})
	require.ErrorIs(t, err, source.ErrLimit)
}

func BenchmarkGzip(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		var entries []entry
		for i := range n {
			entries = append(entries, file(fmt.Sprintf("d%d/f%d.cue", i%10, i), fmt.Sprintf("package d\n\nx%d: {a: 1, b: \"text\"}\n", i)))
		}
		data := zipped(b, writeTar(b, entries...))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var tree source.Builder
				if err := tarball.Gzip(b.Context(), bytes.NewReader(data), &tree, tarball.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
