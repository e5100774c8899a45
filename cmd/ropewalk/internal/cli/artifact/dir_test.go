// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/render/emit"
)

// layersOf is a layer for each folder, called as it.
func layersOf(dirs ...string) (out []emit.Layer) {
	for _, dir := range dirs {
		out = append(out, emit.Layer{Name: dir, Dir: dir})
	}
	return out
}

func TestLayersAreCalledAsTheRenderCallsThem(t *testing.T) {
	kustomizations := map[string]string{"layer-1": "shop-1", "layer-2": "shop-2"}
	for name, c := range map[string]struct {
		dirs      []string
		project   string
		delivered map[string]string
		want      []string
	}{
		"after the project":                     {[]string{"layer-1", "layer-2"}, "shop", nil, []string{"shop-1", "shop-2"}},
		"as their folders without a project":    {[]string{"layer-1", "layer-2"}, "", nil, []string{"layer-1", "layer-2"}},
		"after the Kustomizations beside them":  {[]string{"flux", "layer-1", "layer-2"}, "", kustomizations, []string{"shop-1", "shop-2"}},
		"as their folders where none is beside": {[]string{"flux", "layer-1", "layer-2"}, "", nil, []string{"layer-1", "layer-2"}},
		"the project before the Kustomizations": {[]string{"flux", "layer-1"}, "web", kustomizations, []string{"web-1"}},
		"folders of others stay as they are":    {[]string{"layer-1", "base"}, "shop", nil, []string{"layer-1", "base"}},
		"a layer without a number stays":        {[]string{"layer-1", "layer-one"}, "shop", nil, []string{"layer-1", "layer-one"}},
		"flux without layers is a layer":        {[]string{"flux"}, "shop", nil, []string{"flux"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := []emit.File{{Path: "flux/kustomizations.yaml"}, {Path: "layer-1/web.yaml"}}
			kept, layers := nameLayers(files, layersOf(c.dirs...), c.project, c.delivered)
			var names []string
			for _, l := range layers {
				names = append(names, l.Name)
			}
			require.Equal(t, c.want, names)
			require.Equal(t, len(layers) == len(c.dirs), len(kept) == len(files), "what applies the artifact is left out with its folder")
		})
	}
}

func TestNamesThatLayersCanBeCalledAfter(t *testing.T) {
	for name, want := range map[string]bool{
		"shop": true, "shop-2": true, "2": true, strings.Repeat("a", 59): true,
		"": false, strings.Repeat("a", 60): false, "Shop": false, "-shop": false, "shop-": false, "shop.web": false, "shop/web": false, "schöp": false,
	} {
		require.Equal(t, want, isLayerName(name), name)
	}
}

func TestFilesOfADirectory(t *testing.T) {
	files, layers, err := dirFiles(fstest.MapFS{
		"web.yaml": {Data: []byte("a")}, "layer-1/db.yaml": {Data: []byte("b")}, ".keep": {Data: []byte("c")}, "layer-1/.keep": {},
	})
	require.NoError(t, err)
	require.Equal(t, []emit.File{{Path: "layer-1/db.yaml", Data: []byte("b")}, {Path: "web.yaml", Data: []byte("a")}}, files)
	require.Equal(t, layersOf("layer-1"), layers)

	_, _, err = dirFiles(fstest.MapFS{"web.yaml": {Mode: fs.ModeNamedPipe}})
	require.ErrorContains(t, err, `"web.yaml" is a link or no file at all`)
}

func TestADirectoryWithASecretIsNotPacked(t *testing.T) {
	secret := fstest.MapFS{"web.yaml": {Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: hunter2}\n")}}
	_, err := packTree(t.Context(), "out", secret, "", artifact.Options{})
	require.ErrorContains(t, err, "Secret web: holds 1 secret value")
	require.NotContains(t, err.Error(), "hunter2")
}
