// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// entry is an entry of a tar; what is zero is that of a file.
type entry struct {
	tar.Header
	body string
}

func file(name, body string) entry { return entry{Header: tar.Header{Name: name}, body: body} }

func other(kind byte, name, to string) entry {
	return entry{Header: tar.Header{Typeflag: kind, Name: name, Linkname: to}}
}

func writeTar(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := e.Header
		if h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode, h.Size = 0o644, int64(len(e.body))
		}
		require.NoError(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, e.body)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func names(t testing.TB, b *source.Builder) []string {
	t.Helper()
	tree, err := b.Tree("", "")
	require.NoError(t, err)
	return namesOf(t, tree)
}

func namesOf(t testing.TB, tree source.Tree) []string {
	t.Helper()
	out := []string{}
	require.NoError(t, fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			out = append(out, name)
		}
		return err
	}))
	return out
}

func TestATarBecomesATree(t *testing.T) {
	long := strings.Repeat("long/", 60) + "a.cue"
	for name, c := range map[string]struct {
		entries []entry
		opts    tarball.Options
		want    []string
	}{
		"as Flux writes it, with a root and folders": {
			[]entry{other(tar.TypeDir, ".", ""), other(tar.TypeDir, "dir/", ""), file("dir/a.cue", "a"), file("b.cue", "")},
			tarball.Options{}, []string{"b.cue", "dir/a.cue"}},
		"as tar czf x . writes it": {
			[]entry{other(tar.TypeDir, "./", ""), file("./a.cue", "a"), other(tar.TypeDir, "./d/", ""), file("./d/b.cue", "b")},
			tarball.Options{}, []string{"a.cue", "d/b.cue"}},
		"as git archive writes it, with a comment in front": {
			[]entry{{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "abc"}}}, file("a.cue", "a")},
			tarball.Options{}, []string{"a.cue"}},
		"names that are longer than the header": {[]entry{file(long, "a")}, tarball.Options{}, []string{long}},
		"symlinks, where they are kept": {
			[]entry{file("a.cue", "a"), other(tar.TypeSymlink, "l.cue", "/etc/passwd"), other(tar.TypeSymlink, ".git-link", "a.cue")},
			tarball.Options{Symlinks: true, Keep: tarball.Visible}, []string{"a.cue", "l.cue"}},
		"what is wanted of it": {
			[]entry{file("a.cue", "a"), file(".github/x.yaml", "x"), file("d/.x", ""), file("node_modules/x.js", "")},
			tarball.Options{Keep: tarball.Visible}, []string{"a.cue"}},
		"nothing": {nil, tarball.Options{}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			data := writeTar(t, c.entries...)
			var b, z, slow source.Builder
			b.Limits.Depth, z.Limits.Depth, slow.Limits.Depth = 70, 70, 70
			require.NoError(t, tarball.Tar(t.Context(), bytes.NewReader(data), &b, c.opts))
			require.Equal(t, c.want, names(t, &b))
			require.NoError(t, tarball.Gzip(t.Context(), bytes.NewReader(zipped(t, data)), &z, c.opts))
			require.Equal(t, c.want, names(t, &z))
			// Readers may give one byte, and the end with the last one.
			r := iotest.DataErrReader(iotest.OneByteReader(bytes.NewReader(zipped(t, data))))
			require.NoError(t, tarball.Gzip(t.Context(), r, &slow, c.opts))
			require.Equal(t, c.want, names(t, &slow))
		})
	}
}

func TestATarIsRefusedForWhatIsInIt(t *testing.T) {
	for name, c := range map[string]struct {
		entries []entry
		opts    tarball.Options
		want    string
		is      error
	}{
		"a name that leaves the root":    {[]entry{file("../a.cue", "")}, tarball.Options{}, `path "../a.cue" leaves its root`, source.ErrPath},
		"a name that leaves it later":    {[]entry{file("a/../../a.cue", "")}, tarball.Options{}, `path "a/../../a.cue" leaves its root`, source.ErrPath},
		"a folder that leaves it":        {[]entry{other(tar.TypeDir, "../", "")}, tarball.Options{}, `path ".." leaves its root`, source.ErrPath},
		"an absolute name":               {[]entry{file("/etc/a.cue", "")}, tarball.Options{}, `path "/etc/a.cue" is absolute`, source.ErrPath},
		"an absolute name behind a dot":  {[]entry{file(".//etc/a.cue", "")}, tarball.Options{}, `path "/etc/a.cue" is absolute`, source.ErrPath},
		"a backslash":                    {[]entry{file(`a\..\b.cue`, "")}, tarball.Options{}, `path "a\\..\\b.cue" holds a backslash`, source.ErrPath},
		"a name that is not clean":       {[]entry{file("a//b.cue", "")}, tarball.Options{}, `path "a//b.cue" is not clean`, source.ErrPath},
		"the configuration of Git":       {[]entry{file("a/.GIT/config", "")}, tarball.Options{Keep: tarball.Visible}, `path "a/.GIT/config" goes through a folder of Git`, source.ErrPath},
		"a name of 5,000 bytes":          {[]entry{file(strings.Repeat("a", 5000), "")}, tarball.Options{}, "is longer than 4096 bytes", source.ErrPath},
		"a bad name in what is left out": {[]entry{file("../a.cue", "")}, tarball.Options{Keep: nothing}, `path "../a.cue" leaves its root`, source.ErrPath},
		"a file that is there twice":     {[]entry{file("a.cue", "1"), file("a.cue", "2")}, tarball.Options{}, `"a.cue" is in the tree twice`, source.ErrPath},
		"a file with two names":          {[]entry{file("a.cue", "1"), file("./a.cue", "2")}, tarball.Options{}, `"a.cue" is in the tree twice`, source.ErrPath},
		"a symlink":                      {[]entry{other(tar.TypeSymlink, "l.cue", "a.cue")}, tarball.Options{}, `"l.cue" is a symlink; a module may hold only regular files and folders`, source.ErrNotRegular},
		"a hard link":                    {[]entry{other(tar.TypeLink, "l.cue", "a.cue")}, tarball.Options{Symlinks: true}, `"l.cue" is a hard link; a module may hold only regular files and folders`, source.ErrNotRegular},
		"a device":                       {[]entry{other(tar.TypeChar, "null", "")}, tarball.Options{}, `"null" is a device; a module may hold only regular files and folders`, source.ErrNotRegular},
		"a block device":                 {[]entry{other(tar.TypeBlock, "sda", "")}, tarball.Options{}, `"sda" is a device; a module may hold only regular files and folders`, source.ErrNotRegular},
		"a pipe":                         {[]entry{other(tar.TypeFifo, "p", "")}, tarball.Options{}, `"p" is a pipe; a module may hold only regular files and folders`, source.ErrNotRegular},
		"a global header that renames": {
			[]entry{{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "x"}}}, file("a.cue", "")},
			tarball.Options{}, "the archive has a global header that changes its entries", tarball.ErrFormat},
		"too many entries": {[]entry{file("a", ""), file("b", ""), file("c", "")}, tarball.Options{Entries: 2}, "the archive has more than 2 entries", source.ErrLimit},
		"too many bytes":   {[]entry{file("a", strings.Repeat("x", 9000))}, tarball.Options{Total: 8000, Keep: nothing}, "the archive holds more than 8000 bytes", source.ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			var b source.Builder
			data := writeTar(t, c.entries...)
			err := tarball.Tar(t.Context(), bytes.NewReader(data), &b, c.opts)
			require.ErrorContains(t, err, c.want)
			require.ErrorIs(t, err, c.is)
			require.EqualError(t, tarball.Gzip(t.Context(), bytes.NewReader(zipped(t, data)), &source.Builder{}, c.opts), err.Error())
		})
	}
}

// sparse is a tar with a sparse file as GNU tar writes it (--format=gnu -S):
// the header says type S, and 10 GiB as the real size in base 256.
func sparse(t testing.TB) []byte {
	t.Helper()
	data := writeTar(t, file("s.bin", ""))
	data[156] = 'S'
	copy(data[257:], "ustar  \x00")
	copy(data[483:], "00120000000000")
	sum := 0
	copy(data[148:156], "        ")
	for _, c := range data[:512] {
		sum += int(c)
	}
	copy(data[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return data
}

func TestATarIsRefusedForItsForm(t *testing.T) {
	whole := writeTar(t, file("a.cue", "a: 1"), file("b.cue", "b: 1"))
	packed := zipped(t, whole)
	broken := bytes.Clone(packed)
	broken[len(broken)-6] ^= 1 // the checksum
	for name, c := range map[string]struct {
		data []byte
		zip  bool
		want string
		is   error
	}{
		"no bytes at all":               {nil, false, "the tar breaks off: it has no end mark", tarball.ErrFormat},
		"cut between entries":           {whole[:1024], false, "the tar breaks off: it has no end mark", tarball.ErrFormat},
		"cut in an entry":               {whole[:514], false, `the tar cannot be read: "a.cue": unexpected EOF`, tarball.ErrFormat},
		"cut in the padding":            {whole[:600], false, "the tar breaks off: it has no end mark", tarball.ErrFormat},
		"cut before the first byte":     {whole[:512], false, `the tar cannot be read: "a.cue": unexpected EOF`, tarball.ErrFormat},
		"something else":                {bytes.Repeat([]byte("x"), 2048), false, "the tar cannot be read: archive/tar: invalid tar header", tarball.ErrFormat},
		"something behind the end":      {append(bytes.Clone(whole), whole...), false, "data follow the end of the tar", tarball.ErrFormat},
		"a sparse file":                 {sparse(t), false, `"s.bin" is a sparse file; a module may hold only regular files and folders`, source.ErrNotRegular},
		"no gzip":                       {whole, true, "the gzip cannot be read: gzip: invalid header", tarball.ErrFormat},
		"no bytes at all of gzip":       {nil, true, "the gzip cannot be read: unexpected EOF", tarball.ErrFormat},
		"a gzip that is cut":            {packed[:len(packed)-9], true, "the tar cannot be read: unexpected EOF", tarball.ErrFormat},
		"a gzip without its checksum":   {packed[:len(packed)-1], true, "the tar cannot be read: unexpected EOF", tarball.ErrFormat},
		"a gzip with a wrong checksum":  {broken, true, "the tar cannot be read: gzip: invalid checksum", tarball.ErrFormat},
		"something behind the gzip":     {append(bytes.Clone(packed), "more than ten bytes"...), true, "the tar cannot be read: gzip: invalid header", tarball.ErrFormat},
		"something behind it in a gzip": {append(bytes.Clone(packed), zipped(t, whole)...), true, "data follow the end of the tar", tarball.ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			read := tarball.Tar
			if c.zip {
				read = tarball.Gzip
			}
			err := read(t.Context(), bytes.NewReader(c.data), &source.Builder{}, tarball.Options{})
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, c.is)
		})
	}
}

func TestPaddingIsNoTrouble(t *testing.T) {
	var b source.Builder
	data := append(writeTar(t, file("a.cue", "a")), make([]byte, 10240)...)
	require.NoError(t, tarball.Tar(t.Context(), bytes.NewReader(data), &b, tarball.Options{}))
	require.Equal(t, []string{"a.cue"}, names(t, &b))
}

func TestAFaultOfTheStreamComesOutAsItIs(t *testing.T) {
	broke := errors.New("connection reset")
	data := zipped(t, writeTar(t, file("a.cue", strings.Repeat("a", 5000))))
	for n := range len(data) {
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broke))
		require.ErrorIs(t, tarball.Gzip(t.Context(), r, &source.Builder{}, tarball.Options{}), broke)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, tarball.Gzip(ctx, bytes.NewReader(data), &source.Builder{}, tarball.Options{}), context.Canceled)
	require.ErrorIs(t, tarball.Tar(ctx, bytes.NewReader(data), &source.Builder{}, tarball.Options{}), context.Canceled)
}

// bomb is 10 GiB of zeros in 10 MiB, behind what head is.
func bomb(t testing.TB, head []byte) (r io.Reader, size int64) {
	t.Helper()
	const piece = 64 << 20
	first, zeros := zipped(t, head), zipped(t, make([]byte, piece))
	parts := []io.Reader{bytes.NewReader(first)}
	size = int64(len(first))
	for range (10 << 30) / piece {
		parts = append(parts, bytes.NewReader(zeros))
		size += int64(len(zeros))
	}
	return io.MultiReader(parts...), size
}

// header is that of a file of 10 GiB.
func header(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, tar.NewWriter(&out).WriteHeader(&tar.Header{Name: "big.cue", Size: 10 << 30, Mode: 0o644}))
	return out.Bytes()
}

func TestABombEndsEarly(t *testing.T) {
	for name, c := range map[string]struct {
		head []byte
		opts tarball.Options
		want string
	}{
		"in a file":                  {header(t), tarball.Options{}, `the tree holds more than 67108864 bytes, at "big.cue" (no flag raises this limit)`},
		"in a file that is not kept": {header(t), tarball.Options{Keep: nothing}, "the archive grows more than 250 times when it is decompressed (no flag raises this limit)"},
		"behind the end":             {writeTar(t, file("a.cue", "a")), tarball.Options{}, "the archive grows more than 250 times when it is decompressed (no flag raises this limit)"},
	} {
		t.Run(name, func(t *testing.T) {
			r, size := bomb(t, c.head)
			require.InDelta(t, 10<<20, size, 1<<20)
			read := &counter{r: r}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tarball.Gzip(t.Context(), read, &source.Builder{}, c.opts)
			runtime.ReadMemStats(&after)
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, source.ErrLimit)
			require.Less(t, read.n, int64(256<<10), "bytes of 10 MiB that were read")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes that were allocated in all")
		})
	}
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// endless is a tar of as many entries as are asked for.
type endless struct{ n, left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	e.left--
	var out bytes.Buffer
	_ = tar.NewWriter(&out).WriteHeader(&tar.Header{Name: fmt.Sprintf("f%d.cue", e.left), Mode: 0o644})
	e.n++
	return copy(p, out.Bytes()), nil
}

func TestAMillionEntriesEndEarly(t *testing.T) {
	r := &endless{left: 1e6}
	require.EqualError(t, tarball.Tar(t.Context(), r, &source.Builder{}, tarball.Options{Keep: nothing}), "the archive has more than 100000 entries (no flag raises this limit)")
	require.LessOrEqual(t, r.n, 100_001)
	r = &endless{left: 1e6}
	require.EqualError(t, tarball.Tar(t.Context(), r, &source.Builder{}, tarball.Options{}), `the tree holds more than 10000 files, at "f989999.cue" (no flag raises this limit)`)
}

func TestAClaimCostsNoMemory(t *testing.T) {
	// Sixty MiB are claimed, and ten bytes are there.
	var out bytes.Buffer
	require.NoError(t, tar.NewWriter(&out).WriteHeader(&tar.Header{Name: "a.cue", Size: 60 << 20, Mode: 0o644}))
	out.WriteString("ten bytes.")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := tarball.Tar(t.Context(), &out, &source.Builder{}, tarball.Options{})
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, tarball.ErrFormat)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
}

func TestALargeFileComesWhole(t *testing.T) {
	body := strings.Repeat("0123456789", 1<<19) // 5 MiB, more than is believed at once
	var b source.Builder
	require.NoError(t, tarball.Gzip(t.Context(), bytes.NewReader(zipped(t, writeTar(t, file("a.json", body)))), &b, tarball.Options{}))
	tree, err := b.Tree("", "")
	require.NoError(t, err)
	data, err := fs.ReadFile(tree.FS, "a.json")
	require.NoError(t, err)
	require.True(t, body == string(data))
}

// nothing is an option that leaves everything out.
func nothing(string) bool { return false }
