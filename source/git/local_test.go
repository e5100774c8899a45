// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// clone is a checkout of a repository, made by git.
func clone(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "my clone")
	git(t, "", "clone", "--quiet", from, to)
	return to
}

// revision is the tree of a folder of a revision.
func revision(ctx context.Context, binary, dir, rev, at string, limits source.Limits) (source.Tree, error) {
	from, err := openCheckout(ctx, binary, dir, rev)
	if err != nil {
		return source.Tree{}, err
	}
	files, err := newFiles(from, from.commit, limits.WithDefaults().Bytes, from.close)
	if err != nil {
		return source.Tree{}, err
	}
	defer files.Close()
	result, err := (&Fetcher{Limits: limits}).read(ctx, files, path.Clean(at))
	result.Tree.Revision = chosen{commit: from.commit, name: rev}.revision()
	return result.Tree, err
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestARevisionIsReadFromTheObjects(t *testing.T) {
	t.Parallel()
	_, g, first, second := repository(t)
	dir := clone(t, g.Dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app", "a.cue"), []byte("not committed"), 0o600))
	side := filepath.Join(t.TempDir(), "side")
	git(t, dir, "worktree", "add", "--quiet", side, "v1.0.0")
	cases := []struct{ name, dir, rev, path, commit string }{
		{"HEAD", dir, "HEAD", "app", second},
		{"a branch", dir, "main", "app", second},
		{"a tag", dir, "v1.0.0", "app", first},
		{"an annotated tag", dir, "v1.2.0", "app", first},
		{"a hash", dir, first, "app", first},
		{"the start of a hash", dir, first[:12], "app", first},
		{"one before", dir, "HEAD~1", "app", first},
		{"a branch of the server", dir, "origin/main", "app", second},
		{"from a folder below", filepath.Join(dir, "app", "deep"), "HEAD", "app", second},
		{"another worktree", side, "HEAD", "app", first},
		{"a bare repository", g.Dir, "main", "app", second},
	}
	for _, binary := range []string{FindBinary(), ""} {
		for _, c := range cases {
			t.Run(c.name+" by "+filepath.Base(binary), func(t *testing.T) {
				tree, err := revision(t.Context(), binary, c.dir, c.rev, c.path, source.Limits{})
				require.NoError(t, err)
				require.Equal(t, c.rev+"@sha1:"+c.commit, tree.Revision)
				require.Equal(t, []string{"a.cue", "cue.mod/module.cue", "deep/er/b.txt"}, names(t, tree))
				want := strings.Contains(g.Run("show", c.commit+":app/a.cue"), "x: 2")
				require.Equal(t, want, strings.Contains(content(t, tree, "a.cue"), "x: 2"))
			})
		}
		for rev, is := range map[string]error{"none": source.ErrNotFound, "": source.ErrReference, "--all": source.ErrReference, strings.Repeat("12", 20): source.ErrNotFound} {
			_, err := revision(t.Context(), binary, dir, rev, "", source.Limits{})
			require.ErrorIs(t, err, is, rev)
		}
		_, err := revision(t.Context(), binary, dir, "HEAD", "none", source.Limits{})
		require.ErrorIs(t, err, source.ErrNotFound)
		_, err = revision(t.Context(), binary, t.TempDir(), "HEAD", "", source.Limits{})
		require.ErrorIs(t, err, source.ErrNotFound)
		_, err = revision(t.Context(), binary, dir, "HEAD", "app", source.Limits{Files: 1})
		require.ErrorIs(t, err, source.ErrLimit)
	}
}

func TestAPartialCloneAsksNoServer(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	base := servers.GitHTTP(t, root)
	dir := filepath.Join(t.TempDir(), "c")
	git(t, "", "clone", "--quiet", "--no-checkout", "--filter=blob:none", base+"/org/repo.git", dir)
	for _, binary := range []string{FindBinary(), ""} {
		_, err := revision(t.Context(), binary, dir, "HEAD", "", source.Limits{})
		require.Error(t, err)
	}
}
