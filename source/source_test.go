// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
)

func TestNewTreeIsAFileSystem(t *testing.T) {
	tree, err := source.NewTree(map[string][]byte{
		"a.cue": []byte("a: 1"), "cue.mod/module.cue": []byte("module: \"x\""), "b/c/d.txt": nil, "b/x.cue": []byte("x"),
	}, "test", "r1")
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(tree.FS, "a.cue", "cue.mod/module.cue", "b/c/d.txt", "b/x.cue"))
	require.Equal(t, "test", tree.Origin)
	require.Equal(t, "r1", tree.Revision)
	require.Equal(t, ".", tree.Dir)

	data, err := fs.ReadFile(tree.FS, "a.cue")
	require.NoError(t, err)
	data[0] = 'z'
	again, err := fs.ReadFile(tree.FS, "a.cue")
	require.NoError(t, err)
	require.Equal(t, "a: 1", string(again), "a reader cannot change the tree")
}

func TestDigestIsThatOfTheCanonicalTar(t *testing.T) {
	files := map[string][]byte{"b/c.cue": []byte("c"), "a.cue": []byte("a"), strings.Repeat("long/", 30) + "é.cue": []byte("l")}
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, name := range []string{"a.cue", "b/c.cue", strings.Repeat("long/", 30) + "é.cue"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 1, Typeflag: tar.TypeReg}))
		_, err := w.Write(files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	sum := sha256.Sum256(buffer.Bytes())

	tree, err := source.NewTree(files, "here", "")
	require.NoError(t, err)
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), tree.Digest)
	other, err := source.NewTree(files, "there", "2")
	require.NoError(t, err)
	require.Equal(t, tree.Digest, other.Digest, "where a tree comes from does not change what it is")
}

func TestTheDigestOfAKnownTreeNeverChanges(t *testing.T) {
	tree, err := source.NewTree(map[string][]byte{"a.cue": []byte("a: 1\n"), "cue.mod/module.cue": []byte("module: \"a.b\"\n")}, "", "")
	require.NoError(t, err)
	require.Equal(t, "sha256:a3a190795e5d95e3e767a64af264843aecb74037bece8e81fa953af34fb306b7", tree.Digest)
}

func TestNewTreeRefusesPaths(t *testing.T) {
	for name, want := range map[string]string{
		"":             `path "" is empty`,
		"/etc/passwd":  `path "/etc/passwd" is absolute`,
		"../a":         `path "../a" leaves its root`,
		"a/../../b":    `path "a/../../b" leaves its root`,
		"a//b":         `path "a//b" is not clean`,
		"./a":          `path "./a" is not clean`,
		".":            `path "." is not clean`,
		"a/":           `path "a/" is not clean`,
		`a\b`:          `path "a\\b" holds a backslash`,
		".git/config":  `path ".git/config" goes through a folder of Git`,
		"a/.GiT/x":     `path "a/.GiT/x" goes through a folder of Git`,
		".git. /x":     `path ".git. /x" goes through a folder of Git`,
		"git~1/x":      `path "git~1/x" goes through a folder of Git`,
		".g\u200cit/x": `path ".g\u200cit/x" goes through a folder of Git`,
		"a\x00b":       `path "a\x00b" holds control characters or is not UTF-8`,
		"a\xffb":       `path "a\xffb" holds control characters or is not UTF-8`,
		"a\nb":         `path "a\nb" holds control characters or is not UTF-8`,
	} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			_, err := source.NewTree(map[string][]byte{name: nil}, "", "")
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, source.ErrPath)
		})
	}
	require.NoError(t, source.CheckPath(".gitignore"))

	_, err := source.NewTree(map[string][]byte{"a": nil, "a/b": nil}, "", "")
	require.EqualError(t, err, `conflicting path: "a" is a file and a directory`)
}

func TestBuilderStopsAtItsLimits(t *testing.T) {
	add := func(l source.Limits, names ...string) error {
		b := source.Builder{Limits: l}
		for _, name := range names {
			if err := b.Add(name, []byte("1234")); err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, add(source.Limits{Files: 2, Bytes: 8, Depth: 1}, "a", "b/c"))
	for want, err := range map[string]error{
		`the tree holds more than 1 files, at "b" (no flag raises this limit)`: add(source.Limits{Files: 1}, "a", "b"),
		`the tree holds more than 7 bytes, at "b" (no flag raises this limit)`: add(source.Limits{Bytes: 7}, "a", "b"),
		`"a/b/c" lies more than 1 folders deep (no flag raises this limit)`:    add(source.Limits{Depth: 1}, "a/b/c"),
	} {
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, source.ErrLimit)
	}
	require.EqualError(t, add(source.Limits{}, "a", "a"), `"a" is in the tree twice`)
}

func TestInlineIsATreeOfOneFile(t *testing.T) {
	tree, err := source.Inline(source.Limits{}).Fetch(context.Background(), source.Ref{Type: "inline", Ref: "a: 1\n"})
	require.NoError(t, err)
	data, err := fs.ReadFile(tree.FS, source.InlineFile)
	require.NoError(t, err)
	require.Equal(t, "a: 1\n", string(data))
	_, err = source.Inline(source.Limits{}).Fetch(context.Background(), source.Ref{Ref: "a: 1\n", Path: "x"})
	require.ErrorIs(t, err, source.ErrPath)
}

func TestEmbeddedFindsModulesByName(t *testing.T) {
	f := source.Embedded(func(name string) (fs.FS, bool) {
		return fstest.MapFS{"a.cue": {Data: []byte("a")}, "sub/b.cue": {Data: []byte("b")}}, name == "known"
	}, source.Limits{})
	tree, err := f.Fetch(context.Background(), source.Ref{Ref: "known", Path: "./sub/"})
	require.NoError(t, err)
	require.Equal(t, "sub", tree.Dir)
	require.Equal(t, "embedded:known", tree.Origin)
	_, err = f.Fetch(context.Background(), source.Ref{Ref: "unknown"})
	require.ErrorIs(t, err, source.ErrNotFound)
	_, err = f.Fetch(context.Background(), source.Ref{Ref: "known", Path: "nowhere"})
	require.EqualError(t, err, `embedded:known has no folder "nowhere"`)
	_, err = f.Fetch(context.Background(), source.Ref{Ref: "known", Path: "../x"})
	require.ErrorIs(t, err, source.ErrPath)
}

func FuzzCheckPath(f *testing.F) {
	for _, s := range []string{"a/b", "..", "/x", ".git/x", "a\\b", "é/\u200c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if source.CheckPath(name) != nil {
			return
		}
		require.True(t, fs.ValidPath(name))
		tree, err := source.NewTree(map[string][]byte{name: []byte("x")}, "", "")
		if err != nil {
			require.ErrorIs(t, err, source.ErrLimit)
			return
		}
		data, err := fs.ReadFile(tree.FS, name)
		require.NoError(t, err)
		require.Equal(t, "x", string(data))
	})
}

func BenchmarkNewTree(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		files := map[string][]byte{}
		for i := range n {
			files[fmt.Sprintf("pkg/p%d/a.cue", i)] = bytes.Repeat([]byte("a: 1\n"), 200)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := source.NewTree(files, "", ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleNewTree() {
	tree, err := source.NewTree(map[string][]byte{"module.cue": []byte("a: 1\n")}, "inline", "")
	fmt.Println(tree.Dir, tree.Digest[:14], err)
	_, err = source.NewTree(map[string][]byte{"../module.cue": nil}, "inline", "")
	fmt.Println(err)
	// Output:
	// . sha256:5c25c54 <nil>
	// path "../module.cue" leaves its root
}
