// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// canary is a password that must turn up nowhere.
const canary = "canary-5f2c9e"

// anyHost allows plain http.
func anyHost(string) bool { return true }

// ways runs a test with the git binary and without.
func ways(t *testing.T, do func(t *testing.T, f *Fetcher)) {
	t.Helper()
	for _, way := range []struct{ name, binary string }{{"with git", FindBinary()}, {"without git", ""}} {
		t.Run(way.name, func(t *testing.T) {
			scratch := t.TempDir()
			do(t, &Fetcher{Binary: way.binary, PlainHTTP: anyHost, Scratch: scratch, Timeout: 30 * time.Second})
			left, err := os.ReadDir(scratch)
			require.NoError(t, err)
			require.Empty(t, left, "nothing is left behind")
		})
	}
}

// secrets are Secrets by name and entry.
type secrets map[string]map[string]string

// Secret finds one.
func (s secrets) Secret(_ context.Context, name string) (map[string][]byte, error) {
	entries, ok := s[name]
	if !ok {
		return nil, source.Refuse(source.ErrNotFound, "no secret "+name)
	}
	out := map[string][]byte{}
	for k, v := range entries {
		out[k] = []byte(v)
	}
	return out, nil
}

// repository is a repository of two commits at root/org/repo.git.
func repository(t testing.TB) (root string, g *servers.Git, first, second string) {
	t.Helper()
	root = t.TempDir()
	g = servers.NewGit(t, filepath.Join(root, "org", "repo.git"))
	first = g.Commit(map[string]string{"module.cue": "package a\n", "app/cue.mod/module.cue": "module: \"x\"\n", "app/a.cue": "package app\n", "app/deep/er/b.txt": "b"}, "first")
	g.Run("tag", "-a", "-m", "annotated", "v1.2.0", "main")
	g.Input(strings.ReplaceAll("create refs/tags/v1.0.0 X\ncreate refs/tags/1.1.0 X\ncreate refs/tags/v2.0.0-rc.1 X\ncreate refs/tags/latest X\n", "X", first), "update-ref", "--stdin")
	second = g.Commit(map[string]string{"app/a.cue": "package app\n\nx: 2\n"}, "second")
	g.Branch("feature/x")
	g.Commit(map[string]string{"only-here": "y"}, "third")
	g.Branch("main")
	return root, g, first, second
}

func names(t testing.TB, tree source.Tree) []string {
	t.Helper()
	var out []string
	require.NoError(t, fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, name)
		}
		return err
	}))
	return out
}

func content(t testing.TB, tree source.Tree, name string) string {
	t.Helper()
	data, err := fs.ReadFile(tree.FS, name)
	require.NoError(t, err)
	return string(data)
}

func TestReferencesLeadToTheirCommits(t *testing.T) {
	t.Parallel()
	root, g, first, second := repository(t)
	repo := servers.GitHTTP(t, root) + "/org/repo.git"
	third := g.Hash("feature/x")
	cases := []struct{ name, query, revision, commit string }{
		{"the default branch", "", "main@sha1:" + second, second},
		{"a branch", "?branch=main", "main@sha1:" + second, second},
		{"a branch with a slash", "?branch=feature/x", "feature/x@sha1:" + third, third},
		{"a branch, escaped", "?branch=feature%2Fx", "feature/x@sha1:" + third, third},
		{"a lightweight tag", "?tag=v1.0.0", "v1.0.0@sha1:" + first, first},
		{"an annotated tag", "?tag=v1.2.0", "v1.2.0@sha1:" + first, first},
		{"a commit", "?commit=" + first, "sha1:" + first, first},
		{"a commit in capitals", "?commit=" + strings.ToUpper(first), "sha1:" + first, first},
		{"a range", "?semver=>=1.0.0 <2.0.0", "v1.2.0@sha1:" + first, first},
		{"a range, escaped", "?semver=%3E%3D1.0.0%20%3C1.2.0", "1.1.0@sha1:" + first, first},
		{"a range with prereleases", "?semver=>=1.0.0-0", "v2.0.0-rc.1@sha1:" + first, first},
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				ref := source.Ref{Type: source.TypeGit, Ref: repo + c.query, Path: "app"}
				resolved, err := f.Resolve(t.Context(), ref)
				require.NoError(t, err)
				require.Equal(t, c.revision, resolved.Revision)
				require.Equal(t, repo+"?commit="+c.commit, resolved.Ref.Ref)
				require.Equal(t, "app", resolved.Ref.Path)
				require.Equal(t, strings.Contains(c.query, "commit"), resolved.Immutable)
				tree, err := f.Fetch(t.Context(), ref)
				require.NoError(t, err)
				require.Equal(t, c.revision, tree.Revision)
				require.Equal(t, resolved.Ref.Ref, tree.Pinned)
				require.Equal(t, repo+"//app", tree.Origin)
				pinned, err := f.Fetch(t.Context(), resolved.Ref)
				require.NoError(t, err)
				require.Equal(t, tree.Digest, pinned.Digest)
				require.Equal(t, []string{"a.cue", "cue.mod/module.cue", "deep/er/b.txt"}, names(t, tree))
			})
		}
		tree, err := f.Fetch(t.Context(), source.Ref{Ref: repo + "?tag=v1.0.0"})
		require.NoError(t, err)
		require.Equal(t, []string{"module.cue"}, names(t, tree), "app is another module")
		require.Equal(t, "package a\n", content(t, tree, "module.cue"))
	})
}

func TestACommitIsResolvedWithoutAnyServer(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0a", 20)
	resolved, err := (&Fetcher{}).Resolve(t.Context(), source.Ref{Ref: "https://127.0.0.1:1/r.git?commit=" + hash + "&submodules=true"})
	require.NoError(t, err)
	require.True(t, resolved.Immutable)
	require.Equal(t, "https://127.0.0.1:1/r.git?commit="+hash+"&submodules=true", resolved.Ref.Ref)
	require.Equal(t, "sha1:"+hash, resolved.Revision)
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	empty := servers.NewGit(t, filepath.Join(root, "empty.git"))
	require.NotEmpty(t, empty.Dir)
	base := servers.GitHTTP(t, root)
	cases := []struct{ name, ref, path, says string }{
		{"a branch", "/org/repo.git?branch=none", "", `no branch "none"`},
		{"a tag", "/org/repo.git?tag=none", "", `no tag "none"`},
		{"a range", "/org/repo.git?semver=^7", "", `is a version in "^7"`},
		{"a commit", "/org/repo.git?commit=" + strings.Repeat("ab", 20), "", "does not have that commit"},
		{"a folder", "/org/repo.git", "app/none", `no folder "app/none"`},
		{"a folder that is a file", "/org/repo.git", "module.cue", `"module.cue" is not a folder`},
		{"a repository", "/org/other.git", "", "no repository"},
		{"anything in a repository", "/empty.git", "", "no default branch"},
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				_, err := f.Fetch(t.Context(), source.Ref{Ref: base + c.ref, Path: c.path})
				require.ErrorIs(t, err, source.ErrNotFound)
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, err, base+c.ref)
			})
		}
	})
}

func TestBothWaysAndBothProtocolsGiveTheSameTree(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	var ca []byte
	plain, secure := servers.GitHTTP(t, root), servers.GitHTTP(t, root, servers.WithGitTLS(&ca), servers.WithGitAuth("me", canary))
	whole, old := servers.GitHTTP(t, root, servers.NoFilter()), servers.GitHTTP(t, root, servers.WithGitFault(versionZero))
	ssh := servers.GitSSH(t, root)
	have := secrets{
		"https": {"username": "me", "password": canary, "ca.crt": string(ca)},
		"ssh":   {"identity": string(ssh.ClientKey), "known_hosts": ssh.KnownHosts},
	}
	refs := map[string]source.Ref{
		"http":                       {Ref: plain + "/org/repo.git?branch=main"},
		"https with a password":      {Ref: secure + "/org/repo.git?branch=main", Secret: "https"},
		"a server without filters":   {Ref: whole + "/org/repo.git?branch=main"},
		"a server of protocol zero":  {Ref: old + "/org/repo.git?branch=main"},
		"the same, for a tag":        {Ref: old + "/org/repo.git"},
		"ssh":                        {Ref: ssh.URL("org/repo.git") + "?branch=main", Secret: "ssh"},
		"ssh and the default branch": {Ref: ssh.URL("org/repo.git"), Secret: "ssh"},
	}
	var digest string
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = have
		for name, ref := range refs {
			t.Run(name, func(t *testing.T) {
				tree, err := f.Fetch(t.Context(), ref)
				require.NoError(t, err, ssh.Log())
				if digest == "" {
					digest = tree.Digest
				}
				require.Equal(t, digest, tree.Digest)
				require.True(t, strings.HasPrefix(tree.Revision, "main@sha1:"), tree.Revision)
			})
		}
	})
}

// versionZero takes the version of the protocol out of requests.
func versionZero(r *http.Request) (http.Handler, bool) {
	r.Header.Del("Git-Protocol")
	return nil, false
}

// TestACommitOfTheHistoryIsServedByEveryServer has one that gives commits by
// the hashes of its branches and tags only, as git without configuration does.
func TestACommitOfTheHistoryIsServedByEveryServer(t *testing.T) {
	t.Parallel()
	root, g, first, second := repository(t)
	g.Run("config", "uploadpack.allowAnySHA1InWant", "false")
	g.Commit(map[string]string{"app/a.cue": "package app\n\nx: 3\n"}, "fourth")
	base := servers.GitHTTP(t, root)
	ways(t, func(t *testing.T, f *Fetcher) {
		for _, commit := range []string{first, second} {
			tree, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git?commit=" + commit, Path: "app"})
			require.NoError(t, err)
			require.Equal(t, commit == second, strings.Contains(content(t, tree, "a.cue"), "x: 2"))
		}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git?commit=" + strings.Repeat("ab", 20)})
		require.ErrorIs(t, err, source.ErrNotFound)
	})
}

func TestARepositoryOfSHA256NeedsTheBinary(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"), "--object-format=sha256")
	hash := g.Commit(map[string]string{"a": "b"}, "first")
	base := servers.GitHTTP(t, root)
	ways(t, func(t *testing.T, f *Fetcher) {
		for _, query := range []string{"", "?commit=" + hash} {
			tree, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git" + query})
			if f.Binary == "" {
				require.ErrorContains(t, err, "install git")
				continue
			}
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(tree.Revision, "sha256:"+hash), tree.Revision)
		}
	})
}

func TestAnUnchangedFolderIsNotFetched(t *testing.T) {
	t.Parallel()
	root, g, first, second := repository(t)
	g.Commit(map[string]string{"other": "changed"}, "elsewhere")
	var bodies atomic.Int64
	base := servers.GitHTTP(t, root, servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
		if r.Method == http.MethodPost {
			bodies.Add(1)
		}
		return nil, false
	}))
	ways(t, func(t *testing.T, f *Fetcher) {
		ref := source.Ref{Ref: base + "/org/repo.git?commit=" + second, Path: "app"}
		bodies.Store(0)
		result, err := f.FetchResult(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, g.Hash(second+":app"), result.TreeID)
		require.Equal(t, second, result.Commit)
		full := bodies.Load()

		f.Known = func(_ context.Context, id string) (source.Tree, bool) { return result.Tree, id == result.TreeID }
		bodies.Store(0)
		again, err := f.FetchResult(t.Context(), source.Ref{Ref: base + "/org/repo.git?commit=" + g.Hash("main"), Path: "app"})
		require.NoError(t, err)
		require.True(t, again.Known)
		if f.Binary != "" {
			require.Equal(t, full-1, bodies.Load(), "there is no request for files")
		}
		require.Equal(t, result.Tree.Digest, again.Tree.Digest)
		require.Equal(t, "sha1:"+g.Hash("main"), again.Tree.Revision)

		changed, err := f.FetchResult(t.Context(), source.Ref{Ref: base + "/org/repo.git?commit=" + first, Path: "app"})
		require.NoError(t, err)
		require.False(t, changed.Known)
		require.NotEqual(t, result.Tree.Digest, changed.Tree.Digest)
	})
}

func TestFilesAreAskedForAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	files := map[string]string{}
	for _, c := range strings.Fields(strings.Repeat("a b c d ", 10)) {
		files["in/"+c+"/"+c+string(rune('0'+len(files)%10))] = strings.Repeat(c, 100)
	}
	g.Commit(files, "first")
	var posts atomic.Int64
	base := servers.GitHTTP(t, root, servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
		return nil, false
	}))
	ways(t, func(t *testing.T, f *Fetcher) {
		posts.Store(0)
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git?commit=" + g.Hash("main"), Path: "in"})
		require.NoError(t, err)
		require.LessOrEqual(t, posts.Load(), int64(4), "trees and files; git lists references in between")
	})
}

func TestLimitsHold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	files := map[string]string{"a/b/c/d/e": "deep"}
	for i := range 30 {
		files["many/f"+strings.Repeat("x", i)] = strings.Repeat("y", i)
	}
	files["big/file"] = strings.Repeat("0123456789", 10_000)
	g.Commit(files, "first")
	base := servers.GitHTTP(t, root)
	cases := []struct {
		name, path string
		limits     source.Limits
		says       string
	}{
		{"on files", "many", source.Limits{Files: 10}, "more than 10 files"},
		{"on bytes", "big", source.Limits{Bytes: 1000}, "more than 1000 bytes"},
		{"on folders", "", source.Limits{Depth: 2}, "more than 2 folders deep"},
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				f.Limits = c.limits
				_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git", Path: c.path})
				require.ErrorIs(t, err, source.ErrLimit)
				require.ErrorContains(t, err, c.says)
			})
		}
	})
}

func TestWhoeverGoesAwayIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	base := servers.GitHTTP(t, t.TempDir(), servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}), true
	}))
	ways(t, func(t *testing.T, f *Fetcher) {
		_, err := f.Fetch(ctx, source.Ref{Ref: base + "/r.git"})
		require.True(t, errors.Is(err, context.Canceled), err)
	})
}
