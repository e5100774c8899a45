// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/modules"
)

const baseZip = "mod/download/example.com/base/@v/v0.1.0.zip"

func TestOfflineTakesFromTheCacheOnly(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	dir := t.TempDir()
	_, _, err := (&modules.Registry{Config: oci.Host, CacheDir: dir, Offline: true}).Complete(t.Context(), tree, nil)
	require.ErrorIs(t, err, source.ErrNotFound)
	require.ErrorContains(t, err, `module "example.com/base@v0.1.0": offline, and the cache "`+dir+`" does not hold it: run "ropewalk lock" once with the network`)
	_, _, err = (&modules.Registry{Config: oci.Host, Offline: true}).Complete(t.Context(), tree, nil)
	require.ErrorContains(t, err, "there is no cache folder")
	require.Empty(t, oci.Requests())

	online, fetched, err := (&modules.Registry{Config: oci.Host, CacheDir: dir}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	oci.Reset()
	offline, again, err := (&modules.Registry{Config: oci.Host, CacheDir: dir, Offline: true}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.Equal(t, online.Digest, offline.Digest)
	require.Equal(t, fetched, again)
	require.Empty(t, oci.Requests())
	require.Contains(t, cached(t, dir), baseZip)
}

func TestTheCacheIsThatOfTheCueCommand(t *testing.T) {
	oci, files := shop(t)
	dir := filepath.Join(t.TempDir(), "cue")
	t.Cleanup(func() { writable(dir) })
	cue := producer{registry: oci.Host, cacheDir: dir}

	cue.run(t, folder(t, files), "vet", "-c=false", ".") // it fetches for itself
	oci.Reset()
	out, _, err := (&modules.Registry{Config: oci.Host, CacheDir: dir, Offline: true}).Complete(t.Context(), treeOf(t, files), nil)
	require.NoError(t, err)
	require.Equal(t, "blue", team(t, out))

	t.Run("the other way round", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cue")
		t.Cleanup(func() { writable(dir) })
		_, deps, err := (&modules.Registry{Config: oci.Host, CacheDir: dir}).Complete(t.Context(), treeOf(t, files), nil)
		require.NoError(t, err)
		oci.Reset()
		producer{registry: oci.Host, cacheDir: dir}.run(t, folder(t, files), "vet", "-c=false", ".")
		for _, r := range oci.Requests() {
			for _, d := range deps {
				require.NotContains(t, r.Path, d.Digest, "cue found the zips; it asks for module files only")
			}
		}
	})
}

func TestDamagedEntriesAreFetchedAgain(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, zip string)
	}{
		{"a zip cut short", func(t *testing.T, zip string) { require.NoError(t, os.Truncate(zip, 30)) }},
		{"an empty zip", func(t *testing.T, zip string) { require.NoError(t, os.Truncate(zip, 0)) }},
		{"another zip", func(t *testing.T, zip string) {
			other, err := os.ReadFile(filepath.Join(filepath.Dir(zip), "../../web/@v/v0.2.0.zip"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(zip, other, 0o600))
		}},
		{"a zip cut short without a digest", func(t *testing.T, zip string) {
			require.NoError(t, os.Remove(zip+".sha256"))
			require.NoError(t, os.Truncate(zip, 30))
		}},
		{"a digest without a zip", func(t *testing.T, zip string) { require.NoError(t, os.Remove(zip)) }},
		{"nonsense for a digest", func(t *testing.T, zip string) {
			require.NoError(t, os.WriteFile(zip+".sha256", []byte("x"), 0o600))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			want, _, err := (&modules.Registry{Config: oci.Host, CacheDir: dir}).Complete(t.Context(), tree, nil)
			require.NoError(t, err)
			c.damage(t, filepath.Join(dir, baseZip))

			_, _, err = (&modules.Registry{Config: oci.Host, CacheDir: dir, Offline: true}).Complete(t.Context(), tree, nil)
			require.ErrorContains(t, err, "example.com/base@v0.1.0")

			got, _, err := (&modules.Registry{Config: oci.Host, CacheDir: dir}).Complete(t.Context(), tree, nil)
			require.NoError(t, err)
			require.Equal(t, want.Digest, got.Digest)
			_, _, err = (&modules.Registry{Config: oci.Host, CacheDir: dir, Offline: true}).Complete(t.Context(), tree, nil)
			require.NoError(t, err, "the entry is whole again")
		})
	}
}

func TestLeftOversOfKilledProcessesGo(t *testing.T) {
	oci, files := shop(t)
	dir := t.TempDir()
	old, young := filepath.Join(dir, filepath.Dir(baseZip), ".ropewalk-1"), filepath.Join(dir, filepath.Dir(baseZip), ".ropewalk-2")
	require.NoError(t, os.MkdirAll(filepath.Dir(old), 0o755))
	for _, name := range []string{old, young} {
		require.NoError(t, os.WriteFile(name, []byte("half"), 0o600))
	}
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)))
	_, _, err := (&modules.Registry{Config: oci.Host, CacheDir: dir}).Complete(t.Context(), treeOf(t, files), nil)
	require.NoError(t, err)
	require.NoFileExists(t, old)
	require.FileExists(t, young, "someone may be writing it")
}

func TestOneRegistryAndOneCacheForMany(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	dir := t.TempDir()
	shared := &modules.Registry{Config: oci.Host, CacheDir: dir}
	var wg sync.WaitGroup
	digests := make([]string, 8)
	for i := range digests {
		wg.Go(func() {
			r := shared
			if i%2 == 1 {
				r = &modules.Registry{Config: oci.Host, CacheDir: dir}
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

func TestACacheThatCannotBeWrittenIsAnError(t *testing.T) {
	oci, files := shop(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, _, err := (&modules.Registry{Config: oci.Host, CacheDir: file}).Complete(t.Context(), treeOf(t, files), nil)
	require.ErrorContains(t, err, "module cache: ")
}
