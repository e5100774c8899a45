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
	require.NoFileExists(t, filepath.Join(dir, dotGit, "refs", "remotes", "origin", "main"))
	require.NoDirExists(t, filepath.Join(dir, dotGit, objectsDir, g.Hash("main")[:2]))
	return "packs", dir
}

// severalPacks has a pack of each of some commits.
func severalPacks(t *testing.T, g *servers.Git) (string, string) {
	dir := filepath.Join(t.TempDir(), "several")
	git(t, "", "clone", "--quiet", "--bare", g.Dir, dir)
	for _, rev := range []string{"v1.0.0", "side", "main~1", "main"} {
		cmd := exec.Command(FindBinary(), "pack-objects", "--revs", "--quiet", "--delta-base-offset", filepath.Join(dir, objectsDir, "pack", "pack"))
		cmd.Dir, cmd.Env, cmd.Stdin = dir, cleanEnv(t.TempDir()), strings.NewReader(rev+"\n")
		require.NoError(t, cmd.Run())
	}
	git(t, dir, "prune-packed")
	git(t, dir, "multi-pack-index", "write")
	return "several packs, with an index over all", dir
}

// borrowing has no objects: it borrows from a repository that borrows, and says
// where in ways that git does not write by itself.
func borrowing(t *testing.T, g *servers.Git) (string, string) {
	root := t.TempDir()
	git(t, root, "clone", "--quiet", "--shared", "--bare", g.Dir, "middle ü.git")
	git(t, root, "clone", "--quiet", "--shared", "middle ü.git", "last")
	require.NoError(t, os.Rename(filepath.Join(root, "middle ü.git", objectsDir), filepath.Join(root, "middle ü.git", "store")))
	require.NoError(t, os.Symlink("store", filepath.Join(root, "middle ü.git", objectsDir)))
	alternates := filepath.Join(root, "last", dotGit, objectsDir, "info", "alternates")
	require.FileExists(t, alternates)
	require.NoError(t, os.WriteFile(alternates, []byte("# comment\n\n/nowhere/objects\n\"../../../middle \\303\\274.git/store\"\n../objects\n"), 0o600))
	return "objects of others", filepath.Join(root, "last")
}

// submodule is a submodule that is checked out.
func submodule(t *testing.T, g *servers.Git) (string, string) {
	dir := filepath.Join(t.TempDir(), "outer")
	git(t, "", "init", "--quiet", dir)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", g.Dir, "in/ner")
	info, err := os.Lstat(filepath.Join(dir, "in", "ner", dotGit))
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular())
	return "a submodule", filepath.Join(dir, "in", "ner", "app")
}

// apart is a repository whose worktree is elsewhere, above the file that says where
// the repository is, and asked for by a link.
func apart(t *testing.T, g *servers.Git) (string, string) {
	root := t.TempDir()
	git(t, root, "clone", "--quiet", "--separate-git-dir", filepath.Join(root, "store"), g.Dir, "real")
	require.NoError(t, os.Rename(filepath.Join(root, "real", dotGit), filepath.Join(root, "real", "app", dotGit)))
	git(t, filepath.Join(root, "real", "app"), "config", "core.worktree", "../real")
	require.NoError(t, os.Symlink(filepath.Join("real", "app"), filepath.Join(root, "link")))
	return "a worktree that the configuration names", filepath.Join(root, "link", "deep")
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
	cmd := exec.Command("cp", "-R", filepath.Join(g.Dir, objectsDir), filepath.Join(dir, dotGit))
	require.NoError(t, cmd.Run())
	return "a shallow clone", dir
}

// bareWithWorktrees is a bare repository by the name of one that is not. That it
// is bare is in a file of its own, since a worktree of it has settings.
func bareWithWorktrees(t *testing.T, g *servers.Git) (string, string) {
	dir := t.TempDir()
	git(t, dir, "clone", "--quiet", "--bare", g.Dir, dotGit)
	git(t, dir, "worktree", "add", "--quiet", "side", "main")
	git(t, filepath.Join(dir, "side"), "sparse-checkout", "set", "app")
	require.FileExists(t, filepath.Join(dir, dotGit, "config.worktree"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "app"), 0o700))
	return "a bare repository called .git", filepath.Join(dir, "app")
}

// linked is a repository whose parts are links, in a folder with a .git that is
// none; its HEAD is a link too, as old versions of git made it.
func linked(t *testing.T, g *servers.Git) (string, string) {
	from, dir := clone(t, g.Dir), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "app", dotGit), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, dotGit), 0o700))
	for _, name := range []string{"refs", "packed-refs", objectsDir, "config"} {
		require.NoError(t, os.Symlink(filepath.Join(from, dotGit, name), filepath.Join(dir, dotGit, name)))
	}
	require.NoError(t, os.Symlink("refs/heads/main", filepath.Join(dir, dotGit, "HEAD")))
	return "a repository of links", filepath.Join(dir, "app")
}

func TestRepositoriesThatOnlyGitReadsAreNamed(t *testing.T) {
	cases := []struct {
		name, says string
		prepare    func(dir string)
	}{
		{"hashes of SHA-256", "its hashes are sha256, which needs the git binary: install git", func(dir string) {
			git(t, "", "init", "--quiet", "--object-format=sha256", dir)
		}},
		{"references in a table", "its references are in a reftable, which needs the git binary", func(dir string) {
			git(t, "", "init", "--quiet", dir)
			git(t, dir, "config", "extensions.refStorage", "reftable")
		}},
		{"an extension", "it has the extension news, which needs the git binary", func(dir string) {
			git(t, "", "init", "--quiet", dir)
			git(t, dir, "config", "core.repositoryFormatVersion", "1")
			git(t, dir, "config", "extensions.news", "true")
		}},
		{"another version", "its format has version 2, which needs the git binary", func(dir string) {
			git(t, "", "init", "--quiet", dir)
			git(t, dir, "config", "core.repositoryFormatVersion", "2")
		}},
		{"a file .git that leads nowhere", "leads to no repository", func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, dotGit), []byte("gitdir: ../nowhere\n"), 0o600))
		}},
		{"a configuration that cannot be read", "it is in no Git repository that can be read", func(dir string) {
			git(t, "", "init", "--quiet", dir)
			require.NoError(t, os.WriteFile(filepath.Join(dir, dotGit, "config"), []byte("[core\n"), 0o600))
		}},
		{"no commits", "the repository has no such commit", func(dir string) { git(t, "", "init", "--quiet", dir) }},
		{"no repository", "it is in no Git repository that can be read (repository does not exist)", func(string) {}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(dir)
			_, err := openCheckout(t.Context(), dir, "HEAD")
			require.ErrorIs(t, err, source.ErrNotFound)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := openCheckout(t.Context(), filepath.Join(t.TempDir(), "none"), "HEAD")
	require.ErrorIs(t, err, source.ErrNotFound)
}

func TestObjectsAreReadHoweverTheyArePacked(t *testing.T) {
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
				packs, err := filepath.Glob(filepath.Join(g.Dir, objectsDir, "pack", "*.idx"))
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
	_, g, _, _ := repository(t)
	dir := clone(t, g.Dir)
	blob, other := g.Hash("main:app/a.cue"), g.Hash("main:module.cue")
	path := func(id string) string { return filepath.Join(dir, dotGit, objectsDir, id[:2], id[2:]) }
	require.NoError(t, os.Remove(path(blob)))
	require.NoError(t, os.Link(path(other), path(blob)))
	_, err := revision(t.Context(), "", dir, "main", "", source.Limits{})
	require.ErrorIs(t, err, source.ErrDigest)
	require.NoError(t, os.Remove(path(blob)))
	_, err = revision(t.Context(), "", dir, "main", "", source.Limits{})
	require.ErrorIs(t, err, source.ErrNotFound)
	require.ErrorContains(t, err, "which may be a partial or damaged clone")
}
