// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cache_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/cache"
)

// The process of a test that is limited or killed is this test itself, run
// once more with the directory in its environment.
const (
	childDir  = "ROPEWALK_TEST_CACHE_DIR"
	childStep = "ROPEWALK_TEST_CACHE_STEP"
)

func child(t *testing.T, test, dir string, step int, before ...string) *exec.Cmd {
	t.Helper()
	args := append(before, os.Args[0], "-test.run=^"+test+"$")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childDir+"="+dir, childStep+"="+strconv.Itoa(step))
	return cmd
}

// die ends this process as kill -9 does: nothing is cleaned up.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// killed wants a child that was killed.
func killed(t *testing.T, cmd *exec.Cmd, out []byte) {
	t.Helper()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "%s\n%s", cmd.ProcessState, out)
}

const crashLimit = 40_000

// valueOf is the content that belongs to a key: there is only one, so that
// every reader can tell.
func valueOf(key string, size int) []byte {
	sum := sha256.Sum256([]byte(key))
	return bytes.Repeat(sum[:], size/len(sum))
}

// work fills a store beyond its limit, and fetches through it.
func work(dir string, seed uint64, opened func(*cache.Store)) error {
	s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: crashLimit})
	if err != nil {
		return err
	}
	opened(s)
	ctx := context.Background()
	random := rand.New(rand.NewPCG(seed, 0))
	f := &cache.Fetcher{Next: newRemote(), Store: s, TTL: -1}
	for range 40 {
		n := random.IntN(16)
		key, size := fmt.Sprint(n), 640*(1+n)
		if err := s.Put(ctx, cache.KindRender, key, valueOf(key, size)); err != nil {
			return err
		}
		key = fmt.Sprint(random.IntN(16))
		got, ok, err := s.Get(ctx, cache.KindRender, key)
		if err != nil || ok && !bytes.Equal(got, valueOf(key, len(got))) {
			return fmt.Errorf("entry %q is wrong: %w", key, err)
		}
		if n == 0 {
			if _, err := s.Prune(ctx, cache.PruneOptions{MaxBytes: crashLimit / 2}); err != nil {
				return err
			}
		}
		if _, err := f.Fetch(ctx, named("main")); err != nil {
			return err
		}
	}
	return nil
}

// TestAProcessThatIsKilledAtAnyPointLeavesAStoreThatWorks kills a process
// with SIGKILL at its first, second, … two hundredth step. Every fourth of them
// works in the same directory, so that what one leaves is what the next one finds.
func TestAProcessThatIsKilledAtAnyPointLeavesAStoreThatWorks(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		last, _ := strconv.Atoi(os.Getenv(childStep))
		steps := 0
		err := work(dir, uint64(last), func(s *cache.Store) {
			s.OnStep(func(string) {
				if steps++; steps == last {
					die()
				}
			})
		})
		fmt.Println("the work is done after", steps, "steps:", err)
		os.Exit(1)
	}
	name := t.Name()
	const directories = 4
	for d := range directories {
		t.Run(fmt.Sprint(d), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "cache")
			left := 0
			for i := d; i < 200; i += directories {
				cmd := child(t, name, dir, i+1)
				out, _ := cmd.CombinedOutput()
				killed(t, cmd, out)
				s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: crashLimit})
				require.NoError(t, err)
				report, err := s.Verify(t.Context(), cache.VerifyOptions{})
				require.NoError(t, err)
				require.Empty(t, report.Bad, "killed at step %d", i+1)
				temps, _ := os.ReadDir(filepath.Join(dir, "tmp"))
				require.LessOrEqual(t, len(temps), left+1, "at most what this process wrote")
				left = len(temps)
			}
			require.Positive(t, left, "some died in the middle of a write")
			require.NoError(t, work(dir, uint64(d), func(*cache.Store) {}), "the next run succeeds")
			s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: crashLimit})
			require.NoError(t, err)
			require.LessOrEqual(t, clean(t, s).Bytes, int64(crashLimit))
		})
	}
}

func TestAProcessThatIsKilledAtAnyMomentLeavesAStoreThatWorks(t *testing.T) {
	const large = 4 << 20
	write := func(s *cache.Store, i int) error {
		key := fmt.Sprint(i % 4)
		return s.Put(context.Background(), cache.KindRender, key, valueOf(key, large))
	}
	if dir := os.Getenv(childDir); dir != "" {
		s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: 3 * large})
		for i := 0; err == nil; i++ {
			err = write(s, i)
		}
		fmt.Println(err)
		os.Exit(1)
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: 3 * large})
	require.NoError(t, err)
	for i := range 20 {
		cmd := child(t, t.Name(), dir, 0)
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(20+3*i) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		killed(t, cmd, nil)
		report, err := s.Verify(t.Context(), cache.VerifyOptions{})
		require.NoError(t, err)
		require.Empty(t, report.Bad)
		require.NoError(t, write(s, i))
		require.LessOrEqual(t, clean(t, s).Bytes, int64(3*large))
	}
}

func TestManyProcessesShareAStore(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		seed, _ := strconv.ParseUint(os.Getenv(childStep), 10, 64)
		for i := range uint64(4) {
			if err := work(dir, seed+i, func(*cache.Store) {}); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	var cmds []*exec.Cmd
	outs := make([]bytes.Buffer, 3)
	for i := range outs {
		cmd := child(t, t.Name(), dir, 100*i)
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: crashLimit})
	require.NoError(t, err)
	for range 20 {
		report, err := s.Verify(t.Context(), cache.VerifyOptions{})
		require.NoError(t, err)
		require.Empty(t, report.Bad, "there is never half an entry")
		time.Sleep(5 * time.Millisecond)
	}
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), outs[i].String())
	}
	require.LessOrEqual(t, clean(t, s).Bytes, int64(crashLimit))
}

func TestAFullDiskFailsNoFetch(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		s, err := cache.Open(dir, cache.StoreOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		r := newRemote()
		r.trees["large"] = map[string][]byte{"a": make([]byte, 1<<20)}
		f := &cache.Fetcher{Next: r, Store: s, Report: func(err error) { fmt.Println("reported:", err) }}
		tree, err := f.Fetch(context.Background(), commit("large"))
		fmt.Println("fetched:", tree.Revision, err)
		fmt.Println("put:", s.Put(context.Background(), cache.KindRender, "large", make([]byte, 1<<20)))
		for _, c := range s.Stats() {
			fmt.Println(c.Kind, c.Failures)
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "cache")
	s, err := cache.Open(dir, cache.StoreOptions{})
	require.NoError(t, err)
	put(t, s, "before", 1000)
	// A limit on the size of files fails a write in its middle as a full disk
	// does.
	cmd := child(t, t.Name(), dir, 0, "sh", "-c", `trap '' XFSZ; ulimit -f 64; exec "$0" "$@"`)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	why := fmt.Sprintf("cache %q: write: file too large\n", dir)
	require.Contains(t, string(out), "reported: "+why+"fetched: sha1:large <nil>\nput: "+why+"pointer 0\nrender 1\nresolution 0\ntree 1\n")
	require.True(t, has(t, s, "before"))
	require.Equal(t, 1, clean(t, s).Entries)
}

func TestADirectoryThatCannotBeWrittenFailsNoFetch(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		if os.Getuid() == 0 {
			// Modes do not bind root.
			if err := syscall.Setuid(65534); err != nil {
				fmt.Println(err)
				return
			}
		}
		s, err := cache.Open(dir, cache.StoreOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		reported := 0
		f := &cache.Fetcher{Next: newRemote(), Store: s, Report: func(err error) {
			if errors.Is(err, os.ErrPermission) {
				reported++
			}
		}}
		known, err := f.Fetch(context.Background(), commit("c1"))
		fmt.Println("known:", known.Revision, err, reported)
		other, err := f.Fetch(context.Background(), commit("c2"))
		fmt.Println("other:", other.Revision, err, reported)
		_, err = s.Prune(context.Background(), cache.PruneOptions{All: true})
		fmt.Println("prune:", errors.Is(err, os.ErrPermission))
		for _, c := range s.Stats() {
			fmt.Println(c.Kind, c.Hits, c.Misses, c.Failures)
		}
		return
	}
	parent, dir, s := readOnly(t)
	before := clean(t, s)
	// Another user must be able to run the test.
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	program := filepath.Join(parent, "test")
	require.NoError(t, os.WriteFile(program, data, 0o755))
	cmd := child(t, t.Name(), dir, 0)
	cmd.Path, cmd.Dir = program, parent
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out),
		"known: sha1:c1 <nil> 0\nother: sha1:c2 <nil> 1\nprune: true\npointer 1 2 0\nresolution 0 2 0\ntree 1 0 1\n")
	require.Equal(t, before, clean(t, s))
}

// readOnly is a store with a tree that all may read and none may write.
func readOnly(t *testing.T) (parent, dir string, s *cache.Store) {
	t.Helper()
	parent = t.TempDir()
	dir = filepath.Join(parent, "cache")
	s, err := cache.Open(dir, cache.StoreOptions{})
	require.NoError(t, err)
	fetch(t, &cache.Fetcher{Next: newRemote(), Store: s}, commit("c1"))
	for name, mode := range map[string]os.FileMode{
		".": 0o555, cache.KindTree: 0o555, cache.KindPointer: 0o555, "tmp": 0o555, "..": 0o755, "../..": 0o755,
	} {
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	for e := range s.Ls(t.Context()) {
		require.NoError(t, os.Chmod(filepath.Join(dir, e.File), 0o444))
	}
	t.Cleanup(func() {
		for _, name := range []string{".", cache.KindTree, cache.KindPointer, "tmp"} {
			_ = os.Chmod(filepath.Join(dir, name), 0o755)
		}
	})
	return parent, dir, s
}

func TestADirectoryThatCannotBeMadeFailsNoFetch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	blocked, err := cache.Open(filepath.Join(file, "cache"), cache.StoreOptions{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var reported []error
	f := &cache.Fetcher{Next: newRemote(), Store: blocked, Report: func(err error) { reported = append(reported, err) }}
	require.Equal(t, "sha1:c1", fetch(t, f, commit("c1")).Revision)
	require.NotEmpty(t, reported)
}
