// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// folders is the variable of the environment with checkouts to compare, with ":" between them.
const folders = "ROPEWALK_UNITS"

// TestUnitsOfAFolderAreWhatTheRepoServerRenders compares the Applications of a checkout that have one
// source in it. Those of other repositories are left out, and so are those that an ApplicationSet makes,
// which TestUnitsAreWhatTheRepoServerRenders covers by their fields.
func TestUnitsOfAFolderAreWhatTheRepoServerRenders(t *testing.T) {
	if os.Getenv(folders) == "" {
		t.Skipf("%s names no checkout of a repository of Argo CD", folders)
	}
	r, _ := newUnits(t)
	for _, root := range filepath.SplitList(os.Getenv(folders)) {
		t.Run(filepath.Base(root), func(t *testing.T) {
			files := filepath.Join(t.TempDir(), "files")
			require.NoError(t, os.CopyFS(files, os.DirFS(root)))
			require.NoError(t, os.RemoveAll(filepath.Join(files, ".git")))
			repo := commit(t, files)
			equal, left := 0, 0
			for _, app := range applicationsIn(t, files) {
				source := app.Spec.GetSource()
				if len(app.Spec.Sources) > 1 || source.Chart != "" || source.Path == "" || !isFolder(filepath.Join(files, source.Path)) {
					left++
					continue
				}

				// What the repo-server refuses, or needs a network for, is no object of the comparison.
				q := request(repo, &source)
				q.AppName, q.Namespace = app.InstanceName("argocd"), app.Spec.Destination.Namespace
				want, err := r.client.GenerateManifest(t.Context(), q)
				got, diagnostics := r.programs.application(t, files, app)
				if err != nil {
					t.Logf("%s is left out: %v", app.Name, err)
					left++
					continue
				}
				theirs := []string{}
				if len(want.Manifests) > 0 {
					theirs = objectsOf(t, want.Manifests, q.Namespace)
				}
				if slices.Equal(theirs, got) {
					equal++
					continue
				}
				lacks := func(in []string) func(string) bool {
					return func(text string) bool { return slices.Contains(in, text) }
				}
				t.Errorf("%s differs:\nArgo CD:\n%s\nhere:\n%s\n%s", app.Name, strings.Join(slices.DeleteFunc(slices.Clone(theirs), lacks(got)), "---\n"),
					strings.Join(slices.DeleteFunc(slices.Clone(got), lacks(theirs)), "---\n"), diagnostics)
			}
			t.Logf("%d Applications are equal, %d are left out", equal, left)
		})
	}
}

// isFolder reports whether a folder is there.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// applicationsIn are the Applications in the files of a folder; templates are none.
func applicationsIn(t *testing.T, root string) (out []v1alpha1.Application) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) {
			return err
		}
		data, err := os.ReadFile(name) //nolint:gosec // a file of the checkout
		require.NoError(t, err)
		for _, document := range bytes.Split(data, []byte("\n---")) {
			var app v1alpha1.Application
			if yaml.Unmarshal(document, &app) == nil && app.Kind == "Application" && strings.HasPrefix(app.APIVersion, "argoproj.io/") && app.Name != "" {
				out = append(out, app)
			}
		}
		return nil
	}))
	return out
}

// application renders an Application of a folder, as it is alone in it.
func (p programs) application(t *testing.T, root string, app v1alpha1.Application) (objects []string, diagnostics string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(root)))
	git(t, dir, "init", "--quiet") // The root of the repository is above the Application.
	source := app.Spec.GetSource()
	namespace := app.Namespace
	if namespace == "" {
		namespace = "argocd"
	}
	alone := encoded(t, map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": app.Name, "namespace": namespace},
		"spec": map[string]any{"project": "default", "destination": app.Spec.Destination, "source": source},
	})
	write(t, dir, map[string]string{"alone-of-test/app.yaml": alone})
	var out, told bytes.Buffer
	c := exec.CommandContext(t.Context(), p.ropewalk, "render", "--unit", "Application/"+namespace+"/"+app.Name, "--format", "json", "--skip-schemas", "--offline", //nolint:gosec // the program under test
		"--repository-url", source.RepoURL, "--kube-version", "1.36.0", filepath.Join(dir, "alone-of-test"))
	c.Dir, c.Stdout, c.Stderr = dir, &out, &told
	if err := c.Run(); err != nil {
		return nil, told.String()
	}
	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(out.Bytes(), &list))
	var manifests []string
	for _, item := range list.Items {
		manifests = append(manifests, string(item))
	}
	return objectsOf(t, manifests, app.Spec.Destination.Namespace), told.String()
}
