// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

// files are as many files of 1 KiB.
func files(n int) map[string][]byte {
	out := map[string][]byte{}
	for i := range n {
		out[fmt.Sprintf("pkg/p%d/a.cue", i)] = bytes.Repeat([]byte(fmt.Sprintf("a%03d: 1\n", i)), 102)
	}
	return out
}

func large(b *testing.B, n int) (*cache.Fetcher, source.Tree) {
	r := newRemote()
	r.trees["large"] = files(n)
	f := &cache.Fetcher{Next: r, Store: open(b, cache.StoreOptions{})}
	return f, fetch(b, f, commit("large"))
}

// BenchmarkFetch is a fetch that the store answers, with the tree ready for
// use: two reads, two digests, one tar.
func BenchmarkFetch(b *testing.B) {
	for _, n := range []int{1, 40, 400} {
		f, _ := large(b, n)
		b.Run(fmt.Sprint("disk/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fetch(b, f, commit("large"))
			}
		})
	}
}

// BenchmarkStore is one entry of the size of 40 files.
func BenchmarkStore(b *testing.B) {
	_, tree := large(b, 40)
	data, err := cache.Pack(tree)
	require.NoError(b, err)
	ctx := context.Background()
	for _, entries := range []int{1, 1000} {
		s := open(b, cache.StoreOptions{})
		for i := range entries {
			put(b, s, fmt.Sprint(i), 1)
		}
		require.NoError(b, s.Put(ctx, cache.KindTree, "tree", data))
		b.Run(fmt.Sprint("get/", entries), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, ok, err := s.Get(ctx, cache.KindTree, "tree"); !ok || err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("put/", entries), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := s.Put(ctx, cache.KindTree, "tree", data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
