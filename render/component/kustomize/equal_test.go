// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

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
		if c, err := Collect(req.FS, ".", req.Component, req.At); err == nil && len(c.Remotes) > 0 {
			return nil
		}
		running <- struct{}{}
		options := krusty.MakeDefaultOptions()
		options.Reorder = krusty.ReorderOptionUnspecified
		want, wantErr := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), root+"/"+dir)
		<-running
		out, err := New(nil)(t.Context(), req)
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
			require.NotZero(t, out.Objects[i].Pos.Line, dir)
		}
		built++
		return nil
	}))
	require.Greater(t, built, 5)
}
