// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/test/servers"
)

// craft makes a commit out of lines of git ls-tree, with {text} in place of a
// hash for the blob of that text; trees are made of folders by the caller.
func craft(t testing.TB, g *servers.Git, lines ...string) (tree string) {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		if before, rest, ok := strings.Cut(line, "{"); ok {
			text, after, _ := strings.Cut(rest, "}")
			line = before + strings.TrimSpace(g.Input(text, "hash-object", "-w", "--stdin")) + after
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSpace(g.Input(b.String(), "mktree", "--missing"))
}

func commit(t testing.TB, g *servers.Git, branch, tree string) string {
	t.Helper()
	hash := strings.TrimSpace(g.Run("commit-tree", "-m", branch, tree))
	g.Run("update-ref", "refs/heads/"+branch, hash)
	return hash
}

func TestSymlinksStandForWhatTheyLeadTo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	shared := craft(t, g, "100644 blob {shared}\tfile.cue", "120000 blob {file.cue}\talias")
	pkg := craft(t, g, "120000 blob {../../../shared}\ttimoni.sh", "100644 blob {own}\town")
	mod := craft(t, g, "040000 tree "+pkg+"\tpkg")
	inner := craft(t, g, "040000 tree "+mod+"\tcue.mod", "100755 blob {run}\trun", "120000 blob {./run}\tagain", "120000 blob {cue.mod/pkg/timoni.sh/alias}\tthrough")
	g.Run("update-ref", "refs/heads/main", commit(t, g, "main", craft(t, g, "040000 tree "+inner+"\tmodule", "040000 tree "+shared+"\tshared")))
	base := servers.GitHTTP(t, root)
	ways(t, func(t *testing.T, f *Fetcher) {
		result, err := f.FetchResult(t.Context(), source.Ref{Ref: base + "/r.git", Path: "module"})
		require.NoError(t, err)
		require.Equal(t, []string{"again", "cue.mod/pkg/own", "cue.mod/pkg/timoni.sh/alias", "cue.mod/pkg/timoni.sh/file.cue", "run", "through"}, names(t, result.Tree))
		for name, text := range map[string]string{"again": "run", "through": "shared", "cue.mod/pkg/timoni.sh/alias": "shared"} {
			require.Equal(t, text, content(t, result.Tree, name))
		}
		require.Empty(t, result.TreeID, "the folder does not say what its files are")
		result, err = f.FetchResult(t.Context(), source.Ref{Ref: base + "/r.git", Path: "shared"})
		require.NoError(t, err)
		require.NotEmpty(t, result.TreeID, "all links stay inside")
	})
}

func TestWhatIsNoFileIsRefusedByName(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	lfs := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
	link := func(target string) string { return craft(t, g, "120000 blob {"+target+"}\tl") }
	cases := []struct {
		name string
		tree string
		is   error
		says string
	}{
		{"a symlink to elsewhere", link("/etc/passwd"), source.ErrNotRegular, `"in/l" is a symlink to "/etc/passwd"`},
		{"a symlink out of the repository", link("../../x"), source.ErrNotRegular, "leads out of the repository"},
		{"a symlink to nothing", link("none"), source.ErrNotRegular, "leads to nothing"},
		{"a symlink to itself", link("l"), source.ErrNotRegular, "leads to itself"},
		{"a symlink to its folder", link("."), source.ErrNotRegular, "a folder around it"},
		{"symlinks in a circle", craft(t, g, "120000 blob {b}\ta", "120000 blob {a}\tb"), source.ErrNotRegular, "leads to itself"},
		{
			"folders in a circle", craft(t, g, "040000 tree "+craft(t, g, "120000 blob {../b}\tl")+"\ta", "040000 tree "+craft(t, g, "120000 blob {../a}\tl")+"\tb"),
			source.ErrNotRegular, "leads to itself",
		},
		{"a submodule", craft(t, g, "160000 commit "+strings.Repeat("1a", 20)+"\tsub"), source.ErrNotRegular, `"in/sub" is a submodule`},
		{"a pointer of LFS", craft(t, g, "100644 blob {"+lfs+"}\tbig.bin"), source.ErrNotRegular, `"in/big.bin" is a pointer to Git LFS`},
		{"a folder of Git", craft(t, g, "040000 tree "+craft(t, g, "100644 blob {[core]}\tconfig")+"\t.GIT"), source.ErrPath, ""},
		{"a short name of Git", craft(t, g, "100644 blob {x}\tgit~1"), source.ErrPath, ""},
		{"a backslash", craft(t, g, "100644 blob {x}\ta\\b"), source.ErrPath, "backslash"},
	}
	for i, c := range cases {
		commit(t, g, fmt.Sprint("b", i), craft(t, g, "040000 tree "+c.tree+"\tin"))
	}
	base := servers.GitHTTP(t, root)
	ways(t, func(t *testing.T, f *Fetcher) {
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				_, err := f.Fetch(t.Context(), source.Ref{Ref: fmt.Sprintf("%s/r.git?branch=b%d", base, i)})
				require.ErrorIs(t, err, c.is, "%v", err)
				require.ErrorContains(t, err, c.says)
			})
		}
	})
}

func TestAPackageComesWithItsModule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	g.Commit(map[string]string{
		"mod/cue.mod/module.cue": "module: \"x\"", "mod/cue.mod/gen/a.txt": "a", "mod/top.cue": "package top", "mod/notes.md": "no",
		"mod/pkg/p.cue": "package p", "mod/pkg/data.json": "{}", "mod/lib/l.cue": "package l", "mod/lib/l.md": "no",
		"mod/emb/e.cue": "@extern(embed)\npackage e\nx: _ @embed(file=\"d.json\")", "mod/emb/d.json": "{}", "mod/other/cue.mod/module.cue": "module: \"y\"", "mod/other/o.cue": "package o",
		"plain/a.txt": "a",
	}, "first")
	base := servers.GitHTTP(t, root)
	want := []string{"cue.mod/gen/a.txt", "cue.mod/module.cue", "emb/d.json", "emb/e.cue", "lib/l.cue", "pkg/data.json", "pkg/p.cue", "top.cue"}
	ways(t, func(t *testing.T, f *Fetcher) {
		result, err := f.FetchResult(t.Context(), source.Ref{Ref: base + "/r.git", Path: "mod/pkg"})
		require.NoError(t, err)
		require.Equal(t, want, names(t, result.Tree))
		require.Equal(t, "pkg", result.Tree.Dir)
		require.Equal(t, g.Hash("main:mod")+":pkg", result.TreeID)
		result, err = f.FetchResult(t.Context(), source.Ref{Ref: base + "/r.git", Path: "plain"})
		require.NoError(t, err)
		require.Equal(t, []string{"a.txt"}, names(t, result.Tree))
		require.Equal(t, ".", result.Tree.Dir)
		result, err = f.FetchResult(t.Context(), source.Ref{Ref: base + "/r.git", Path: "mod/other/"})
		require.NoError(t, err)
		require.Equal(t, []string{"cue.mod/module.cue", "o.cue"}, names(t, result.Tree))
	})

	// The rule is that of folders.
	dir := filepath.Join(t.TempDir(), "c")
	git(t, "", "clone", "--quiet", g.Dir, dir)
	folder, err := local.Fetcher{Root: dir}.Fetch(t.Context(), source.Ref{Ref: "mod/pkg"})
	require.NoError(t, err)
	require.Equal(t, want, names(t, folder))
}

func TestManyFoldersWithoutFilesEnd(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	tree := craft(t, g)
	for range 12 {
		var lines []string
		for i := range 10 {
			lines = append(lines, fmt.Sprintf("040000 tree %s\td%d", tree, i))
		}
		tree = craft(t, g, lines...)
	}
	commit(t, g, "main", tree)
	base := servers.GitHTTP(t, root)
	ways(t, func(t *testing.T, f *Fetcher) {
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git"})
		require.ErrorIs(t, err, source.ErrLimit)
		require.ErrorContains(t, err, "folders")
	})
}

func TestSubmodulesComeWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	leaf := servers.NewGit(t, filepath.Join(root, "org", "leaf.git"))
	leafHash := leaf.Commit(map[string]string{"leaf.txt": "leaf"}, "leaf")
	lib := servers.NewGit(t, filepath.Join(root, "org", "lib.git"))
	modules := func(path, url string) string {
		return fmt.Sprintf("100644 blob {[submodule \"%s\"]\n\tpath = %s\n\turl = %s\n}\t.gitmodules", path, path, url)
	}
	libHash := commit(t, lib, "main", craft(t, lib, modules("in", "../leaf.git"), "100644 blob {lib}\tlib.txt", "160000 commit "+leafHash+"\tin"))
	app := servers.NewGit(t, filepath.Join(root, "org", "app.git"))

	guarded := servers.GitHTTP(t, root, servers.WithGitAuth("me", canary))
	var seen []string
	other := servers.GitHTTP(t, root, servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
		seen = append(seen, r.Header.Get("Authorization"))
		return nil, false
	}))
	sub := "160000 commit " + libHash + "\tlib"
	vendor := func(gitmodules ...string) string {
		return craft(t, app, append(gitmodules, "040000 tree "+craft(t, app, sub, "100644 blob {app}\tapp.txt")+"\tvendor")...)
	}
	commit(t, app, "main", vendor(modules("vendor/lib", "../lib.git")))
	commit(t, app, "elsewhere", vendor(modules("vendor/lib", other+"/org/lib.git")))
	commit(t, app, "unnamed", vendor())
	commit(t, app, "file", vendor(modules("vendor/lib", "file:///org/lib.git")))
	commit(t, app, "away", vendor(modules("vendor/lib", "../../../lib.git")))

	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = secrets{"s": {"username": "me", "password": canary}}
		fetch := func(query, path string) (Result, error) {
			return f.FetchResult(t.Context(), source.Ref{Ref: guarded + "/org/app.git" + query, Path: path, Secret: "s"})
		}
		result, err := fetch("?branch=main&submodules=true", "vendor")
		require.NoError(t, err)
		require.Equal(t, []string{"app.txt", "lib/in/leaf.txt", "lib/lib.txt"}, names(t, result.Tree))
		require.Empty(t, result.TreeID)
		require.Equal(t, guarded+"/org/app.git?commit="+app.Hash("main")+"&submodules=true", result.Tree.Pinned)

		_, err = fetch("?branch=main", "vendor")
		require.ErrorIs(t, err, source.ErrNotRegular)
		require.ErrorContains(t, err, "submodules=true")
		seen = nil
		_, err = fetch("?branch=elsewhere&submodules=true", "vendor")
		require.NoError(t, err)
		require.NotEmpty(t, seen)
		require.Empty(t, strings.Join(seen, ""), "another server gets no credentials")
		_, err = fetch("?branch=unnamed&submodules=true", "")
		require.ErrorIs(t, err, source.ErrNotFound)
		_, err = fetch("?branch=file&submodules=true", "")
		require.ErrorIs(t, err, source.ErrReference)
		_, err = fetch("?branch=away&submodules=true", "")
		require.ErrorIs(t, err, source.ErrReference)

		f.Limits.Files = 2
		_, err = fetch("?branch=main&submodules=true", "vendor")
		require.ErrorIs(t, err, source.ErrLimit, "submodules count to the limits")
	})
}

func TestURLsOfSubmodulesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	cases := []struct{ base, url, want string }{
		{"https://h/a/b.git", "../c.git", "https://h/a/c.git"},
		{"https://h/a/b.git", "./c.git", "https://h/a/b.git/c.git"},
		{"https://h/a/b.git", "../../c.git", "https://h/c.git"},
		{"https://h/a/b.git", "../../../c.git", ""},
		{"ssh://git@h:22/a/b.git", "../c.git", "ssh://git@h:22/a/c.git"},
		{"git@h:a/b.git", "../c.git", "git@h:a/c.git"},
		{"git@h:a/b.git", "https://x/y", "https://x/y"},
		{"git@h:a/b.git", "https://x/y?branch=z", ""},
	}
	for _, c := range cases {
		got, err := resolveRelative(c.base, c.url)
		require.Equal(t, c.want, got, "%s %s", c.base, c.url)
		require.Equal(t, c.want == "", err != nil)
	}
}
