// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample is a repository with two commits, a branch and a tag, at root/a/b.git.
func sample(t *testing.T) (root string, g *Git) {
	t.Helper()
	root = t.TempDir()
	g = NewGit(t, filepath.Join(root, "a", "b.git"))
	g.Commit(map[string]string{"module.cue": "package a\n", "dir/it's \"x\".txt": "x"}, "first")
	g.Tag("v1")
	g.Commit(map[string]string{"module.cue": "package b\n"}, "second")
	return root, g
}

// gitClient runs git as a client without configuration and returns all it prints.
func gitClient(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env = append(gitEnv(t.TempDir()), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestARepositoryIsTheSameEveryTime(t *testing.T) {
	_, a := sample(t)
	_, b := sample(t)
	require.Equal(t, a.Hash("main"), b.Hash("main"))
	require.Equal(t, "package b\n", a.Run("show", "main:module.cue"))
	require.Equal(t, "package a\n", a.Run("show", "v1:module.cue"))
	require.Equal(t, "x", a.Run("show", "main:dir/it's \"x\".txt"), "a commit keeps the other files")
	require.Equal(t, "second\nfirst\n", a.Run("log", "--format=%s", "main"))

	before := a.Hash("main")
	a.Branch("side")
	require.NotEqual(t, before, a.Remove("third", "dir"))
	require.Equal(t, "module.cue\n", a.Run("ls-tree", "-r", "--name-only", "side"))
	require.Equal(t, before, a.Hash("main"), "a commit on a branch leaves others alone")
	a.Branch("main")
	a.Commit(map[string]string{"new": ""}, "fourth")
	require.Equal(t, before, a.Hash("main^"))
}

func TestARepositoryMayUseSHA256(t *testing.T) {
	g := NewGit(t, t.TempDir(), "--object-format=sha256")
	require.Len(t, g.Commit(map[string]string{"a": "b"}, "first"), 64)
}

func TestGitOverHTTP(t *testing.T) {
	root, g := sample(t)
	var asked atomic.Int64
	url := GitHTTP(t, root, WithGitFault(func(*http.Request) (http.Handler, bool) {
		asked.Add(1)
		return nil, false
	}))
	out, err := gitClient(t, nil, "ls-remote", url+"/a/b.git", "main")
	require.NoError(t, err, out)
	require.Equal(t, g.Hash("main")+"\trefs/heads/main\n", out)
	require.NotZero(t, asked.Load())

	_, err = gitClient(t, nil, "ls-remote", url+"/a/other.git")
	require.Error(t, err)
	clone := filepath.Join(t.TempDir(), "c")
	out, err = gitClient(t, nil, "clone", "--quiet", url+"/a/b.git", clone)
	require.NoError(t, err, out)
	out, err = gitClient(t, nil, "-C", clone, "push", "origin", "HEAD:refs/heads/new")
	require.Error(t, err, "the server is for reading only: %s", out)
}

// TestGitFilter fetches one commit without its blobs, which only works where
// the server filters and speaks version 2.
func TestGitFilter(t *testing.T) {
	root, _ := sample(t)
	for name, c := range map[string]struct {
		opts []GitOption
		want string
	}{
		"a server that filters sends no blobs":          {nil, "blobs 0"},
		"a server that does not filter sends all of it": {[]GitOption{NoFilter()}, "blobs 2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := gitClient(t, nil, "init", "--quiet", "--bare", dir)
			require.NoError(t, err)
			out, err := gitClient(t, nil, "-C", dir, "fetch", "--quiet", "--depth=1", "--filter=blob:none", GitHTTP(t, root, c.opts...)+"/a/b.git", "main")
			require.NoError(t, err, out)
			objects, err := gitClient(t, nil, "-C", dir, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
			require.NoError(t, err)
			require.Equal(t, c.want, "blobs "+string(rune('0'+strings.Count(objects, "blob"))))
		})
	}
}

func TestGitOverHTTPAsksForAPassword(t *testing.T) {
	root, _ := sample(t)
	var ca []byte
	url := GitHTTP(t, root, WithGitAuth("ann", "secret"), WithGitTLS(&ca))
	pem := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(pem, ca, 0o600))
	env := []string{"GIT_SSL_CAINFO=" + pem}
	_, err := gitClient(t, env, "ls-remote", url+"/a/b.git")
	require.Error(t, err)
	out, err := gitClient(t, env, "ls-remote", strings.Replace(url, "://", "://ann:secret@", 1)+"/a/b.git", "main")
	require.NoError(t, err, out)
	out, err = gitClient(t, nil, "ls-remote", strings.Replace(url, "://", "://ann:secret@", 1)+"/a/b.git", "main")
	require.Error(t, err, "the authority is unknown to the system: %s", out)
}

// sshEnv has git use a key and known hosts, and nothing of the user.
func sshEnv(t *testing.T, key []byte, knownHosts string) []string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), key, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "known_hosts"), []byte(knownHosts), 0o600))
	return []string{"GIT_SSH_COMMAND=ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none " +
		"-o StrictHostKeyChecking=yes -o UserKnownHostsFile=" + dir + "/known_hosts -i " + dir + "/key"}
}

func TestGitOverSSH(t *testing.T) {
	root, g := sample(t)
	s := GitSSH(t, root)
	env := sshEnv(t, s.ClientKey, s.KnownHosts)
	for _, version := range []string{"0", "2"} {
		out, err := gitClient(t, env, "-c", "protocol.version="+version, "ls-remote", s.URL("a/b.git"), "main")
		require.NoError(t, err, "%s%s", out, s.Log())
		require.Equal(t, g.Hash("main")+"\trefs/heads/main\n", out)
	}
	clone := filepath.Join(t.TempDir(), "c")
	out, err := gitClient(t, env, "clone", "--quiet", "--depth=1", "--filter=blob:none", s.URL("a/b.git"), clone)
	require.NoError(t, err, out)
	out, err = gitClient(t, env, "-C", clone, "push", "origin", "HEAD:refs/heads/new")
	require.Error(t, err)
	require.Contains(t, out, "only git-upload-pack is served")
	out, err = gitClient(t, env, "ls-remote", s.URL("../b.git"))
	require.Error(t, err)
	require.Contains(t, out, "no such repository")
}

func TestGitOverSSHLetsOneKeyIn(t *testing.T) {
	root, _ := sample(t)
	s, other := GitSSH(t, root), GitSSH(t, root)
	out, err := gitClient(t, sshEnv(t, other.ClientKey, s.KnownHosts), "ls-remote", s.URL("a/b.git"))
	require.Error(t, err)
	require.Contains(t, out, "Permission denied")
	_, key, _ := strings.Cut(other.KnownHosts, " ")
	address, _, _ := strings.Cut(s.KnownHosts, " ")
	out, err = gitClient(t, sshEnv(t, s.ClientKey, address+" "+key), "ls-remote", s.URL("a/b.git"))
	require.Error(t, err)
	require.Contains(t, out, "Host key verification failed")
}

func TestGitOverSSHEndsWithItsTest(t *testing.T) {
	root, _ := sample(t)
	t.Run("a test", func(t *testing.T) {
		s := GitSSH(t, root)
		env := sshEnv(t, s.ClientKey, s.KnownHosts)
		_, err := gitClient(t, env, "ls-remote", s.URL("a/b.git"))
		require.NoError(t, err)
		// A client that stays: it asks for the references and then says nothing.
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `exec ${GIT_SSH_COMMAND} -p "$1" "$2@127.0.0.1" "git-upload-pack 'a/b.git'"`,
			"sh", s.URL("")[strings.LastIndex(s.URL(""), ":")+1:len(s.URL(""))-1], s.User)
		cmd.Env = append(gitEnv(t.TempDir()), env...)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = stdout.Read(make([]byte, 1))
		require.NoError(t, err, "the server speaks first")
		require.Greater(t, children(t), 1)
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	})
	require.Zero(t, children(t), "no process is left")
}
