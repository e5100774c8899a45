// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/source/cache"
)

func TestManyWritersAndReadersInOneProcess(t *testing.T) {
	s := open(t, cache.StoreOptions{MaxBytes: 60_000})
	var group errgroup.Group
	for w := range 6 {
		group.Go(func() error {
			for i := range 40 {
				key := fmt.Sprint(i % 12)
				want := bytes.Repeat([]byte(key), 3000)
				if err := s.Put(t.Context(), cache.KindRender, key, want); err != nil {
					return err
				}
				key = fmt.Sprint((i + w) % 12)
				got, ok, err := s.Get(t.Context(), cache.KindRender, key)
				if err != nil || ok && !bytes.Equal(got, bytes.Repeat([]byte(key), 3000)) {
					return fmt.Errorf("wrong entry %s: %w", key, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.LessOrEqual(t, clean(t, s).Bytes, int64(60_000))
	require.Zero(t, s.Stats()[0].Corrupt)
}

func TestAnEntryInUseStaysReadableWhenItIsEvicted(t *testing.T) {
	s := open(t, cache.StoreOptions{})
	put(t, s, "a", 1000)
	f, err := os.Open(filepath.Join(s.Dir(), cache.FileOf(cache.KindRender, "a")))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	_, err = s.Prune(t.Context(), cache.PruneOptions{All: true})
	require.NoError(t, err)
	var raw bytes.Buffer
	_, err = raw.ReadFrom(f)
	require.NoError(t, err)
	data, ok := cache.Content(raw.Bytes(), cache.KindRender, "a")
	require.True(t, ok)
	require.Len(t, data, 1000)
}

func FuzzContent(f *testing.F) {
	s, err := cache.Open(f.TempDir(), cache.StoreOptions{})
	require.NoError(f, err)
	require.NoError(f, s.Put(f.Context(), cache.KindRender, "key", []byte("content")))
	raw, err := os.ReadFile(filepath.Join(s.Dir(), cache.FileOf(cache.KindRender, "key")))
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte("ropewalk cache 1 sha256: 0 render \"key\"\n"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, changed []byte) {
		if data, ok := cache.Content(changed, cache.KindRender, "key"); ok {
			// There is one file for every content: the fuzzer may find others only
			// with their digest.
			again, err := cache.Open(t.TempDir(), cache.StoreOptions{})
			require.NoError(t, err)
			require.NoError(t, again.Put(t.Context(), cache.KindRender, "key", data))
			want, err := os.ReadFile(filepath.Join(again.Dir(), cache.FileOf(cache.KindRender, "key")))
			require.NoError(t, err)
			require.Equal(t, want, changed)
		}
		// What lies there in its place never makes a listing or a check fail.
		other, err := cache.Open(t.TempDir(), cache.StoreOptions{})
		require.NoError(t, err)
		require.NoError(t, other.Put(t.Context(), cache.KindRender, "key", nil))
		require.NoError(t, os.WriteFile(filepath.Join(other.Dir(), cache.FileOf(cache.KindRender, "key")), changed, 0o600))
		require.LessOrEqual(t, len(ls(t, other)), 1)
		report, err := other.Verify(t.Context(), cache.VerifyOptions{})
		require.NoError(t, err)
		_, ok := cache.Content(changed, cache.KindRender, "key")
		require.Equal(t, ok, report.Entries == 1)
	})
}

func ExampleStore() {
	dir, err := os.MkdirTemp("", "ropewalk")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: 1 << 20})
	if err != nil {
		return
	}
	fmt.Println(s.Put(context.Background(), cache.KindRender, "shop", []byte("kind: Namespace\n")))
	data, ok, err := s.Get(context.Background(), cache.KindRender, "shop")
	fmt.Printf("%q %v %v\n", data, ok, err)
	for e, err := range s.Ls(context.Background()) {
		fmt.Println(e.Kind, e.Key, e.Digest[:14], err)
	}
	// Output:
	// <nil>
	// "kind: Namespace\n" true <nil>
	// render shop sha256:e25209b <nil>
}
