// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package git

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// serveVariable makes the test binary a server of Git, so that its work is not
// in the figures of the client.
const serveVariable = "ROPEWALK_TEST_GIT_ROOT"

// TestServe is that server. It ends with its input.
func TestServe(t *testing.T) {
	root := os.Getenv(serveVariable)
	if root == "" {
		t.Skip("the benchmarks run it")
	}
	fmt.Println("url " + servers.GitHTTP(t, root))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func serve(b *testing.B, root string) string {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(self, "-test.run=^TestServe$", "-test.v")
	cmd.Env = append(os.Environ(), serveVariable+"="+root)
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "url "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return url
		}
	}
	b.Fatal("the server does not start")
	return ""
}

// large is a repository of 10,000 files of about 6 KB in 250 folders.
func large(b *testing.B) (url, commit string) {
	b.Helper()
	root := b.TempDir()
	g := servers.NewGit(b, filepath.Join(root, "r.git"))
	files := map[string]string{}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		var text strings.Builder
		for range 300 {
			fmt.Fprintf(&text, "key%d: %x\n", i, random.Uint32())
		}
		files[fmt.Sprintf("group%d/dir%d/file%d.yaml", i%25, i%250, i)] = text.String()
	}
	commit = g.Commit(files, "all")
	return serve(b, root) + "/r.git", commit
}

// cpu is the time that this process and its children have worked.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(who, &u))
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// recipe gets 40 files with plain commands of git.
func recipe(b *testing.B, url, commit string) {
	b.Helper()
	dir := b.TempDir()
	run := func(input string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(cleanEnv(dir), "GIT_ALLOW_PROTOCOL=http")
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		require.NoError(b, err, args)
		return string(out)
	}
	run("", "init", "--quiet", "--bare", "--template=", ".")
	run("", "remote", "add", "origin", url)
	run("", "-c", "transfer.fsckObjects=true", "fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "origin", commit)
	var ids strings.Builder
	for line := range strings.Lines(run("", "ls-tree", "-r", commit, "group7/dir7")) {
		ids.WriteString(strings.Fields(line)[2] + "\n")
	}
	run(ids.String(), "-c", "transfer.fsckObjects=true", "fetch", "--quiet", "--no-filter", "--no-tags", "--stdin", "origin")
	require.Equal(b, 40, bytes.Count([]byte(run(ids.String(), "cat-file", "--batch")), []byte(" blob ")))
}

// fetched gets the same files with go-git alone.
func fetched(b *testing.B, url string) {
	b.Helper()
	repository, err := gogit.PlainInit(b.TempDir(), true)
	require.NoError(b, err)
	_, err = repository.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{url}})
	require.NoError(b, err)
	require.NoError(b, repository.Fetch(&gogit.FetchOptions{Depth: 1, Tags: gogit.NoTags, RefSpecs: []config.RefSpec{"refs/heads/main:refs/heads/main"}}))
	head, err := repository.Reference("refs/heads/main", true)
	require.NoError(b, err)
	commit, err := repository.CommitObject(head.Hash())
	require.NoError(b, err)
	tree, err := commit.Tree()
	require.NoError(b, err)
	tree, err = tree.Tree("group7/dir7")
	require.NoError(b, err)
	count := 0
	files := tree.Files()
	for {
		file, err := files.Next()
		if err != nil {
			break
		}
		_, err = file.Contents()
		require.NoError(b, err)
		count++
	}
	require.Equal(b, 40, count)
}

// BenchmarkFetch gets 40 files of a repository of 10,000. x-recipe is the CPU
// in relation to the commands of git that do the same, and x-gogit to go-git.
func BenchmarkFetch(b *testing.B) {
	url, commit := large(b)
	ref := source.Ref{Ref: url + "?commit=" + commit, Path: "group7/dir7"}
	compare := func(b *testing.B, metric string, f *Fetcher, other func()) {
		b.Helper()
		var ours, theirs time.Duration
		for b.Loop() {
			begin := cpu(b)
			tree, err := f.Fetch(b.Context(), ref)
			require.NoError(b, err)
			ours += cpu(b) - begin
			require.NotEmpty(b, tree.Digest)
			begin = cpu(b)
			other()
			theirs += cpu(b) - begin
		}
		b.ReportMetric(float64(ours)/float64(theirs), metric)
		b.ReportMetric(float64(ours.Microseconds())/1000/float64(b.N), "cpu-ms")
	}
	b.Run("with git", func(b *testing.B) {
		f := &Fetcher{Binary: FindBinary(), PlainHTTP: anyHost, Scratch: b.TempDir()}
		compare(b, "x-recipe", f, func() { recipe(b, url, commit) })
		b.ReportMetric(diskUse(b, f, ref), "disk-KB")
	})
	b.Run("without git", func(b *testing.B) {
		f := &Fetcher{PlainHTTP: anyHost, Scratch: b.TempDir()}
		compare(b, "x-gogit", f, func() { fetched(b, url) })
	})
}

// diskUse is how much lies on disk when the files have been read.
func diskUse(b *testing.B, f *Fetcher, ref source.Ref) float64 {
	b.Helper()
	r, err := f.parse(ref.Ref)
	require.NoError(b, err)
	from, err := f.connect(b.Context(), r.location, credentials{})
	require.NoError(b, err)
	defer from.close()
	all, err := from.open(b.Context(), chosen{commit: r.choice}, false)
	require.NoError(b, err)
	files, err := newFiles(all, r.choice, source.DefaultBytes, func() {})
	require.NoError(b, err)
	_, err = f.read(b.Context(), files, ref.Path)
	require.NoError(b, err)
	var size int64
	require.NoError(b, filepath.WalkDir(f.Scratch, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			info, infoErr := e.Info()
			size, err = size+info.Size(), infoErr
		}
		return err
	}))
	return float64(size) / 1000
}
