// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package memfs_test

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/memfs"
)

func TestATreeIsAFileSystem(t *testing.T) {
	f, err := memfs.New(map[string][]byte{"a/b/c.cue": []byte("x: 1"), "a/d": nil, "e": []byte("e")})
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(f, "a/b/c.cue", "a/d", "e"))
	empty, err := memfs.New(nil)
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(empty))
}

func TestLinksAreListedAndNotFollowed(t *testing.T) {
	f, err := memfs.Content{Files: map[string][]byte{"a/b": []byte("b")}, Links: map[string]string{"a/l": "b", "up": "../x"}}.FS()
	require.NoError(t, err)
	target, err := f.ReadLink("a/l")
	require.NoError(t, err)
	require.Equal(t, "b", target)
	info, err := f.Lstat("a/l")
	require.NoError(t, err)
	require.Equal(t, fs.ModeSymlink, info.Mode().Type())
	_, err = f.ReadFile("a/l")
	require.ErrorIs(t, err, fs.ErrInvalid)
	_, err = f.Open("a/l")
	require.ErrorIs(t, err, fs.ErrInvalid)
	entries, err := f.ReadDir("a")
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestConflictingNamesAreRefused(t *testing.T) {
	for _, files := range []map[string][]byte{{"a": nil, "a/b": nil}, {"../a": nil}, {"/a": nil}, {".": nil}, {"": nil}, {"a//b": nil}} {
		_, err := memfs.New(files)
		require.ErrorIs(t, err, memfs.ErrConflict, files)
	}
	_, err := memfs.Content{Files: map[string][]byte{"a": nil}, Links: map[string]string{"a": "b"}}.FS()
	require.ErrorIs(t, err, memfs.ErrConflict)
	_, err = memfs.Content{Files: map[string][]byte{"a/b": nil}, Links: map[string]string{"a": "c"}}.FS()
	require.ErrorIs(t, err, memfs.ErrConflict)
}

func TestWhatIsNotThereIsAnErrorThatNamesIt(t *testing.T) {
	f, err := memfs.New(map[string][]byte{"a/b": []byte("b")})
	require.NoError(t, err)
	_, err = f.ReadFile("a/c")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "a/c")
	_, err = f.ReadDir("a/b")
	require.ErrorIs(t, err, fs.ErrInvalid)
	data, err := f.ReadFile("a/b")
	require.NoError(t, err)
	data[0] = 'x' // a copy
	again, err := f.ReadFile("a/b")
	require.NoError(t, err)
	require.Equal(t, "b", string(again))
}

func TestContentMayBeElsewhereAndDirectoriesEmpty(t *testing.T) {
	disk := strings.NewReader("first, second")
	f, err := memfs.Content{
		Files:    map[string][]byte{"a/b": []byte("b")},
		Sections: map[string]*io.SectionReader{"a/c": io.NewSectionReader(disk, 7, 6)},
		Dirs:     []string{".git", "d/e", "a"},
	}.FS()
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(f, "a/b", "a/c", ".git", "d/e"))
	data, err := f.ReadFile("a/c")
	require.NoError(t, err)
	require.Equal(t, "second", string(data))
	for _, c := range []memfs.Content{
		{Files: map[string][]byte{"a": nil}, Dirs: []string{"a"}}, {Dirs: []string{"../a"}},
		{Files: map[string][]byte{"a": nil}, Sections: map[string]*io.SectionReader{"a": io.NewSectionReader(disk, 0, 0)}},
	} {
		_, err := c.FS()
		require.ErrorIs(t, err, memfs.ErrConflict)
	}
}
