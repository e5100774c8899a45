// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package collector_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/collector"
)

func TestTheImportSetsThePercentage(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set")
	}
	require.Equal(t, collector.Percent, debug.SetGCPercent(collector.Percent))
}
