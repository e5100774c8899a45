// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package collector_test

import (
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/collector"
)

func TestTheImportSetsThePercentage(t *testing.T) {
	want := collector.Percent
	switch given := os.Getenv("GOGC"); given {
	case "":
	case "off":
		want = -1
	default:
		var err error
		want, err = strconv.Atoi(given)
		require.NoError(t, err)
	}
	require.Equal(t, want, debug.SetGCPercent(want))
}
