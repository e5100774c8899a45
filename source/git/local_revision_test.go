// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// historic is a bare repository with branches, merges, tags of all kinds and
// names that could be something else. Its hashes are the same in each run.
func historic(t testing.TB) *servers.Git {
	t.Helper()
	_, g, first, second := repository(t)
	var many strings.Builder // enough for abbreviations that are not clear
	for i := range 600 {
		fmt.Fprintf(&many, "commit refs/heads/many\ncommitter t <t@example.com> %d +0000\ndata %d\n%s\nM 100644 inline n\ndata %d\n%s\n",
			1_600_000_000+i, len(fmt.Sprint(i)), fmt.Sprint(i), len(fmt.Sprint(i)), fmt.Sprint(i))
	}
	g.Input(many.String()+"done\n", "fast-import", "--quiet", "--done")
	tree := g.Hash("main^{tree}")
	side := strings.TrimSpace(g.Run("commit-tree", "-m", "Side work\n\nof (two) lines", "-p", first, tree))
	g.Run("update-ref", "refs/heads/side", side)
	g.Commit(map[string]string{"app/a.cue": "package app\n\nx: 2 // more\n"}, "third")
	merged := strings.TrimSpace(g.Run("commit-tree", "-m", "merge", "-p", "main", "-p", side, "-p", "feature/x", tree))
	g.Run("update-ref", "refs/heads/main", merged)
	g.Commit(map[string]string{"app/last.cue": "package app\n"}, "last")
	g.Run("tag", "-a", "-m", "of a tag", "nested", "v1.2.0")
	g.Run("tag", "-a", "-m", "of a tree", "of-tree", tree)
	g.Run("tag", "-a", "-m", "of a blob", "of-blob", "main:app/a.cue")
	g.Run("update-ref", "refs/tags/both", first)
	g.Run("update-ref", "refs/heads/both", second)
	g.Run("update-ref", "refs/heads/beef", first)
	g.Run("update-ref", "refs/notes/n", side)
	g.Run("update-ref", "refs/own", side)
	g.Run("symbolic-ref", "refs/heads/alias", "refs/heads/side")
	g.Run("symbolic-ref", "refs/heads/dangling", "refs/heads/nowhere")
	return g
}

// spellings are revisions, good and bad, of a repository.
func spellings(g *servers.Git) []string {
	main, tag, tree, blob := g.Hash("main"), g.Hash("nested"), g.Hash("main^{tree}"), g.Hash("main:app/a.cue")
	all := []string{
		"HEAD", "@", "head", "main", "heads/main", "refs/heads/main", "feature/x", "heads/feature/x", "x", "main/", "/main", "refs", "refs/", "own", "notes/n",
		"v1.0.0", "tags/v1.0.0", "refs/tags/v1.0.0", "v1.2.0", "nested", "of-tree", "of-blob", "both", "heads/both", "tags/both", "beef", "alias", "dangling",
		"origin", "bisect/bad", "origin/HEAD", "origin/main", "remotes/origin/main", "refs/remotes/origin/feature/x", "config", "description", "objects", "FETCH_HEAD", "ORIG_HEAD",
		"HEAD~", "HEAD~0", "HEAD~1", "HEAD~2", "HEAD~3", "HEAD~99", "HEAD~~", "HEAD~1~1", "HEAD~00001", "HEAD~4294967297", "HEAD~99999999999999999999",
		"HEAD^", "HEAD^0", "HEAD^1", "HEAD^2", "HEAD^^2", "HEAD~1^2", "HEAD~1^3", "HEAD~1^3~1", "HEAD~1^4", "HEAD^^^", "main^2147483648", "@~1", "@^^2", "nested~1", "nested^0", "v1.2.0^", "many~250",
		"v1.2.0^{}", "nested^{}", "nested^{tag}", "nested^{tag}^{commit}", "nested^{object}", "HEAD^{commit}", "HEAD^{object}", "HEAD^{tree}", "HEAD^{tag}", "HEAD^{blob}", "HEAD^{commit}~1^{}^0", "of-tree^{tree}", "of-blob^{}", "nested^{commit}~1",
		"HEAD^{/first}", "HEAD^{/^third$}", "HEAD^{/work}", "HEAD^{/of .two. lines}", "HEAD^{/Side.*lines}", "HEAD^{/t{1}h}", "HEAD^{/!-last}", "HEAD^{/nothing like it}", "HEAD^{/}", "HEAD^{/first}~1", "HEAD^{/merge}^2", "HEAD^{/s}^{/f}", "nested^{/first}",
		main, strings.ToUpper(main), main[:39], main[:12], main[:7], main[:5], strings.ToUpper(main[:9]), main + "~1", main[:8] + "~1^2", main[:3], main + "0", main[:10] + "x", strings.Repeat("0", 40), strings.Repeat("f", 40), strings.Repeat("f", 39),
		tag, tag[:10], tag[:10] + "^{}", tag[:10] + "~1", tree, tree[:10], blob, blob[:10], g.Hash("v1.2.0"),
		"v1.0.0-3-g" + main[:8], "anything-g" + main[:7], "-g", "x-g" + main[:3], "x-g" + blob[:8],
		"", "~", "^", "^1", "~1", "^{}", "^{commit}", "HEAD^{", "HEAD^}", "HEAD~x", "HEAD~1x", "HEAD^{commit", "HEAD ", " HEAD", "HEAD.lock", "ma?n", "ma*", "[main]", "main..side", "main...side", "^main", "HEAD^!", "HEAD^@", "HEAD^-", "..", "../main", "refs/../HEAD", "refs/heads/../../HEAD", "./main", "main\\x", "ma\x01in",
	}
	return append(all, shared(g)...)
}

// shared are abbreviations that several objects have: of two commits, and of a
// commit and something else.
func shared(g *servers.Git) []string {
	kinds := map[string][]string{}
	for line := range strings.Lines(g.Run("cat-file", "--batch-all-objects", "--batch-check")) {
		kinds[line[:4]] = append(kinds[line[:4]], strings.Fields(line)[1])
	}
	var out []string
	for start, of := range kinds {
		if len(of) > 1 && slices.Contains(of, kindCommit) {
			out = append(out, start, start+"~0")
		}
	}
	slices.Sort(out)
	return out
}

// byGit is what git makes of revisions in a folder: commits, or nothing.
func byGit(t *testing.T, dir string, revisions []string) []string {
	t.Helper()
	cmd := exec.Command(FindBinary(), "cat-file", "--batch-check")
	cmd.Dir, cmd.Env = dir, append(cleanEnv(t.TempDir()), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	cmd.Stdin = strings.NewReader(strings.Join(revisions, "^{commit}\n") + "^{commit}\n")
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, lines, len(revisions))
	for i, line := range lines {
		hash, rest, _ := strings.Cut(line, " ")
		if lines[i] = ""; isHash(hash) && strings.HasPrefix(rest, kindCommit+" ") {
			lines[i] = hash
		}
	}
	return lines
}

// onlyGit reports whether a revision is one that git reads, and go-git not.
func onlyGit(rev string) bool {
	return regexp.MustCompile(`[^^]\^\{(/.*|tag|object|tree|blob)\}`).MatchString(rev)
}

func TestRevisionsLeadWhereGitLeadsThem(t *testing.T) {
	t.Parallel()
	g := historic(t)
	revisions := spellings(g)
	require.Greater(t, len(shared(g)), 4)
	plain := clone(t, g.Dir)
	layouts := []struct{ name, dir string }{
		{"loose objects", plain},
		{"a folder of the worktree", filepath.Join(plain, "app", "deep")},
		{"the repository itself", filepath.Join(plain, ".git")},
		{"a bare repository", g.Dir},
	}
	add := func(name, dir string) { layouts = append(layouts, struct{ name, dir string }{name, dir}) }
	for _, layout := range []func(*testing.T, *servers.Git) (name, dir string){packed, severalPacks, submodule, worktree, ofBare, shallow} {
		add(layout(t, g))
	}
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			want := byGit(t, l.dir, revisions)
			found := 0
			for i, rev := range revisions {
				if want[i] != "" {
					found++
				}
				c, err := openLibrary(t.Context(), l.dir, rev)
				if onlyGit(rev) || rev == "bisect/bad" && want[i] != "" {
					require.ErrorContains(t, err, "needs the git binary", rev)
					continue
				}
				require.Equal(t, want[i], c.commit, "%q: %v", rev, err)
				require.Equal(t, want[i] == "", err != nil, rev)
				if err != nil {
					require.ErrorIs(t, err, source.ErrNotFound, rev)
				}
			}
			require.Greater(t, found, 20)
			require.Less(t, found, len(revisions))
			c, err := openLibrary(t.Context(), l.dir, "HEAD")
			require.NoError(t, err)
			by, err := openBinary(t.Context(), FindBinary(), l.dir, "HEAD")
			require.NoError(t, err)
			defer by.close()
			require.Equal(t, by.commit, c.commit)
			for _, rev := range []string{"HEAD", "HEAD~1"} {
				require.Equal(t, files(t, FindBinary(), l.dir, rev), files(t, "", l.dir, rev))
			}
		})
	}
}

// files are the names and contents of the tree of a folder.
func files(t *testing.T, binary, dir, rev string) []string {
	t.Helper()
	tree, err := revision(t.Context(), binary, dir, rev, "", source.Limits{})
	require.NoError(t, err)
	out := []string{tree.Revision}
	for _, name := range names(t, tree) {
		out = append(out, name, content(t, tree, name))
	}
	return out
}

func TestFormsThatNeedGitAreNamed(t *testing.T) {
	t.Parallel()
	g := historic(t)
	dir := clone(t, g.Dir)
	for _, rev := range []string{"main@{0}", "main@{yesterday}", "@{u}", "@{-1}", "main@{upstream}~1", ":/first", ":/", "HEAD:app", ":app", "main..side", "main...side", "^main", "HEAD^!", "HEAD^@", "HEAD^{nothing}", "HEAD^{/!x}", "HEAD^{/(}", "^", ""} {
		_, err := openLibrary(t.Context(), dir, rev)
		require.ErrorIs(t, err, source.ErrNotFound, rev)
		require.ErrorContains(t, err, "needs the git binary", rev)
	}
	_, err := openLibrary(t.Context(), dir, "0000")
	require.ErrorContains(t, err, "the repository has no such commit")
	ambiguous := 0
	for _, start := range shared(g) {
		if _, err := openLibrary(t.Context(), dir, start); err != nil {
			require.ErrorContains(t, err, fmt.Sprintf("commits have hashes that start with %q: add digits", start[:4]))
			ambiguous++
		}
	}
	require.Positive(t, ambiguous)
	require.Less(t, ambiguous, len(shared(g)), "what else has the start of its hash does not count")
}

func TestAWalkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	g := historic(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, rev := range []string{"many~300"} {
		_, err := openLibrary(ctx, g.Dir, rev)
		require.ErrorIs(t, err, context.Canceled, rev)
	}
}

func TestAShallowCloneThatLacksARevisionIsNamed(t *testing.T) {
	t.Parallel()
	g := historic(t)
	_, dir := shallow(t, g)
	for _, binary := range []string{FindBinary(), ""} {
		for _, rev := range []string{"HEAD~50", strings.Repeat("f", 40)} {
			_, err := openCheckout(t.Context(), binary, dir, rev)
			require.ErrorIs(t, err, source.ErrNotFound, "%q %s", binary, rev)
			require.ErrorContains(t, err, "is a shallow clone: fetch the revision first", "%q %s", binary, rev)
			_, err = openCheckout(t.Context(), binary, g.Dir, rev)
			require.ErrorIs(t, err, source.ErrNotFound)
			require.NotContains(t, err.Error(), "shallow", "%q %s", binary, rev)
		}
	}
}
