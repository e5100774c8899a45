// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// packed is a repository after git gc, with bitmaps, an index over all packs,
// and packed references.
func packed(t *testing.T, g *servers.Git) (string, string) {
	dir := clone(t, g.Dir)
	git(t, dir, "-c", "repack.writeBitmaps=true", "gc", "--quiet", "--prune=now")
	git(t, dir, "pack-refs", "--all")
	git(t, dir, "multi-pack-index", "write", "--bitmap")
	require.NoFileExists(t, filepath.Join(dir, ".git", "refs", "remotes", "origin", "main"))
	require.NoDirExists(t, filepath.Join(dir, ".git", "objects", g.Hash("main")[:2]))
	return "packs", dir
}

// severalPacks has a pack of each of some commits.
func severalPacks(t *testing.T, g *servers.Git) (string, string) {
	dir := filepath.Join(t.TempDir(), "several")
	git(t, "", "clone", "--quiet", "--bare", g.Dir, dir)
	for _, rev := range []string{"v1.0.0", "side", "main~1", "main"} {
		cmd := exec.Command(FindBinary(), "pack-objects", "--revs", "--quiet", "--delta-base-offset", filepath.Join(dir, "objects", "pack", "pack"))
		cmd.Dir, cmd.Env, cmd.Stdin = dir, cleanEnv(t.TempDir()), strings.NewReader(rev+"\n")
		require.NoError(t, cmd.Run())
	}
	git(t, dir, "prune-packed")
	git(t, dir, "multi-pack-index", "write")
	return "several packs, with an index over all", dir
}

// submodule is a submodule that is checked out.
func submodule(t *testing.T, g *servers.Git) (string, string) {
	dir := filepath.Join(t.TempDir(), "outer")
	git(t, "", "init", "--quiet", dir)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", g.Dir, "in/ner")
	info, err := os.Lstat(filepath.Join(dir, "in", "ner", ".git"))
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular())
	return "a submodule", filepath.Join(dir, "in", "ner", "app")
}

// worktree is a linked worktree, whose HEAD is its own.
func worktree(t *testing.T, g *servers.Git) (string, string) {
	dir, side := clone(t, g.Dir), filepath.Join(t.TempDir(), "side")
	git(t, dir, "worktree", "add", "--quiet", side, "origin/main~1")
	git(t, side, "update-ref", "refs/bisect/bad", "origin/side")
	git(t, dir, "update-ref", "refs/bisect/bad", "origin/main")
	git(t, side, "update-ref", "ORIG_HEAD", "origin/side")
	return "a linked worktree", filepath.Join(side, "app")
}

// ofBare is a linked worktree of a bare repository.
func ofBare(t *testing.T, g *servers.Git) (string, string) {
	dir, side := filepath.Join(t.TempDir(), "bare"), filepath.Join(t.TempDir(), "side")
	git(t, "", "clone", "--quiet", "--bare", g.Dir, dir)
	git(t, dir, "worktree", "add", "--quiet", side, "main")
	git(t, side, "pack-refs", "--all")
	return "a linked worktree of a bare repository", filepath.Join(side, "app")
}

// shallow is a clone of three commits of each branch.
func shallow(t *testing.T, g *servers.Git) (string, string) {
	dir := filepath.Join(t.TempDir(), "shallow")
	git(t, "", "clone", "--quiet", "--depth=3", "--no-single-branch", "file://"+g.Dir, dir)
	// What lies beyond counts no more when it is here.
	cmd := exec.Command("cp", "-R", filepath.Join(g.Dir, "objects"), filepath.Join(dir, ".git"))
	require.NoError(t, cmd.Run())
	return "a shallow clone", dir
}

func TestRepositoriesThatOnlyGitReadsAreNamed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, says string
		prepare    func(dir string)
	}{
		{"hashes of SHA-256", "it is in no Git repository that can be read without the git binary (unknown extension: objectformat)", func(dir string) {
			git(t, "", "init", "--quiet", "--object-format=sha256", dir)
		}},
		{"references in a table", "does not support extension: refstorage", func(dir string) {
			git(t, "", "init", "--quiet", dir)
			git(t, dir, "config", "extensions.refStorage", "reftable")
		}},
		{"an extension", "without the git binary (unknown extension: news)", func(dir string) {
			git(t, "", "init", "--quiet", dir)
			git(t, dir, "config", "core.repositoryFormatVersion", "1")
			git(t, dir, "config", "extensions.news", "true")
		}},
		{"a configuration that cannot be read", "it is in no Git repository that can be read", func(dir string) {
			git(t, "", "init", "--quiet", dir)
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("[core\n"), 0o600))
		}},
		{"no commits", "the repository has no such commit", func(dir string) { git(t, "", "init", "--quiet", dir) }},
		{"no repository", "it is in no Git repository that can be read without the git binary (repository does not exist)", func(string) {}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(dir)
			_, err := openLibrary(t.Context(), dir, "HEAD")
			require.ErrorIs(t, err, source.ErrNotFound)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := openLibrary(t.Context(), filepath.Join(t.TempDir(), "none"), "HEAD")
	require.ErrorIs(t, err, source.ErrNotFound)
}

func TestObjectsOfOthersAreRead(t *testing.T) {
	t.Parallel()
	g := historic(t)
	dir := filepath.Join(t.TempDir(), "shared")
	git(t, "", "clone", "--quiet", "--shared", g.Dir, dir)
	for _, rev := range []string{"HEAD", "HEAD~1^2", "v1.2.0", g.Hash("main")} {
		require.Equal(t, files(t, FindBinary(), dir, rev), files(t, "", dir, rev))
	}
}

func TestObjectsAreReadHoweverTheyArePacked(t *testing.T) {
	t.Parallel()
	g := servers.NewGit(t, filepath.Join(t.TempDir(), "r.git"))
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 90_000 {
		fmt.Fprintf(&text, "key: %x\n", random.Uint32())
	}
	large := text.String()
	require.Greater(t, len(large), largeObject)
	const versions = 8
	for i := range versions {
		at := i * 1000
		large = large[:at] + strings.ToUpper(large[at:at+100]) + large[at+100:]
		g.Commit(map[string]string{"large": large, "small": large[at : at+20_000]}, "next")
	}
	ways := []struct {
		name string
		args []string
	}{
		{"loose, or as they came", nil},
		{"deltas to offsets", []string{"-c", "repack.useDeltaBaseOffset=true", "repack", "-adfq", "--depth=50", "--window=10"}},
		{"deltas to names", []string{"-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50", "--window=10"}},
		{"no deltas", []string{"repack", "-adfq", "--depth=0"}},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			if w.args != nil {
				g.Run(w.args...)
			}
			if strings.HasPrefix(w.name, "deltas") {
				packs, err := filepath.Glob(filepath.Join(g.Dir, "objects", "pack", "*.idx"))
				require.NoError(t, err)
				require.Len(t, packs, 1)
				require.Contains(t, g.Run("verify-pack", "-v", packs[0]), fmt.Sprintf("chain length = %d: ", versions-1))
			}
			for _, rev := range []string{"main", "main~5", fmt.Sprintf("main~%d", versions-1)} {
				require.Equal(t, files(t, FindBinary(), g.Dir, rev), files(t, "", g.Dir, rev))
			}
			_, err := revision(t.Context(), "", g.Dir, "main", "", source.Limits{Bytes: 1 << 20})
			require.ErrorIs(t, err, source.ErrLimit)
		})
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	g := servers.NewGit(t, filepath.Join(t.TempDir(), "r.git"))
	const size = 128 << 20
	zeros := filepath.Join(t.TempDir(), "zeros")
	require.NoError(t, os.WriteFile(zeros, nil, 0o600))
	require.NoError(t, os.Truncate(zeros, size))
	blob := strings.TrimSpace(g.Run("hash-object", "-w", zeros))
	commit(t, g, "main", craft(t, g, "100644 blob "+blob+"\tzeros"))
	for _, args := range [][]string{nil, {"repack", "-adq"}} {
		if args != nil {
			g.Run(args...)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := revision(t.Context(), "", g.Dir, "main", "", source.Limits{})
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, source.ErrLimit)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/4))
	}
}

func TestADamagedObjectIsRefused(t *testing.T) {
	t.Parallel()
	_, g, _, _ := repository(t)
	dir := clone(t, g.Dir)
	blob, other := g.Hash("main:app/a.cue"), g.Hash("main:module.cue")
	path := func(id string) string { return filepath.Join(dir, ".git", "objects", id[:2], id[2:]) }
	require.NoError(t, os.Remove(path(blob)))
	require.NoError(t, os.Link(path(other), path(blob)))
	_, err := revision(t.Context(), "", dir, "main", "app", source.Limits{})
	require.ErrorIs(t, err, source.ErrDigest)
	require.NoError(t, os.Remove(path(blob)))
	_, err = revision(t.Context(), "", dir, "main", "app", source.Limits{})
	require.ErrorIs(t, err, source.ErrNotFound)
	require.ErrorContains(t, err, "which may be a partial or damaged clone")
}
