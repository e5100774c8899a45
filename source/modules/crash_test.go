// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/modules"
)

// What a process of this test that fills caches finds in its environment.
const (
	childHost = "ROPEWALK_TEST_CACHE_HOST"
	childDir  = "ROPEWALK_TEST_CACHE_DIR"
)

// onlyBase is a module that depends on base.
func onlyBase() (source.Tree, error) {
	return source.NewTree(map[string][]byte{"cue.mod/module.cue": []byte(deps("example.com/base@v0", "v0.1.0"))}, "", "")
}

// fillCaches fills one cache after the other until it is killed.
func fillCaches(host, dir string) {
	tree, err := onlyBase()
	for n := 0; err == nil; n++ {
		_, _, err = (&modules.Registry{Config: host, CacheDir: filepath.Join(dir, fmt.Sprint(n))}).Complete(context.Background(), tree, nil)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestAKilledProcessLeavesNoDamagedEntry(t *testing.T) {
	oci, _ := shop(t)
	tree, err := onlyBase()
	require.NoError(t, err)
	want, _, err := (&modules.Registry{Config: oci.Host}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	whole, missing := 0, 0
	for range 25 {
		dir := t.TempDir()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childHost+"="+oci.Host, childDir+"="+dir)
		require.NoError(t, child.Start())
		require.Eventually(t, func() bool {
			entries, err := os.ReadDir(dir)
			return err == nil && len(entries) > 1
		}, time.Minute, time.Millisecond, "the process writes")
		time.Sleep(rand.N(20 * time.Millisecond))
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			cache := filepath.Join(dir, e.Name())
			got, _, err := (&modules.Registry{Config: oci.Host, CacheDir: cache, Offline: true}).Complete(t.Context(), tree, nil)
			if err != nil {
				require.ErrorIs(t, err, source.ErrNotFound)
				require.ErrorContains(t, err, "does not hold it", "the entry is there or not, never damaged")
				missing++
			} else {
				require.Equal(t, want.Digest, got.Digest)
				whole++
			}
			_, _, err = (&modules.Registry{Config: oci.Host, CacheDir: cache}).Complete(t.Context(), tree, nil)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, whole, "processes lived long enough to write")
	t.Logf("%d whole, %d not written", whole, missing)
}
