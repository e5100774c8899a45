// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/render/emit"
)

// TestWithoutAnExchangeTheLastOfManyWritesStandsWhole goes the way of file systems that
// cannot swap two directories in one step.
func TestWithoutAnExchangeTheLastOfManyWritesStandsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	o := Output{exchange: swap}
	for round := range 40 {
		if round%4 == 0 {
			require.NoError(t, os.RemoveAll(dir), "they also make it at once")
		}
		var group errgroup.Group
		for i := range 4 {
			group.Go(func() error {
				text := []byte(fmt.Sprintln("of:", i))
				return o.WriteDir(dir, []emit.File{{Path: "a.yaml", Data: text}, {Path: "b.yaml", Data: text}, {Path: fmt.Sprint(i, ".yaml"), Data: text}})
			})
		}
		require.NoError(t, group.Wait())
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 4, "three files and the marker")
		a, err := os.ReadFile(filepath.Join(dir, "a.yaml"))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(dir, "b.yaml"))
		require.NoError(t, err)
		require.Equal(t, string(a), string(b))
	}
	alone(t, dir)
}

func alone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing stays beside")
}

func TestWhatAKilledSwapTookAwayIsPutBack(t *testing.T) {
	files := []emit.File{{Path: "a.yaml", Data: []byte("a: 1\n")}}
	killed := func(t *testing.T) (dir string) {
		t.Helper()
		dir = filepath.Join(t.TempDir(), "out")
		require.NoError(t, WriteDir(dir, files))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600))
		require.NoError(t, os.Rename(dir, filepath.Join(filepath.Dir(dir), prefix(dir)+"0123456789abcdef"+parked)))
		return dir
	}

	dir := killed(t)
	require.ErrorIs(t, WriteDir(dir, files), ErrNotOurs)
	data, err := os.ReadFile(filepath.Join(dir, "notes.txt"))
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
	require.NoError(t, os.Remove(filepath.Join(dir, "notes.txt")))
	require.NoError(t, WriteDir(dir, files))
	alone(t, dir)
}
