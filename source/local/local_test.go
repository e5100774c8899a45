// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
)

// project writes files below a new directory.
func project(t testing.TB, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range files {
		put(t, root, name, name)
	}
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

// fetch gets a tree from the disk and from a file system, which must be one.
func fetch(root, ref, sub string) (source.Tree, error) {
	at := source.Ref{Type: "path", Ref: ref, Path: sub}
	tree, err := local.Fetcher{Root: root}.Fetch(context.Background(), at)
	in := local.Fetcher{Root: filepath.Base(root), FS: os.DirFS(filepath.Dir(root))}
	same, also := in.Fetch(context.Background(), at)
	if fmt.Sprint(err) != fmt.Sprint(also) || !reflect.DeepEqual(tree, same) {
		return tree, fmt.Errorf("on disk %v and %w, in a file system %v and %w", tree, err, same, also)
	}
	return tree, err
}

// names are the files of a tree.
func names(t *testing.T, tree source.Tree) []string {
	t.Helper()
	var out []string
	require.NoError(t, fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			out = append(out, name)
		}
		return err
	}))
	return out
}

func TestFetchTakesTheRightFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files    []string
		ref, sub string
		dir      string
		want     []string
	}{
		"a folder with cue.mod": {
			[]string{"m/cue.mod/module.cue", "m/cue.mod/pkg/x/x.cue", "m/a.cue", "m/data/x.json", "m/.git/config", "m/.hidden",
				"m/node_modules/x/y.js", "other/a.cue"},
			"./m", "", ".", []string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/x/x.cue", "data/x.json"}},
		"a sub-path of it": {
			[]string{"m/cue.mod/module.cue", "m/sub/a.cue", "m/sub/b.txt", "m/c.cue", "m/d.txt"},
			"m", "sub", "sub", []string{"c.cue", "cue.mod/module.cue", "sub/a.cue", "sub/b.txt"}},
		"a package of a module above": {
			[]string{"cue.mod/module.cue", "modules/api/a.cue", "modules/api/t/x.txt", "lib/l.cue", "lib/l.txt", "specs/a.yaml",
				"nested/cue.mod/module.cue", "nested/n.cue"},
			"modules/api", "", "modules/api", []string{"cue.mod/module.cue", "lib/l.cue", "modules/api/a.cue", "modules/api/t/x.txt"}},
		"no cue.mod anywhere": {
			[]string{"m/a.cue", "m/sub/b.cue", "n/c.cue"}, "m/", "", ".", []string{"a.cue", "sub/b.cue"}},
		"no cue.mod anywhere, and a sub-path": {
			[]string{"m/a.cue", "m/sub/b.cue", "m/sub/x.txt", "m/y.txt"}, "m", "sub", "sub", []string{"a.cue", "sub/b.cue", "sub/x.txt"}},
		"the root itself": {
			[]string{"cue.mod/module.cue", "a.cue"}, ".", "", ".", []string{"a.cue", "cue.mod/module.cue"}},
		"a way around inside the root": {
			[]string{"m/a.cue", "n/b.cue"}, "n/../m", "", ".", []string{"a.cue"}},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := fetch(project(t, c.files...), c.ref, c.sub)
			require.NoError(t, err)
			require.Equal(t, c.want, names(t, tree))
			require.Equal(t, c.dir, tree.Dir)
		})
	}
}

func TestFetchBringsWhatImportedPackagesEmbed(t *testing.T) {
	root := project(t, "cue.mod/module.cue", "modules/api/a.cue", "lib/data/x.json", "other/y.json")
	put(t, root, "lib/l.cue", "@extern(embed)\npackage lib\nx: _ @embed(file=data/x.json)\n")
	tree, err := fetch(root, "modules/api", "")
	require.NoError(t, err)
	require.Equal(t, []string{"cue.mod/module.cue", "lib/data/x.json", "lib/l.cue", "modules/api/a.cue"}, names(t, tree))
}

func TestFetchRefusesReferences(t *testing.T) {
	root := project(t, "m/a.cue", "m/sub/b.cue", "file.cue")
	for name, c := range map[string]struct {
		ref, sub, want string
		is             error
	}{
		"above the root":         {"../x", "", `"../x" leaves the root of the project`, source.ErrPath},
		"above it on a detour":   {"m/../../x", "", `"m/../../x" leaves the root of the project`, source.ErrPath},
		"an absolute path":       {"/etc", "", `"/etc" is not a relative path: write one with / between folders`, source.ErrPath},
		"a backslash":            {`m\sub`, "", `"m\\sub" is not a relative path: write one with / between folders`, source.ErrPath},
		"nothing":                {"", "", `"" is not a relative path: write one with / between folders`, source.ErrPath},
		"a sub-path that leaves": {"m", "../x", `"../x" leaves the root of the project`, source.ErrPath},
		"what is not there":      {"m/none", "", `there is no folder "m/none"`, source.ErrNotFound},
		"a file":                 {"file.cue", "", `"file.cue" is a file; expected the folder of a CUE package`, source.ErrNotRegular},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetch(root, c.ref, c.sub)
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, c.is)
		})
	}
}

func TestFetchRefusesWhatIsNoRegularFile(t *testing.T) {
	outside := project(t, "secret.cue")
	leads := func(name, to string) string {
		return fmt.Sprintf("%q is a symlink to %q, which leads out of the repository or project", name, to)
	}
	for name, c := range map[string]struct {
		make func(root string) error
		want string
	}{
		"a link out of the root": {
			func(root string) error {
				return os.Symlink(filepath.Join(outside, "secret.cue"), filepath.Join(root, "m/l.cue"))
			},
			leads("m/l.cue", filepath.Join(outside, "secret.cue"))},
		"a link to a folder that is imported": {
			func(root string) error {
				put(t, root, "m/a.cue", `import "m.example/dir"`)
				return os.Symlink(outside, filepath.Join(root, "m/dir"))
			},
			leads("m/dir", outside)},
		"a pipe": {
			func(root string) error { return syscall.Mkfifo(filepath.Join(root, "m/p.cue"), 0o600) },
			`"m/p.cue" is a pipe; a module may hold only regular files and folders`},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, "m/a.cue")
			require.NoError(t, c.make(root))
			_, err := fetch(root, "m", "")
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, source.ErrNotRegular)
		})
	}
	t.Run("a module behind a link", func(t *testing.T) {
		root := project(t, "x")
		require.NoError(t, os.Symlink(outside, filepath.Join(root, "m")))
		_, err := fetch(root, "m", "")
		require.EqualError(t, err, `"m" is a symlink; a module may hold only regular files and folders`)
	})
	t.Run("a package with a link out of the root is left out of the modules of others", func(t *testing.T) {
		root := project(t, "cue.mod/module.cue", "m/a.cue", "lib/l.cue", "lib/sub/s.cue", "other/o.cue")
		require.NoError(t, os.Symlink(filepath.Join(outside, "secret.cue"), filepath.Join(root, "lib/out.cue")))
		require.NoError(t, os.Symlink("o.cue", filepath.Join(root, "other/in.cue")))
		tree, err := fetch(root, "m", "")
		require.NoError(t, err)
		require.Equal(t, []string{"cue.mod/module.cue", "lib/sub/s.cue", "m/a.cue", "other/in.cue", "other/o.cue"}, names(t, tree))
		_, err = fetch(root, "lib", "")
		require.EqualError(t, err, leads("lib/out.cue", filepath.Join(outside, "secret.cue")))
		_, err = fetch(root, "lib/sub", "")
		require.EqualError(t, err, leads("lib/out.cue", filepath.Join(outside, "secret.cue")), "CUE takes what is above into a package")
	})
	t.Run("a link that no module of ours goes through is left alone", func(t *testing.T) {
		root := project(t, "cue.mod/module.cue", "m/a.cue", "docs/x.md")
		require.NoError(t, os.Symlink(outside, filepath.Join(root, "docs/link")))
		_, err := fetch(root, "m", "")
		require.NoError(t, err)
	})
}

func TestFetchStopsAtItsLimits(t *testing.T) {
	root := project(t, "m/a.cue", "m/b.cue", "m/c/d/e.cue")
	for want, limits := range map[string]source.Limits{
		`the tree holds more than 1 files, at "b.cue" (no flag raises this limit)`:  {Files: 1},
		`the tree holds more than 10 bytes, at "b.cue" (no flag raises this limit)`: {Bytes: 10},
		`"m/c/d" lies more than 1 folders deep (no flag raises this limit)`:         {Depth: 1},
	} {
		_, err := local.Fetcher{Root: root, Limits: limits}.Fetch(context.Background(), source.Ref{Ref: "m"})
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, source.ErrLimit)
	}
	for i := range 30 {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "m", "z", fmt.Sprint(i)), 0o700))
	}
	_, err := local.Fetcher{Root: root, Limits: source.Limits{Files: 3}}.Fetch(context.Background(), source.Ref{Ref: "m"})
	require.EqualError(t, err, `more than 30 files and folders, at "m/z" (no flag raises this limit)`)
}

func TestFetchEndsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := local.Fetcher{Root: project(t, "m/a.cue")}.Fetch(ctx, source.Ref{Ref: "m"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheDigestDoesNotDependOnThePlace(t *testing.T) {
	files := []string{"cue.mod/module.cue", "a.cue", "b/c.cue"}
	one, err := fetch(project(t, files...), ".", "")
	require.NoError(t, err)
	other := t.TempDir()
	for _, i := range []int{2, 0, 1} {
		put(t, other, "deep/"+files[i], files[i])
		require.NoError(t, os.Chmod(filepath.Join(other, "deep", files[i]), 0o755)) //nolint:gosec // another mode is the point
	}
	two, err := fetch(other, "deep", "")
	require.NoError(t, err)
	require.Equal(t, one.Digest, two.Digest)
}

func TestFetchReadsAFileSystem(t *testing.T) {
	in := fstest.MapFS{
		"repo/m/cue.mod/module.cue": {Data: []byte("x")}, "repo/m/a.cue": {Data: []byte("a")}, "repo/lib/l.cue": {Data: []byte("l")},
		"repo/m/cue.mod/pkg/l": {Data: []byte("../../../lib"), Mode: fs.ModeSymlink}, "outside/o.cue": {Data: []byte("o")},
		"repo/bad/cue.mod/pkg/o": {Data: []byte("../../../../outside"), Mode: fs.ModeSymlink}, "repo/pipe/p.cue": {Mode: fs.ModeNamedPipe},
	}
	get := func(root, ref string) (source.Tree, error) {
		return local.Fetcher{Root: root, FS: in}.Fetch(t.Context(), source.Ref{Ref: ref})
	}
	for root, ref := range map[string]string{"": "repo/m", ".": "repo/m", "repo": "m"} {
		tree, err := get(root, ref)
		require.NoError(t, err)
		require.Equal(t, []string{"a.cue", "cue.mod/module.cue", "cue.mod/pkg/l/l.cue"}, names(t, tree))
	}
	_, err := get("repo", "bad")
	require.EqualError(t, err, `"bad/cue.mod/pkg/o" is a symlink to "../../../../outside", which leads out of the repository or project`)
	_, err = get("", "repo/bad")
	require.NoError(t, err, "the root is further out")
	_, err = get("repo", "pipe")
	require.EqualError(t, err, `"pipe/p.cue" is a pipe; a module may hold only regular files and folders`)
	_, err = get("none", "m")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func BenchmarkFetch(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		root := b.TempDir()
		for i := range n {
			put(b, root, fmt.Sprintf("p%d/a.cue", i%50), "a: 1\n")
			put(b, root, fmt.Sprintf("p%d/b%d.cue", i%50, i), "a: 1\n")
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (local.Fetcher{Root: root}).Fetch(b.Context(), source.Ref{Ref: "."}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleFetcher() {
	root, err := os.MkdirTemp("", "ropewalk")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(root) }()
	_, err = local.Fetcher{Root: root}.Fetch(context.Background(), source.Ref{Type: "path", Ref: "../secrets"})
	fmt.Println(err)
	// Output: "../secrets" leaves the root of the project
}
