// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ropewalk/ropewalk/render/component/kustomize"
	"github.com/ropewalk/ropewalk/render/spec"
)

// TestObjectsEqualThoseOfTheLibrary builds every kustomization of this repository with and
// without us.
func TestObjectsEqualThoseOfTheLibrary(t *testing.T) {
	const root = "../../.."
	built := 0
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".") && name != "." {
			return fs.SkipDir
		}
		if e.Name() != "kustomization.yaml" {
			return nil
		}
		dir := path.Dir(name)
		req := request(os.DirFS(root), func(k *spec.Kustomize) { k.Path.Text = dir })
		if c, err := kustomize.Collect(req.FS, ".", req.Component, req.At); err == nil && len(c.Remotes) > 0 {
			return nil
		}
		options := krusty.MakeDefaultOptions()
		options.Reorder = krusty.ReorderOptionUnspecified
		want, wantErr := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), root+"/"+dir)
		out, err := engine(nil)(t.Context(), req)
		if wantErr != nil {
			require.Error(t, err, dir)
			return nil //nolint:nilerr // Nothing to compare.
		}
		require.NoError(t, err, dir)
		require.Len(t, out.Objects, want.Size(), dir)
		for i, r := range want.Resources() {
			expected, err := r.MarshalJSON()
			require.NoError(t, err)
			got, err := json.Marshal(out.Objects[i].Object)
			require.NoError(t, err)
			require.JSONEq(t, string(expected), string(got), dir)
			require.NotZero(t, out.Objects[i].Pos.Line, "%s: %s", dir, out.Objects[i].Object["metadata"])
		}
		built++
		return nil
	}))
	require.Greater(t, built, 5)
}

// TestNamesOfFiles are all that a disk has, for folders, resources and generators.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"k/kustomization.yaml":   "resources: [../a+b, 'c d.yaml', 'e@f.yaml', 'é~%20.yaml']\nconfigMapGenerator:\n- {name: gen, files: ['x+y.txt']}\n",
		"a+b/kustomization.yaml": "resources: [web+1.yaml]\n",
		"a+b/web+1.yaml":         deployment,
		"k/c d.yaml":             service,
		"k/e@f.yaml":             strings.Replace(service, "web", "two", 1),
		"k/é~%20.yaml":           strings.Replace(service, "web", "three", 1),
		"k/x+y.txt":              "text",
	}
	out, err := engine(nil)(t.Context(), request(tree(files), nil))
	require.NoError(t, err)
	var got []string
	for _, o := range out.Objects {
		got = append(got, o.Pos.String())
	}
	require.ElementsMatch(t, []string{"a+b/web+1.yaml:1:1", "k/c d.yaml:2:1", "k/e@f.yaml:2:1", "k/é~%20.yaml:2:1", "k/kustomization.yaml:3:3"}, got)
	data, err := json.Marshal(out.Objects)
	require.NoError(t, err)
	require.Contains(t, string(data), `"x+y.txt":"text"`)
}
