// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/modules"
)

// held is how many modules a store has, and how many bytes all of its entries.
func held(t testing.TB, s *cache.Store) (entries int, bytes int64) {
	t.Helper()
	for e, err := range s.Ls(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, cache.KindModule, e.Kind)
		entries++
		bytes += e.Size
	}
	return entries, bytes
}

func TestAStoreKeepsModulesAndTellsRegistriesApart(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	store, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	direct, fetched, err := online(&modules.Registry{Config: oci.Host, Store: store}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	entries, _ := held(t, store)
	require.Len(t, fetched, entries)

	oci.Reset()
	again, same, err := online(&modules.Registry{Config: oci.Host, Store: store, Offline: true}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.Equal(t, []any{direct.Digest, fetched}, []any{again.Digest, same})
	require.Empty(t, oci.Requests())

	other, _ := shop(t)
	_, _, err = online(&modules.Registry{Config: other.Host, Store: store, Offline: true}).Complete(t.Context(), tree, nil)
	require.ErrorIs(t, err, source.ErrNotFound)
	require.ErrorContains(t, err, `module "example.com/base@v0.1.0": offline, and the cache does not hold it: run "ropewalk lock" once`)
	_, _, err = online(&modules.Registry{Config: other.Host, Store: store}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.NotEmpty(t, other.Requests(), "what one registry has is no answer of another")

	wrong := map[string]string{}
	for _, d := range fetched {
		wrong[d.String()] = "sha256:" + fmt.Sprintf("%064d", 0)
	}
	_, _, err = online(&modules.Registry{Config: oci.Host, Store: store, Offline: true}).Complete(t.Context(), tree, wrong)
	require.ErrorIs(t, err, source.ErrLocked)
	require.ErrorContains(t, err, "the cache")
}

func TestAStoreBoundsWhatIsKeptOfModules(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	all, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	want, fetched, err := online(&modules.Registry{Config: oci.Host, Store: all}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	_, whole := held(t, all)
	require.Greater(t, len(fetched), 1)

	for _, most := range []int64{whole - 1, whole / 2, 1} {
		store, err := cache.Open(t.TempDir(), cache.StoreOptions{MaxBytes: most})
		require.NoError(t, err)
		for range 3 {
			got, _, err := online(&modules.Registry{Config: oci.Host, Store: store}).Complete(t.Context(), tree, nil)
			require.NoError(t, err, "what has no room is fetched again")
			require.Equal(t, want.Digest, got.Digest)
			_, bytes := held(t, store)
			require.LessOrEqual(t, bytes, most)
		}
	}
}

// full is a store that can neither be read nor written.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Get(context.Context, string, string) ([]byte, bool, error) { return nil, false, errFull }
func (full) Put(context.Context, string, string, []byte) error         { return errFull }

func TestAStoreThatFailsFailsNoModule(t *testing.T) {
	oci, files := shop(t)
	_, fetched, err := online(&modules.Registry{Config: oci.Host, Store: full{}}).Complete(t.Context(), treeOf(t, files), nil)
	require.NoError(t, err)
	require.NotEmpty(t, fetched)
}
