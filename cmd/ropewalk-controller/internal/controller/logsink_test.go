// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
)

func TestLogsHoldNothingThatATerminalObeys(t *testing.T) {
	for _, bad := range []string{"a\x1b[31mb", "a\u202eb", "a\u2066b", "a\u200bb", "a\u009bb", "a\rb", "a\u2028b"} {
		var lines []any
		log := safeLog(funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 1}))
		log.Info(bad, "key", bad)
		log.Error(errors.New(bad), bad, "key", errors.New(bad))
		log.V(1).WithValues("key", bad).WithName("n").Info("text")
		require.Len(t, lines, 3)
		for _, line := range lines {
			require.NotContains(t, line, bad)
			require.Contains(t, line, `b"`, "what is printable stays")
			require.NotContains(t, line, "\u202e")
		}
	}
}
