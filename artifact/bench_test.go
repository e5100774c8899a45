// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// onDisk writes many objects into a folder, so that the tree itself is not in
// memory.
func onDisk(t testing.TB, n int) (fs.FS, int) {
	t.Helper()
	files, size := many(n)
	dir := t.TempDir()
	require.NoError(t, fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o600)
	}))
	return os.DirFS(dir), size
}

// peak is how much the heap grew at most while f ran, garbage included.
func peak(f func()) uint64 {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var highest atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				runtime.ReadMemStats(&now)
				highest.Store(max(highest.Load(), now.HeapInuse))
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	if highest.Load() < before.HeapInuse {
		return 0
	}
	return highest.Load() - before.HeapInuse
}

func TestPackingNeedsLittleMemory(t *testing.T) {
	files, size := onDisk(t, 5000)
	got := peak(func() {
		a, err := artifact.Pack(files, artifact.Options{})
		require.NoError(t, err)
		require.Equal(t, 5000, a.Files)
	})
	t.Logf("tree %d bytes, peak %d: %.2f times", size, got, float64(got)/float64(size))
	require.LessOrEqual(t, got, uint64(3*size))
}

func BenchmarkPack(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			files, size := onDisk(b, n)
			b.SetBytes(int64(size))
			var a *artifact.Artifact
			pack := func() {
				var err error
				a, err = artifact.Pack(files, artifact.Options{})
				require.NoError(b, err)
			}
			highest := peak(pack)
			for b.Loop() {
				pack()
			}
			b.ReportMetric(float64(highest)/float64(size), "peak/tree")
			b.ReportMetric(float64(a.Layer.Size)/float64(size), "gzip/tree")
		})
	}
}

func BenchmarkPull(b *testing.B) {
	for _, n := range []int{10, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			files, size := onDisk(b, n)
			set, err := artifact.PackSet(files, nil, artifact.Options{})
			require.NoError(b, err)
			l := openLayout(b, b.TempDir())
			artifacts.Push(b, l, set, "v1")
			b.SetBytes(int64(size))
			pull := func() {
				_, err := artifact.Pull(b.Context(), l, "v1", artifact.PullOptions{})
				require.NoError(b, err)
			}
			highest := peak(pull)
			for b.Loop() {
				pull()
			}
			b.ReportMetric(float64(highest)/float64(size), "peak/tree")
		})
	}
}

// BenchmarkPushUnchanged counts the requests of a push that changes nothing.
func BenchmarkPushUnchanged(b *testing.B) {
	o := servers.InProcess(b)
	artifacts.Push(b, repository(o, "shop"), artifacts.Single(b, "a", "1"), "v1")
	set := artifacts.Single(b, "a", "2")
	o.Reset()
	for b.Loop() {
		artifacts.Push(b, repository(o, "shop"), set, "v1")
	}
	b.ReportMetric(float64(len(o.Requests()))/float64(b.N), "requests/op")
}

// BenchmarkCopy counts the requests of a copy with two referrers.
func BenchmarkCopy(b *testing.B) {
	from, to := servers.InProcess(b), servers.InProcess(b)
	set := artifacts.Single(b, "a", "")
	artifacts.Push(b, repository(from, "shop"), set, "v1")
	attach(b, repository(from, "shop"), set.Complete.Descriptor, 2)
	_, err := artifact.Copy(b.Context(), repository(from, "shop"), repository(to, "same"), "v1", artifact.CopyOptions{Referrers: true})
	require.NoError(b, err)
	for _, c := range []struct {
		name  string
		fresh bool
		opts  artifact.CopyOptions
	}{
		{"fresh", true, artifact.CopyOptions{Referrers: true}},
		{"unchanged", false, artifact.CopyOptions{Referrers: true}},
		{"checked", false, artifact.CopyOptions{Referrers: true, Check: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			from.Reset()
			to.Reset()
			i := 0
			for b.Loop() {
				repo := "same"
				if c.fresh {
					repo = fmt.Sprint("fresh", b.N, "-", i)
				}
				i++
				_, err := artifact.Copy(b.Context(), repository(from, "shop"), repository(to, repo), "v1", c.opts)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(len(from.Requests())+len(to.Requests()))/float64(b.N), "requests/op")
		})
	}
}

func TestAPullSharesNothingWithTheNext(t *testing.T) {
	t.Parallel()
	l := openLayout(t, t.TempDir())
	artifacts.Push(t, l, artifacts.Single(t, "kind: A\n", ""), "v1")
	one, err := artifact.Pull(t.Context(), l, "v1", artifact.PullOptions{})
	require.NoError(t, err)
	data, err := fs.ReadFile(one.FS, one.Files[0].Path)
	require.NoError(t, err)
	data[0] = 'x'
	require.True(t, bytes.HasPrefix(one.Files[0].Data, []byte("kind")))
}
