// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestNamesOfAUserLeadToPlacesInTheRoot(t *testing.T) {
	t.Parallel()
	p, err := openPlaces(Options{Dir: "apps", Root: "shop", FS: fstest.MapFS{
		"apps/shop/values.yaml": {Data: []byte("a: 1\n")}, "apps/other.yaml": {}, "apps/shop/web/cue.mod/module.cue": {},
	}})
	require.NoError(t, err)
	defer p.close()

	// Names are relative to Dir, or begin at the root of the file system.
	for _, name := range []string{"shop/values.yaml", "/apps/shop/values.yaml"} {
		file, err := p.ReadNamed(name)
		require.NoError(t, err, name)
		require.Equal(t, "a: 1\n", string(file.Data), name)
	}
	for name, want := range map[string]string{
		"other.yaml": `"apps" is outside of the root "apps/shop"`, "../../x.yaml": `"../../x.yaml" is outside the files of the project`, "shop/none.yaml": "no such file or directory",
	} {
		_, err := p.ReadNamed(name)
		require.ErrorContains(t, err, want, name)
	}

	// A root is opened once, however many names lead there.
	r, rel, folder, err := p.openNamed("shop/web")
	require.NoError(t, err)
	require.True(t, folder)
	require.Equal(t, "web", rel)
	require.Equal(t, "shop/web", r.Display(rel))
	require.Equal(t, []*Root{r}, p.roots)

	// What is there is seen outside of the root too.
	require.True(t, p.HasFile("shop/web", "cue.mod"))
	require.False(t, p.HasFile("shop", "cue.mod"))
	require.True(t, p.IsFolder("."))
	require.False(t, p.IsFolder("other.yaml"))
	require.False(t, p.IsFolder("../.."))
}
