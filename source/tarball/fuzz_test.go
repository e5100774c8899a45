// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tarball_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"testing"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// small bounds a tree in fuzzing, so that a fault shows soon.
func small() *source.Builder {
	return &source.Builder{Limits: source.Limits{Files: 20, Bytes: 64 << 10, Depth: 8}}
}

// check is that whatever came through is a tree within its limits.
func check(t *testing.T, b *source.Builder, err error) {
	t.Helper()
	if err != nil {
		return
	}
	tree, err := b.Tree("", "")
	if err != nil {
		return // a file and a folder with one name
	}
	var files, size int64
	err = fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files, size = files+1, size+info.Size()
		return source.CheckPath(name)
	})
	if err != nil || files > 20 || size > 64<<10 {
		t.Fatalf("%d files of %d bytes: %v", files, size, err)
	}
}

func seeds(f *testing.F) [][]byte {
	f.Helper()
	return [][]byte{
		nil,
		writeTar(f, file("a.cue", "a: 1"), other(tar.TypeDir, "d/", ""), file("./d/b.cue", "b: 1")),
		writeTar(f, other(tar.TypeSymlink, "l", "/etc/passwd"), file("l/x", "x")),
		writeTar(f, file("../a.cue", "a")),
		writeTar(f, entry{Header: tar.Header{Name: "p", PAXRecords: map[string]string{"comment": "x", "X.y": "z"}}, body: "p"}),
	}
}

func FuzzTar(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, true)
	}
	f.Add(header(f), false)
	f.Fuzz(func(t *testing.T, data []byte, links bool) {
		b := small()
		err := tarball.Tar(t.Context(), bytes.NewReader(data), b, tarball.Options{Symlinks: links, Entries: 50})
		check(t, b, err)
	})
}

func FuzzGzip(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(zipped(f, seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := small()
		check(t, b, tarball.Gzip(t.Context(), bytes.NewReader(data), b, tarball.Options{Entries: 50}))
	})
}

func FuzzZip(f *testing.F) {
	f.Add(writeZip(f, packed{name: "a.cue", body: "a: 1", method: zip.Deflate}, packed{name: "d/b.cue", body: "b"}))
	f.Add(writeZip(f, packed{name: "l", body: "x", mode: fs.ModeSymlink}))
	f.Add(writeZip(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := small()
		check(t, b, unzip(t.Context(), data, b, tarball.Options{Entries: 50}))
	})
}

func ExampleTar() {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	_ = w.WriteHeader(&tar.Header{Name: "../../etc/passwd", Mode: 0o644})
	_ = w.Close()
	err := tarball.Tar(context.Background(), &archive, &source.Builder{}, tarball.Options{})
	fmt.Println(err)
	// Output: path "../../etc/passwd" leaves its root
}
