// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// folders is the variable of the environment with checkouts to compare, with ":" between them.
const folders = "ROPEWALK_UNITS"

// TestUnitsOfAFolderAreWhatFluxBuilds compares all Kustomizations that other ones of a checkout render,
// with what is laid over them on the way. Those with substituteFrom are left out, as their variables
// may be those of a cluster, and so are those whose files are elsewhere.
func TestUnitsOfAFolderAreWhatFluxBuilds(t *testing.T) {
	if os.Getenv(folders) == "" {
		t.Skipf("%s names no checkout of a repository of Flux", folders)
	}
	command := build(t)
	for _, root := range filepath.SplitList(os.Getenv(folders)) {
		t.Run(filepath.Base(root), func(t *testing.T) {
			// Render all units, and keep their folders apart.
			out := filepath.Join(t.TempDir(), "out")
			var diagnostics bytes.Buffer
			c := exec.CommandContext(t.Context(), command, "render", "-r", root, "-o", out, "--offline", "--skip-schemas") //nolint:gosec // the program under test
			c.Stderr = &diagnostics
			_ = c.Run() // Units that cannot be fetched are no objects of the comparison.
			files := copied(t, root)

			equal, left := 0, 0
			for _, folder := range unitFolders(t, out) {
				for _, o := range objectsIn(t, folder) {
					unit := unstructured.Unstructured{Object: o}
					made := filepath.Join(filepath.Dir(folder), "kustomization."+unit.GetNamespace()+"."+unit.GetName())
					path, _, _ := unstructured.NestedString(o, "spec", "path")
					from, _, _ := unstructured.NestedSlice(o, "spec", "postBuild", "substituteFrom")
					isUnit := unit.GetKind() == "Kustomization" && strings.HasPrefix(unit.GetAPIVersion(), "kustomize.toolkit.fluxcd.io/")
					if !isUnit {
						continue
					}
					if len(from) > 0 || !isFolder(filepath.Join(root, path)) || !isFolder(made) {
						left++
						continue
					}
					want, err := builtIn(t, files, unit)
					if err != nil {
						t.Errorf("%s: Flux refuses it: %v", filepath.Base(made), err)
						continue
					}
					var got []string
					for _, o := range objectsIn(t, made) {
						got = append(got, text(t, o))
					}
					slices.Sort(got)
					if slices.Equal(want, got) {
						equal++
						continue
					}
					t.Errorf("%s differs:\nFlux:\n%s\nhere:\n%s", filepath.Base(made), strings.Join(without(want, got), "---\n"), strings.Join(without(got, want), "---\n"))
				}
			}
			t.Logf("%d Kustomizations are equal, %d are left out", equal, left)
			if equal+left == 0 && !t.Failed() {
				t.Skipf("no Kustomization of it is made by another one: %s", diagnostics.String())
			}
		})
	}
}

// without are the texts of a list that another one lacks.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(other, text) })
}

// isFolder reports whether a folder is there.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// copied is a copy of a checkout without Git and without links.
func copied(t *testing.T, root string) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o750)
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	}))
	return to
}

// unitFolders are the folders of a render with objects in them.
func unitFolders(t *testing.T, out string) (folders []string) {
	t.Helper()
	_ = filepath.WalkDir(out, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), "kustomization.") {
			folders = append(folders, name)
		}
		return nil
	})
	return folders
}

// objectsIn are the objects that were rendered into a folder.
func objectsIn(t *testing.T, folder string) (out []map[string]any) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	for _, name := range names {
		data, err := os.ReadFile(name) //nolint:gosec // a file that the test made
		require.NoError(t, err)
		var object map[string]any
		require.NoError(t, yaml.Unmarshal(data, &object))
		if object["kind"] != nil {
			out = append(out, object)
		}
	}
	return out
}
