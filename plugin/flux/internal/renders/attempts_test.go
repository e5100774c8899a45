// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package renders

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestModulesAreDueAnIntervalAfterTheyWereResolved(t *testing.T) {
	var a Attempts
	began := time.Now()
	require.False(t, a.IsDue("1", began, time.Minute), "a restart resolves nothing at once")
	require.False(t, a.IsDue("1", began.Add(59*time.Second), time.Minute))
	require.True(t, a.IsDue("1", began.Add(time.Minute), time.Minute))

	a.Record("1", began.Add(time.Minute), "key", nil)
	require.False(t, a.IsDue("1", began.Add(time.Minute), time.Minute))
	require.True(t, a.IsDue("1", began.Add(2*time.Minute), time.Minute))
}

func TestAFailureIsOfOneKeyAndOneTransform(t *testing.T) {
	var a Attempts
	failed := errors.New("no such field")
	require.NoError(t, a.Failed("1", "key"))
	a.Record("1", time.Now(), "key", failed)
	require.ErrorIs(t, a.Failed("1", "key"), failed)
	require.NoError(t, a.Failed("1", "other"))
	require.NoError(t, a.Failed("2", "key"))
	a.Forget("1")
	require.NoError(t, a.Failed("1", "key"))
}
