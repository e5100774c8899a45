// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/object"
)

// TestTheRuntimeAnnotationTakesTheLinesThatTheOptionTakes compares both rules for NAME=VALUE.
func TestTheRuntimeAnnotationTakesTheLinesThatTheOptionTakes(t *testing.T) {
	t.Parallel()
	for line, valid := range map[string]bool{
		"HOST=example.com": true,
		"TOKEN=a=b==":      true,
		"EMPTY=":           true,
		"my.name-2=x":      true,
		"HOST":             false,
		"=x":               false,
		"two words=x":      false,
	} {
		_, _, ok := host.CutRuntime(line)
		assert.Equal(t, valid, ok, "--runtime %q", line)

		config := object.Object{"metadata": map[string]any{"annotations": map[string]any{settingRuntime: "FIRST=1\n" + line + "\n"}}}
		s, err := settingsOf(config)
		if valid {
			require.NoError(t, err, line)
			var opts host.Options
			s.fillOptions(&opts)
			assert.Equal(t, []string{"FIRST=1", line}, opts.Runtime)
		} else {
			require.ErrorContains(t, err, `line 2: expected NAME=VALUE`, line)
		}
	}
}
