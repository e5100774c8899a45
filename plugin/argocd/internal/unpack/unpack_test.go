// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/rootfs"
)

// entry is one entry of an archive; without a type it is a file.
type entry struct {
	name, data, link string
	kind             byte
	mode             int64
}

func file(name, data string) entry {
	return entry{name: name, data: data, kind: tar.TypeReg, mode: 0o644}
}
func dir(name string) entry { return entry{name: name, kind: tar.TypeDir, mode: 0o755} }
func link(name, to string) entry {
	return entry{name: name, link: to, kind: tar.TypeSymlink, mode: 0o777}
}

// packed is an archive of entries.
func packed(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: e.mode, Size: int64(len(e.data))}
		require.NoError(t, w.WriteHeader(h))
		_, err := io.WriteString(w, e.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func read(t testing.TB, opts Options, entries ...entry) (*Tree, error) {
	t.Helper()
	data := packed(t, entries...)
	opts.Checksum = sum(data)
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	tree, err := Read(t.Context(), bytes.NewReader(data), opts)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, tree.Close()) })
	}
	return tree, err
}

func TestAnArchiveIsAFileSystem(t *testing.T) {
	tree, err := read(t, Options{},
		dir("./"), dir("apps/"), dir("apps/shop/"), file("apps/shop/ropewalk.yaml", "a"), file("apps/shop/run.sh", ""),
		file("lib/deep/x.cue", "package x"), link("apps/shop/lib", "../../lib"), link("apps/again", "shop/lib/deep"),
		dir(".git"), file(".git/config", "[remote]"), link("apps/stray", "/etc/passwd"))
	require.NoError(t, err)
	root, err := rootfs.Of(tree, ".")
	require.NoError(t, err)
	data, err := fs.ReadFile(root, "apps/again/x.cue")
	require.NoError(t, err)
	require.Equal(t, "package x", string(data))
	to, err := tree.ReadLink("apps/shop/lib")
	require.NoError(t, err)
	require.Equal(t, "../../lib", to)
	info, err := tree.Lstat("apps/shop/lib")
	require.NoError(t, err)
	require.Equal(t, fs.ModeSymlink, info.Mode().Type())
	_, err = tree.Stat(".git")
	require.NoError(t, err, "the root of a repository is known by it")
	_, err = tree.Stat(".git/config")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = root.Open("apps/stray")
	require.ErrorIs(t, err, rootfs.ErrLeaves)
}

func TestAnArchiveKeepsTheRulesOfFileSystems(t *testing.T) {
	tree, err := read(t, Options{Limits: Limits{Memory: 1}},
		file("a/b.yaml", "b: 1\n"), file("c/d.yaml", "d: 1\n"), dir("e"))
	require.NoError(t, err)
	require.Positive(t, tree.Stats().Spooled)
	require.NoError(t, fstest.TestFS(tree, "a/b.yaml", "c/d.yaml"))
}

func TestLinksLeadNowhereElse(t *testing.T) {
	tree, err := read(t, Options{},
		file("f", "x"), link("up", ".."), link("d/up", "../../f"), link("d/in", "../f"), link("loop", "pool"), link("pool", "loop"),
		link("under", "f/x"), link("round", "d/../f"))
	require.NoError(t, err)
	root, err := rootfs.Of(tree, ".")
	require.NoError(t, err)
	for name, want := range map[string]error{
		"up": rootfs.ErrLeaves, "d/up": rootfs.ErrLeaves, "up/etc": rootfs.ErrLeaves, "loop": syscall.ELOOP, "under": syscall.ENOTDIR,
	} {
		_, err := fs.ReadFile(root, name)
		require.ErrorIs(t, err, want, name)
	}
	for _, name := range []string{"d/in", "round"} {
		data, err := fs.ReadFile(root, name)
		require.NoError(t, err, name)
		require.Equal(t, "x", string(data))
	}
}

func TestFilesBeyondTheMemoryAreInOneFile(t *testing.T) {
	entries := []entry{file("apps/shop/a.yaml", "mine")}
	for i := range 3000 {
		entries = append(entries, file(fmt.Sprintf("other/%04d.yaml", i), strings.Repeat(fmt.Sprint(i), 1000)))
	}
	at := t.TempDir()
	tree, err := read(t, Options{Dir: at, Limits: Limits{Memory: 256 << 10}}, entries...)
	require.NoError(t, err)
	stats := tree.Stats()
	require.LessOrEqual(t, stats.Memory, int64(256<<10))
	require.Greater(t, stats.Spooled, int64(9<<20))
	data, err := tree.ReadFile("other/2999.yaml")
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("2999", 1000), string(data))
	left, err := os.ReadDir(at)
	require.NoError(t, err)
	require.Empty(t, left, "a process that is killed leaves nothing behind")
}

func TestAnArchiveOverALimitIsRefused(t *testing.T) {
	tests := map[string]struct {
		limits  Limits
		entries []entry
		text    string
	}{
		"more entries than allowed": {Limits{Entries: 2}, []entry{dir("a"), dir("b"), dir("c")}, "more than 2 entries"},
		"a file that is too large":  {Limits{File: 3}, []entry{file("a", "1234")}, `"a" has 4 bytes, and a file may have 3`},
		"a folder that is too deep": {Limits{Depth: 2}, []entry{file("a/b/c/d", "")}, `"a/b/c/d" lies 3 folders deep, and 2 are allowed`},
		"too much in all":           {Limits{Unpacked: 4096}, []entry{file("a", strings.Repeat("x", 5000))}, "more than 4096 bytes"},
		"too much compressed":       {Limits{Compressed: 10}, []entry{file("a", "x")}, "more than 10 bytes"},
		"a bomb in .git":            {Limits{}, []entry{file(".git/x", strings.Repeat("\x00", 20<<20))}, "more than 200 times its size"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, Options{Limits: test.limits}, test.entries...)
			require.ErrorIs(t, err, ErrLimit)
			require.ErrorContains(t, err, test.text)
		})
	}
}

func TestAPackOfGitMayBeLargerThanAFile(t *testing.T) {
	pack := strings.Repeat("0123456789", 1000)
	limits := Limits{File: 100, Unpacked: 64 << 10}
	tree, err := read(t, Options{Limits: limits}, file(".git/objects/pack/p.pack", pack), file("a.yaml", "a: 1\n"))
	require.NoError(t, err)
	require.Equal(t, int64(5), tree.Stats().Memory+tree.Stats().Spooled)
	_, err = read(t, Options{Limits: limits}, file("x/.git/p.pack", pack))
	require.ErrorContains(t, err, "a file may have 100", "only the .git of the root is left out")
	_, err = read(t, Options{Limits: Limits{File: 100, Unpacked: 8 << 10}}, file(".git/p.pack", pack))
	require.ErrorContains(t, err, "more than 8192 bytes", "it counts against the whole")
}

func TestWhatNoRepositoryHoldsIsRefused(t *testing.T) {
	tests := map[string][]entry{
		"a name that leads out":    {file("../a", "")},
		"a name that leads round":  {file("a/../../b", "")},
		"an absolute name":         {file("/etc/passwd", "")},
		"a name that is not clean": {file("a//b", "")},
		"a file twice":             {file("a", "1"), file("a", "2")},
		"a file twice in two ways": {file("a", "1"), file("./a", "2")},
		"a file below a file":      {file("a", "1"), file("a/b", "2")},
		"a folder that is a file":  {file("a", "1"), dir("a")},
		"a file below a link":      {link("a", "b"), file("a/b", "2")},
		"a link without a target":  {link("a", "")},
		"a hard link":              {file("a", "1"), {name: "b", link: "a", kind: tar.TypeLink}},
		"a device":                 {{name: "a", kind: tar.TypeBlock}},
		"a pipe":                   {{name: "a", kind: tar.TypeFifo}},
		"a file without a name":    {file("", "")},
		"a long target of a link":  {link("a", strings.Repeat("x", maxTarget+1))},
		"a file that is the root":  {file(".", "1")},
		"a link that is the root":  {link(".", "a")},
	}
	for name, entries := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, Options{}, entries...)
			require.ErrorIs(t, err, ErrArchive)
		})
	}
}

func TestADamagedStreamIsRefused(t *testing.T) {
	data := packed(t, file("a.yaml", strings.Repeat("a: 1\n", 500)), file("b", "2"))
	good := sum(data)
	opts := Options{Checksum: good, Dir: t.TempDir()}
	for cut := range len(data) {
		_, err := Read(t.Context(), bytes.NewReader(data[:cut]), opts)
		require.Error(t, err, "cut at %d of %d", cut, len(data))
	}
	_, err := Read(t.Context(), bytes.NewReader(data), Options{Checksum: sum([]byte("x"))})
	require.ErrorIs(t, err, ErrChecksum)
	_, err = Read(t.Context(), bytes.NewReader(append(bytes.Clone(data), packed(t, file("c", ""))...)), opts)
	require.ErrorIs(t, err, ErrChecksum, "what follows the archive is part of what was announced")
	_, err = Read(t.Context(), bytes.NewReader([]byte("no archive")), opts)
	require.ErrorIs(t, err, ErrArchive)
	tree, err := Read(t.Context(), iotest.OneByteReader(bytes.NewReader(data)), opts)
	require.NoError(t, err)
	require.Equal(t, 2, tree.Stats().Entries)
}

func TestAFaultOfTheStreamComesOutAsItIs(t *testing.T) {
	data := packed(t, file("a.yaml", "a: 1\n"))
	gone := errors.New("the client is gone")
	_, err := Read(t.Context(), io.MultiReader(bytes.NewReader(data[:20]), iotest.ErrReader(gone)), Options{})
	require.ErrorIs(t, err, gone)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	slow := readerFunc(func(p []byte) (int, error) {
		time.Sleep(2 * time.Millisecond)
		return copy(p[:1], data), nil
	})
	_, err = Read(ctx, slow, Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAnErrorOfTheDiskIsReported(t *testing.T) {
	_, err := read(t, Options{Dir: filepath.Join(t.TempDir(), "missing"), Limits: Limits{Memory: 1}}, file("b", "22"))
	require.ErrorIs(t, err, ErrRoom)
}

// TestABombCostsLittle streams ten gigabytes of zeros, which are ten megabytes
// compressed.
func TestABombCostsLittle(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		out := tar.NewWriter(z)
		for i := range 160 {
			_ = out.WriteHeader(&tar.Header{Name: fmt.Sprint(i), Typeflag: tar.TypeReg, Size: 64 << 20})
			if _, err := out.Write(make([]byte, 64<<20)); err != nil {
				return
			}
		}
		_ = w.Close()
	}()
	start := time.Now()
	_, err := Read(t.Context(), r, Options{Dir: t.TempDir(), Limits: Limits{Memory: 1 << 20}})
	_ = r.CloseWithError(io.ErrClosedPipe)
	require.ErrorIs(t, err, ErrLimit)
	require.Less(t, time.Since(start), 20*time.Second)
}

func TestManyEntriesAreFine(t *testing.T) {
	entries := make([]entry, DefaultEntries)
	for i := range entries {
		entries[i] = file(fmt.Sprintf("d%d/%d", i%300, i), "x")
	}
	tree, err := read(t, Options{}, entries...)
	require.NoError(t, err)
	require.Equal(t, DefaultEntries, tree.Stats().Entries)
	_, err = read(t, Options{}, append(entries, file("more", ""))...)
	require.ErrorIs(t, err, ErrLimit)
}

func FuzzRead(f *testing.F) {
	f.Add(packed(f, file("a/b", "x"), link("c", "a/b"), dir("d")))
	f.Add(packed(f, link("a", "../.."), file(".git/x", "y")))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := Options{Checksum: sum(data), Dir: t.TempDir(), Limits: Limits{
			Unpacked: 1 << 20, File: 1 << 16, Memory: 1 << 12, Entries: 64, Depth: 8,
		}}
		tree, err := Read(t.Context(), bytes.NewReader(data), opts)
		if err != nil {
			return
		}
		defer tree.Close()
		require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			if d.Type().IsRegular() {
				content, err := tree.ReadFile(name)
				require.NoError(t, err)
				info, err := d.Info()
				require.NoError(t, err)
				require.Len(t, content, int(info.Size()))
			}
			_, _ = tree.Stat(name)
			return nil
		}))
	})
}

// BenchmarkRead is a repository of 3,010 files and 13 MB, of which ten files are
// those of the application.
func BenchmarkRead(b *testing.B) {
	var entries []entry
	for i := range 10 {
		entries = append(entries, file(fmt.Sprintf("apps/shop/%d.yaml", i), "a: 1\n"))
	}
	for i := range 3000 {
		entries = append(entries, file(fmt.Sprintf("other/%04d.yaml", i), strings.Repeat(fmt.Sprintf("k%d: %d\n", i*7919, i*104729), 260)))
	}
	data := packed(b, entries...)
	opts := Options{Checksum: sum(data), Dir: b.TempDir()}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		tree, err := Read(b.Context(), bytes.NewReader(data), opts)
		require.NoError(b, err)
		b.ReportMetric(float64(tree.Stats().Unpacked)/1e6, "unpacked-MB")
		require.NoError(b, tree.Close())
	}
}
