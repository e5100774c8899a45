// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryFormatOfOurModulesHasAName looks at the definitions: a pattern that stands for
// field names, or at one place only, is short enough to be read.
func TestEveryFormatOfOurModulesHasAName(t *testing.T) {
	definition := regexp.MustCompile(`(?m)^(#\w+): .*=~"(.+?)"$`)
	found := 0
	root := os.DirFS("../../../cue")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".cue" || strings.Contains(name, "testdata") {
			return err
		}
		data, err := fs.ReadFile(root, name)
		for _, d := range definition.FindAllStringSubmatch(string(data), -1) {
			found++
			pattern := strings.ReplaceAll(d[2], `\\`, `\`)
			require.NotEmpty(t, patternName(pattern), "%s: %s: %s", name, d[1], pattern)
			require.NotPanics(t, func() { regexp.MustCompile(pattern) })
		}
		return err
	}))
	require.Greater(t, found, 20)
}
