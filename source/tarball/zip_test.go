// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// packed is an entry of a zip.
type packed struct {
	name, body string
	mode       fs.FileMode
	method     uint16
}

func writeZip(t testing.TB, entries ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: e.method}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		f, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = io.WriteString(f, e.body)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func unzip(ctx context.Context, data []byte, b *source.Builder, opts tarball.Options) error {
	return tarball.Zip(ctx, bytes.NewReader(data), int64(len(data)), b, opts)
}

func TestAZipBecomesATree(t *testing.T) {
	data := writeZip(t, packed{name: "cue.mod/module.cue", body: "m", method: zip.Deflate}, packed{name: "a/", mode: fs.ModeDir | 0o755},
		packed{name: "a/b.cue", body: "b"}, packed{name: ".hidden", body: "h"})
	for name, c := range map[string]struct {
		opts tarball.Options
		want []string
	}{
		"all of it":      {tarball.Options{}, []string{".hidden", "a/b.cue", "cue.mod/module.cue"}},
		"what is wanted": {tarball.Options{Keep: tarball.Visible}, []string{"a/b.cue", "cue.mod/module.cue"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b source.Builder
			require.NoError(t, unzip(t.Context(), data, &b, c.opts))
			require.Equal(t, c.want, names(t, &b))
		})
	}
	t.Run("nothing", func(t *testing.T) {
		var b source.Builder
		require.NoError(t, unzip(t.Context(), writeZip(t), &b, tarball.Options{}))
		require.Empty(t, names(t, &b))
	})
}

// central is where the header of the n-th entry is in the table of contents.
func central(data []byte, n int) []byte {
	at := int(binary.LittleEndian.Uint32(data[len(data)-6:]))
	for range n {
		h := data[at:]
		at += 46 + int(binary.LittleEndian.Uint16(h[28:])) + int(binary.LittleEndian.Uint16(h[30:])) + int(binary.LittleEndian.Uint16(h[32:]))
	}
	return data[at:]
}

// lie is a zip of two files with something changed in it.
func lie(t testing.TB, change func(data []byte) []byte) []byte {
	t.Helper()
	return change(writeZip(t, packed{name: "a.cue", body: "a: 1, and more of it"}, packed{name: "b.cue", body: "b: 1, and more of it"}))
}

// refusal is a zip and why it is refused; want is "" where the text does not
// matter.
type refusal struct {
	data []byte
	want string
	is   error
}

func testRefusals(t *testing.T, cases map[string]refusal) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := unzip(t.Context(), c.data, &source.Builder{}, tarball.Options{})
			require.ErrorIs(t, err, c.is)
			if c.want != "" {
				require.EqualError(t, err, c.want)
			}
		})
	}
}

func TestAZipIsRefusedForItsFiles(t *testing.T) {
	le := binary.LittleEndian
	two := func(name string) []byte { return writeZip(t, packed{name: name}) }
	testRefusals(t, map[string]refusal{
		"a name that leaves the root": {two("../a.cue"), `path "../a.cue" leaves its root`, source.ErrPath},
		"an absolute name":            {two("/a.cue"), `path "/a.cue" is absolute`, source.ErrPath},
		"a backslash":                 {two(`..\a.cue`), `path "..\\a.cue" holds a backslash`, source.ErrPath},
		"a file of Git":               {two(".git/config"), `path ".git/config" goes through a folder of Git`, source.ErrPath},
		"two files with one name":     {writeZip(t, packed{name: "a.cue"}, packed{name: "./a.cue"}), `"a.cue" is in the tree twice`, source.ErrPath},
		"a symlink":                   {writeZip(t, packed{name: "l", body: "/etc", mode: fs.ModeSymlink}), `"l" is a symlink; a module may hold only regular files and folders`, source.ErrNotRegular},
		"a device":                    {writeZip(t, packed{name: "null", mode: fs.ModeDevice}), `"null" is a device, a pipe or a socket; a module may hold only regular files and folders`, source.ErrNotRegular},
		"a size that is too small": {lie(t, func(d []byte) []byte { le.PutUint32(central(d, 0)[24:], 10); return d }),
			`"a.cue" is not what the zip says of it (size or checksum)`, tarball.ErrFormat},
		"a size that is too large": {lie(t, func(d []byte) []byte { le.PutUint32(central(d, 0)[24:], 50); return d }),
			`the zip cannot be read: "a.cue": unexpected EOF`, tarball.ErrFormat},
		"a size over the limit": {lie(t, func(d []byte) []byte { le.PutUint32(central(d, 0)[24:], 1<<31); return d }),
			`the tree holds more than 67108864 bytes, at "a.cue" (no flag raises this limit)`, source.ErrLimit},
		"a wrong checksum": {lie(t, func(d []byte) []byte { central(d, 0)[16] ^= 1; return d }),
			`"a.cue" is not what the zip says of it (size or checksum)`, tarball.ErrFormat},
		"an unknown method": {lie(t, func(d []byte) []byte { le.PutUint16(central(d, 0)[10:], 99); return d }),
			`the zip cannot be read: "a.cue": zip: unsupported compression algorithm`, tarball.ErrFormat},
		"encryption": {lie(t, func(d []byte) []byte { central(d, 0)[8] |= 1; return d }), `"a.cue" is encrypted`, tarball.ErrFormat},
		"one file for two names": {lie(t, func(d []byte) []byte { le.PutUint32(central(d, 1)[42:], 0); return d }),
			`"a.cue" overlaps what comes after it`, tarball.ErrFormat},
		"two names for one file": {lie(t, func(d []byte) []byte { d[30] = 'z'; return d }),
			`"a.cue" has another name where its data are`, tarball.ErrFormat},
		"files that overlap": {lie(t, func(d []byte) []byte { le.PutUint32(central(d, 0)[20:], 100); return d }),
			`"a.cue" overlaps what comes after it`, tarball.ErrFormat},
		"a file that reaches into the contents": {lie(t, func(d []byte) []byte { le.PutUint32(central(d, 1)[20:], 100); return d }),
			`"b.cue" overlaps what comes after it`, tarball.ErrFormat},
		"a file that lies nowhere": {lie(t, func(d []byte) []byte { le.PutUint32(central(d, 1)[42:], 1<<30); return d }),
			"", tarball.ErrFormat},
	})
}

func TestAZipIsRefusedForItsForm(t *testing.T) {
	le := binary.LittleEndian
	end := func(data []byte) []byte { return data[len(data)-22:] }
	testRefusals(t, map[string]refusal{
		"something in front": {append([]byte("#!/bin/sh\n"), lie(t, func(d []byte) []byte { return d })...),
			"the table of contents of the zip is not where the zip says", tarball.ErrFormat},
		"something behind": {append(lie(t, func(d []byte) []byte { return d }), "and more"...), "the zip has no end, or a comment in it", tarball.ErrFormat},
		"something in front that is accounted for": {lie(t, func(d []byte) []byte {
			d = append([]byte("junk"), d...)
			le.PutUint32(end(d)[16:], le.Uint32(end(d)[16:])+4)
			for i := range 2 {
				le.PutUint32(central(d, i)[42:], le.Uint32(central(d, i)[42:])+4)
			}
			return d
		}), "the zip has data before its first entry", tarball.ErrFormat},
		"fewer entries than it says": {lie(t, func(d []byte) []byte { le.PutUint16(end(d)[8:], 1); le.PutUint16(end(d)[10:], 1); return d }),
			"the zip has more entries than it says", tarball.ErrFormat},
		"no entries, but contents": {lie(t, func(d []byte) []byte { le.PutUint16(end(d)[8:], 0); le.PutUint16(end(d)[10:], 0); return d }),
			"the zip has more entries than it says", tarball.ErrFormat},
		"more entries than there is room for": {lie(t, func(d []byte) []byte { le.PutUint16(end(d)[8:], 3); le.PutUint16(end(d)[10:], 3); return d }),
			"the table of contents of the zip is too short", tarball.ErrFormat},
		"several disks": {lie(t, func(d []byte) []byte { end(d)[4] = 1; return d }), "the zip is one of several parts", tarball.ErrFormat},
		"zip64": {lie(t, func(d []byte) []byte { le.PutUint16(end(d)[10:], 0xffff); return d }),
			"the zip is one for huge archives (zip64)", source.ErrLimit},
		"nothing":        {nil, "the zip is too short to be one", tarball.ErrFormat},
		"something else": {bytes.Repeat([]byte("x"), 100), "the zip has no end, or a comment in it", tarball.ErrFormat},
	})
}

func TestAZipOfAMillionEntriesEndsEarly(t *testing.T) {
	var small, large []packed
	for i := range 30 {
		small = append(small, packed{name: fmt.Sprintf("f%d.cue", i)})
	}
	for i := range 70_000 {
		large = append(large, packed{name: fmt.Sprintf("f%d.cue", i)})
	}
	require.EqualError(t, unzip(t.Context(), writeZip(t, small...), &source.Builder{}, tarball.Options{Entries: 29}), "the archive has more than 29 entries (no flag raises this limit)")
	data := writeZip(t, large...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := unzip(t.Context(), data, &source.Builder{}, tarball.Options{})
	runtime.ReadMemStats(&after)
	require.EqualError(t, err, "the zip is one for huge archives (zip64)")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	require.Less(t, time.Since(start), 5*time.Second)
}

type brokenAt struct{ err error }

func (b brokenAt) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func TestAFaultBelowAZipComesOutAsItIs(t *testing.T) {
	broke := errors.New("disk on fire")
	require.ErrorIs(t, tarball.Zip(t.Context(), brokenAt{broke}, 1000, &source.Builder{}, tarball.Options{}), broke)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, unzip(ctx, writeZip(t, packed{name: "a"}), &source.Builder{}, tarball.Options{}), context.Canceled)
}
