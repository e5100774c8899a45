// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func TestOnlyTheCanonicalTarIsATree(t *testing.T) {
	tree, err := source.NewTree(map[string][]byte{
		"a.cue": []byte("a"), "b/c.cue": {}, strings.Repeat("long/", 30) + "é.cue": bytes.Repeat([]byte("l"), 2000),
	}, "", "")
	require.NoError(t, err)
	data, err := cache.Pack(tree)
	require.NoError(t, err)
	got, err := cache.Unpack(data, tree.Digest, source.Limits{})
	require.NoError(t, err)
	require.Equal(t, tree, got)
	_, err = cache.Unpack(data, digestOf(nil), source.Limits{})
	require.ErrorIs(t, err, source.ErrDigest)

	entry := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write(make([]byte, h.Size))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		data []byte
		is   error
	}{
		"a symlink":            {entry(tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc/passwd"}), source.ErrDigest},
		"a folder":             {entry(tar.Header{Typeflag: tar.TypeDir, Name: "a/"}), source.ErrDigest},
		"a device":             {entry(tar.Header{Typeflag: tar.TypeChar, Name: "a"}), source.ErrDigest},
		"a path to outside":    {entry(tar.Header{Typeflag: tar.TypeReg, Name: "../a", Mode: 0o644}), source.ErrPath},
		"a mode of its own":    {entry(tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o755}), source.ErrDigest},
		"a file that is large": {entry(tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Size: 2000}), source.ErrLimit},
		"a file cut short":     {entry(tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Size: 999})[:1000], source.ErrDigest},
		"no tar":               {bytes.Repeat([]byte("x"), 1024), source.ErrDigest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cache.Unpack(c.data, digestOf(c.data), source.Limits{Bytes: 1000})
			require.ErrorIs(t, err, c.is)
		})
	}
}

func FuzzUnpack(f *testing.F) {
	tree, err := source.NewTree(map[string][]byte{"a.cue": []byte("a"), strings.Repeat("long/", 30) + "é": nil}, "", "")
	require.NoError(f, err)
	data, err := cache.Pack(tree)
	require.NoError(f, err)
	f.Add(data)
	f.Add(make([]byte, 1024))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := cache.Unpack(data, digestOf(data), source.Limits{Files: 10, Bytes: 1 << 16})
		if err != nil {
			return
		}
		again, err := cache.Pack(tree)
		require.NoError(t, err)
		require.Equal(t, data, again, "there is one tar for every tree")
	})
}
