// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package subpath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/subpath"
)

func TestAPathIsWithinItsFolders(t *testing.T) {
	for name, c := range map[string]struct {
		name, dir string
		want      bool
	}{
		"a folder itself":                     {"a/b", "a/b", true},
		"a file of it":                        {"a/b/c", "a/b", true},
		"deep below it":                       {"a/b/c/d", "a", true},
		"anything in the root":                {"a", ".", true},
		"the root":                            {".", ".", true},
		"not the folder around it":            {"a", "a/b", false},
		"not one whose name begins the same":  {"a/bc", "a/b", false},
		"not the root in a folder":            {".", "a", false},
		"an absolute path":                    {"/etc/passwd", "/etc", true},
		"not of another folder that is below": {"b/a", "a", false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, subpath.Within(c.name, c.dir)) })
	}
}
