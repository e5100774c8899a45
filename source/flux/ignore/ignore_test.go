// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package ignore

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// The field spec.ignore of a source counts after its files, and in place of what is ignored by default.
func TestTheFieldOfASourceCountsAfterItsFiles(t *testing.T) {
	root, err := rootfs.Of(fstest.MapFS{
		".sourceignore": {Data: []byte("docs/\n")}, "docs/a.md": {}, "apps/a.yaml": {}, "apps/b.yaml": {}, "apps/photo.jpg": {},
	}, ".")
	require.NoError(t, err)
	for more, want := range map[string][]string{
		"":                              {"docs", "docs/a.md"},
		"# none":                        {"docs", "docs/a.md"},
		"b.yaml\n!docs/":                {"apps/b.yaml"},
		"/*\n!/apps\n/apps/photo.jpg\n": {"apps/photo.jpg", "docs", "docs/a.md"},
	} {
		gone, err := LeftOut(root, "GitRepository", more)
		require.NoError(t, err)
		names := slices.DeleteFunc(object.SortedKeys(gone), func(name string) bool { return name == File })
		require.Equal(t, want, names, more)
	}
}
