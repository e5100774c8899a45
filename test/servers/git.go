// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// epoch is when the first commit of a repository is made; each one after it is
// a minute later, so that the same calls give the same hashes.
const epoch = 1_700_000_000

// Git is a bare repository that the git binary works on, without any
// configuration of user or system. It lets clients filter, and ask for any
// object by its hash.
type Git struct {
	// Dir is the repository.
	Dir string
	// Env is added to the environment of git, such as GNUPGHOME.
	Env []string

	t       testing.TB
	binary  string
	home    string
	branch  string
	commits int64
}

// NewGit makes an empty repository at dir, whose branch is main. The args go to
// git init, such as --object-format=sha256.
func NewGit(t testing.TB, dir string, args ...string) *Git {
	t.Helper()
	g := &Git{Dir: dir, t: t, binary: find(t, "git", "git"), home: t.TempDir(), branch: "main"}
	require.NoError(t, os.MkdirAll(dir, 0o750))
	g.Run(append([]string{"init", "--quiet", "--bare", "--template=", "--initial-branch=main"}, args...)...)
	config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // the folder is that of the test
	require.NoError(t, err)
	_, err = config.WriteString("[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")
	require.NoError(t, err)
	require.NoError(t, config.Close())
	return g
}

// Commit puts files, by path, over those of the branch and returns the hash.
func (g *Git) Commit(files map[string]string, message string) string {
	g.t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", quote(name), len(files[name]), files[name])
	}
	return g.commit(b.String(), message)
}

// Remove takes files or folders off the branch and returns the hash.
func (g *Git) Remove(message string, names ...string) string {
	g.t.Helper()
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "D %s\n", quote(name))
	}
	return g.commit(b.String(), message)
}

// commit lets git make a commit of changes, as git fast-import takes them.
func (g *Git) commit(changes, message string) string {
	g.t.Helper()
	ref := "refs/heads/" + g.branch
	var b strings.Builder
	fmt.Fprintf(&b, "commit %s\ncommitter test <test@example.com> %d +0000\ndata %d\n%s\n", ref, epoch+60*g.commits, len(message), message)
	if g.has(ref) {
		fmt.Fprintf(&b, "from %s^0\n", ref)
	}
	b.WriteString(changes)
	b.WriteString("\ndone\n")
	g.commits++
	g.Input(b.String(), "fast-import", "--quiet", "--done", "--force")
	return g.Hash(ref)
}

// Branch goes to a branch for the commits to come; a new one starts where the
// last one is.
func (g *Git) Branch(name string) {
	g.t.Helper()
	if old := "refs/heads/" + g.branch; g.has(old) && !g.has("refs/heads/"+name) {
		g.Run("branch", name, old)
	}
	g.branch = name
}

// Tag puts a lightweight tag on the branch; Run makes others.
func (g *Git) Tag(name string) {
	g.t.Helper()
	g.Run("tag", name, "refs/heads/"+g.branch)
}

// Hash is the hash that a revision, such as main, v1 or main:folder, leads to.
func (g *Git) Hash(revision string) string {
	g.t.Helper()
	return strings.TrimSpace(g.Run("rev-parse", "--verify", "--end-of-options", revision))
}

// has reports whether a reference exists.
func (g *Git) has(ref string) bool {
	return g.command("show-ref", "--verify", "--quiet", ref).Run() == nil
}

// Run runs git in the repository and returns what it prints. Whatever it
// commits is later than the last commit.
func (g *Git) Run(args ...string) string {
	g.t.Helper()
	return g.Input("", args...)
}

// Input is Run with an input.
func (g *Git) Input(input string, args ...string) string {
	g.t.Helper()
	cmd := g.command(args...)
	var diagnostics strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &diagnostics
	out, err := cmd.Output()
	require.NoError(g.t, err, "git %s: %s", strings.Join(args, " "), diagnostics.String())
	return string(out)
}

func (g *Git) command(args ...string) *exec.Cmd {
	cmd := exec.Command(g.binary, args...) //nolint:gosec // tests say what git does
	cmd.Dir = g.Dir
	date := fmt.Sprintf("%d +0000", epoch+60*g.commits)
	cmd.Env = append(gitEnv(g.home),
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE="+date)
	cmd.Env = append(cmd.Env, g.Env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// gitEnv is an environment in which git reads no configuration but that of the
// repository.
func gitEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
	}
}

// quote is a path as git fast-import reads it, whatever is in it.
func quote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}
