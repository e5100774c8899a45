// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

func TestADamagedTreeIsFetchedAgain(t *testing.T) {
	for _, kind := range []string{cache.KindTree, cache.KindPointer, cache.KindResolution} {
		f, _ := fetcher(t, newClock())
		tree := fetch(t, f, named("main"))
		for e := range f.Store.Ls(t.Context()) {
			if e.Kind == kind {
				file := filepath.Join(f.Store.Dir(), e.File)
				raw, err := os.ReadFile(file)
				require.NoError(t, err)
				raw[len(raw)-5] ^= 1
				require.NoError(t, os.WriteFile(file, raw, 0o600))
			}
		}
		require.Equal(t, tree.Digest, fetch(t, f, named("main")).Digest)
		clean(t, f.Store)
		offline := again(f, func(f *cache.Fetcher) { f.Offline = true })
		require.Equal(t, tree, fetch(t, offline, named("main")))
	}
}

func TestWhatIsWholeAndNoTreeIsFetchedAgain(t *testing.T) {
	f, r := fetcher(t, newClock())
	tree := fetch(t, f, commit("c1"))
	r.asked(t, 0, 1)
	for e := range f.Store.Ls(t.Context()) {
		content := "this is neither a tar nor JSON"
		require.NoError(t, f.Store.Put(t.Context(), e.Kind, e.Key, []byte(content)))
	}
	require.Equal(t, tree, fetch(t, f, commit("c1")))
	require.Equal(t, tree, fetch(t, f, commit("c1")))
	r.asked(t, 0, 2)
	for e := range f.Store.Ls(t.Context()) {
		if e.Kind == cache.KindTree {
			require.NoError(t, f.Store.Put(t.Context(), e.Kind, e.Key, []byte("no tar")))
		}
	}
	require.Equal(t, tree, fetch(t, f, commit("c1")))
	require.Equal(t, tree, fetch(t, f, commit("c1")))
	r.asked(t, 0, 1)
}

func TestATreeThatLiesAboutItsDigestIsNotKept(t *testing.T) {
	liar := source.FetcherFunc(func(context.Context, source.Ref) (source.Tree, error) {
		tree, err := source.NewTree(map[string][]byte{"a": nil}, "liar", "r")
		tree.Digest = "sha256:" + strings.Repeat("0", 64)
		return tree, err
	})
	var reported []error
	f := &cache.Fetcher{
		Next: struct {
			source.Fetcher
			*remoteResolve
		}{liar, &remoteResolve{newRemote()}},
		Store: open(t, cache.StoreOptions{}), Report: func(err error) { reported = append(reported, err) },
	}
	fetch(t, f, commit("c1"))
	require.Len(t, reported, 1)
	require.ErrorIs(t, reported[0], source.ErrDigest)
	require.Empty(t, ls(t, f.Store))
}

func TestALimitThatShrankHoldsForTheStore(t *testing.T) {
	f, _ := fetcher(t, newClock())
	fetch(t, f, commit("c1"))
	small := again(f, func(f *cache.Fetcher) { f.Limits = source.Limits{Files: 1} })
	_, err := small.Fetch(t.Context(), commit("c1"))
	require.ErrorIs(t, err, source.ErrLimit)
	require.EqualError(t, err, `"https://example.org/r.git?commit=c1": the tree holds more than 1 files, at "sub/b.cue" (no flag raises this limit)`)
}

// remoteResolve is the half of a remote that resolves.
type remoteResolve struct{ r *remote }

// Resolve is that of the remote.
func (h *remoteResolve) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	return h.r.Resolve(ctx, ref)
}
