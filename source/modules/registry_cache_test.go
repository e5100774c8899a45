// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/modules"
)

func newStore(t testing.TB) *cache.Store {
	t.Helper()
	s, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	return s
}

// entry is the entry of a module, path@version.
func entry(t testing.TB, s *cache.Store, module string) cache.Entry {
	t.Helper()
	for e, err := range s.Ls(t.Context()) {
		require.NoError(t, err)
		if strings.HasPrefix(e.Key, strconv.Quote(module)) {
			return e
		}
	}
	t.Fatalf("the store has no module %s", module)
	return cache.Entry{}
}

func TestOfflineTakesFromTheCacheOnly(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	store := newStore(t)
	_, _, err := online(&modules.Registry{Config: oci.Host, Store: store, Offline: true}).Complete(t.Context(), tree, nil)
	require.ErrorIs(t, err, source.ErrNotFound)
	require.ErrorContains(t, err, `module "example.com/base@v0.1.0": offline, and the cache does not hold it: run "ropewalk lock" once with the network`)
	_, _, err = online(&modules.Registry{Config: oci.Host, Offline: true}).Complete(t.Context(), tree, nil)
	require.ErrorContains(t, err, "there is no cache")
	require.Empty(t, oci.Requests())

	direct, fetched, err := online(&modules.Registry{Config: oci.Host, Store: store}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	oci.Reset()
	offline, again, err := online(&modules.Registry{Config: oci.Host, Store: store, Offline: true}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.Equal(t, direct.Digest, offline.Digest)
	require.Equal(t, fetched, again)
	require.Empty(t, oci.Requests())
	entry(t, store, "example.com/base@v0.1.0")
}

func TestDamagedEntriesAreFetchedAgain(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	for name, damage := range map[string]func(t *testing.T, s *cache.Store, e cache.Entry){
		"a file cut short": func(t *testing.T, s *cache.Store, e cache.Entry) {
			require.NoError(t, os.Truncate(filepath.Join(s.Dir(), e.File), 30))
		},
		"an empty file": func(t *testing.T, s *cache.Store, e cache.Entry) {
			require.NoError(t, os.Truncate(filepath.Join(s.Dir(), e.File), 0))
		},
		"not a zip": func(t *testing.T, s *cache.Store, e cache.Entry) {
			require.NoError(t, s.Put(t.Context(), e.Kind, e.Key, []byte("not a zip")))
		},
		"another zip": func(t *testing.T, s *cache.Store, e cache.Entry) {
			other := entry(t, s, "example.com/web@v0.2.0")
			data, ok, err := s.Get(t.Context(), other.Kind, other.Key)
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, s.Put(t.Context(), e.Kind, e.Key, data))
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			want, _, err := online(&modules.Registry{Config: oci.Host, Store: store}).Complete(t.Context(), tree, nil)
			require.NoError(t, err)
			damage(t, store, entry(t, store, "example.com/base@v0.1.0"))

			_, _, err = online(&modules.Registry{Config: oci.Host, Store: store, Offline: true}).Complete(t.Context(), tree, nil)
			require.ErrorContains(t, err, "example.com/base@v0.1.0")

			got, _, err := online(&modules.Registry{Config: oci.Host, Store: store}).Complete(t.Context(), tree, nil)
			require.NoError(t, err)
			require.Equal(t, want.Digest, got.Digest)
			_, _, err = online(&modules.Registry{Config: oci.Host, Store: store, Offline: true}).Complete(t.Context(), tree, nil)
			require.NoError(t, err, "the entry is good again")
		})
	}
}

func TestOneRegistryAndOneCacheForMany(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	store := newStore(t)
	shared := online(&modules.Registry{Config: oci.Host, Store: store})
	var wg sync.WaitGroup
	digests := make([]string, 8)
	for i := range digests {
		wg.Go(func() {
			r := shared
			if i%2 == 1 {
				r = online(&modules.Registry{Config: oci.Host, Store: store})
			}
			out, _, err := r.Complete(t.Context(), tree, nil)
			if err == nil {
				digests[i] = out.Digest
			}
		})
	}
	wg.Wait()
	for _, d := range digests {
		require.Equal(t, digests[0], d)
		require.NotEmpty(t, d)
	}
}
