// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flock_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/flock"
)

func TestALockExcludesOthersUntilItIsReleased(t *testing.T) {
	if !flock.Supported {
		t.Skip("this platform has no flock")
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "lock"), t.TempDir()} {
		release, err := flock.Lock(t.Context(), path)
		require.NoError(t, err)
		short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err = flock.Lock(short, path)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		release()
		release, err = flock.Lock(t.Context(), path)
		require.NoError(t, err)
		release()
	}
}

func TestTryDoesNotWait(t *testing.T) {
	if !flock.Supported {
		t.Skip("this platform has no flock")
	}
	dir := t.TempDir()
	a, err := os.Open(dir)
	require.NoError(t, err)
	b, err := os.Open(dir)
	require.NoError(t, err)
	require.True(t, flock.Try(a))
	require.False(t, flock.Try(b))
	flock.Unlock(a)
	require.True(t, flock.Try(b))
	require.NoError(t, b.Close())
	require.True(t, flock.Try(a))
	require.NoError(t, a.Close())
}

func TestALockInAMissingDirectoryIsAnError(t *testing.T) {
	_, err := flock.Lock(t.Context(), filepath.Join(t.TempDir(), "no", "lock"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
