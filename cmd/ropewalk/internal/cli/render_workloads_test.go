// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// The Workloads that the page of the module shows render, and every object passes its
// check.
func TestTheWorkloadsOfTheModulePageRender(t *testing.T) {
	page, err := os.ReadFile("../../../../cue/modules/workload/README.md")
	require.NoError(t, err)
	seen := 0
	for _, m := range regexp.MustCompile("(?ms)^  ```yaml\n(.*?)^  ```$").FindAllStringSubmatch(string(page), -1) {
		text := strings.ReplaceAll("\n"+m[1], "\n  ", "\n")
		if !strings.Contains(text, "kind: Workload") {
			continue
		}
		seen++
		file := filepath.Join(t.TempDir(), "workload.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var out, diagnostics bytes.Buffer
		code := Run(t.Context(), []string{"render", file}, command.Streams{In: strings.NewReader(""), Out: &out, Err: &diagnostics})
		require.Zero(t, code, "%s\n%s", text, diagnostics.String())
		require.NotContains(t, diagnostics.String(), "error")
	}
	require.Equal(t, 4, seen)
}
