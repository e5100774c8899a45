// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/object"
)

// TestApplicationSetsAreExpandedAsArgoCDDoes: the goldens are written by Argo CD itself, in
// test/applicationset. Where Argo CD makes no Application there is a warning.
func TestApplicationSetsAreExpandedAsArgoCDDoes(t *testing.T) {
	read := func(name string, into any) {
		text, err := os.ReadFile("testdata/applicationsets/" + name)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into))
	}
	var sets map[string]map[string]any
	var want map[string]struct {
		Applications []any
		Refused      string
	}
	read("sets.yaml", &sets)
	read("applications.yaml", &want)
	require.Len(t, want, len(sets)-1)

	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.Run(name, func(t *testing.T) {
			if sets[name]["template"] == nil {
				sets[name]["template"] = sets["default"]
			}
			set, err := yaml.Marshal(map[string]any{
				"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"name": "set", "namespace": "argocd"}, "spec": sets[name],
			})
			require.NoError(t, err)
			found := expand(t, fleetWith(t, map[string]string{"argocd/set.yaml": string(set)}), "https://git.example.com/acme/fleet")
			if want[name].Refused != "" {
				require.Len(t, found.Warnings, 1)
				require.ErrorContains(t, found.Warnings[0], "ApplicationSet/argocd/set is not expanded: ")
				require.Empty(t, found.Units)
				return
			}
			require.Empty(t, found.Warnings)
			got := []any{}
			for _, u := range found.Units {
				got = append(got, withoutEmpty(applicationOf(t, u)))
			}
			expected := []any{}
			for _, application := range want[name].Applications {
				expected = append(expected, withoutEmpty(application))
			}
			require.Equal(t, expected, got)
		})
	}
}

// fleetWith returns the files of the repository that the generators of the goldens read, and further
// ones.
func fleetWith(t *testing.T, more map[string]string) map[string]string {
	t.Helper()
	out := maps.Clone(more)
	files := os.DirFS("testdata/applicationsets/fleet")
	require.NoError(t, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		out[name] = string(text)
		return err
	}))
	return out
}

// applicationOf returns the fields of an Application that its ApplicationSet writes.
func applicationOf(t *testing.T, u gitops.Unit) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(u.Object.JSON(), &out))
	require.Equal(t, "Application", u.Kind)
	delete(out, "apiVersion")
	delete(out, "kind")
	return out
}

// withoutEmpty returns a value without the fields that the types of Argo CD write, or leave out, where
// they are empty.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range object.SortedKeys(v) {
			field := withoutEmpty(v[name])
			kept, isMap := field.(map[string]any)
			items, isList := field.([]any)
			isEmpty := field == nil || field == "" || field == false || isMap && len(kept) == 0 || isList && len(items) == 0
			if !isEmpty {
				out[name] = field
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutEmpty(item)
		}
		return out
	}
	return v
}
