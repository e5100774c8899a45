// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheSidecarIsAddedToARepoServer builds the components of deploy/argocd over a
// repo-server that has the names of Argo CD's own manifests. test/deploy judges what
// comes out.
func TestTheSidecarIsAddedToARepoServer(t *testing.T) {
	p := programs{kustomize: filepath.Join(t.TempDir(), "kustomize")}
	compile(t, ".", p.kustomize, "sigs.k8s.io/kustomize/kustomize/v5")

	t.Run("with every component", func(t *testing.T) {
		const want = "testdata/argocd.yaml"
		got := p.good(t, "testdata/argocd")
		require.NotContains(t, got, "VERSION", "the image is the one of the installation")
		if os.Getenv("ROPEWALK_UPDATE") != "" {
			require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
		}
		data, err := os.ReadFile(want)
		require.NoError(t, err)
		require.Equal(t, string(data), got, "regenerate with ROPEWALK_UPDATE=1 make kustomize")
	})
	t.Run("with the health checks beside what argocd-cm says already", func(t *testing.T) {
		cm := objects(t, p.good(t, "testdata/argocd-health"))["ConfigMap argocd-cm"]
		data := cm["data"].(map[string]any)
		require.Equal(t, "60s", data["timeout.reconciliation"])
		require.Contains(t, data, "resource.customizations.health.apps_Deployment")
		require.Equal(t, "argocd", cm["metadata"].(map[string]any)["namespace"])
	})
	t.Run("never beside the repo-server that it is for", func(t *testing.T) {
		dir := p.beside(t, "components: [DEPLOY/sidecar]\n")
		_, diagnostics, err := p.run(t, dir, "build", ".")
		require.Error(t, err)
		require.Contains(t, diagnostics, "argocd-repo-server")
	})
}

// beside is a folder with a kustomization in which DEPLOY is the folder of the
// components.
func (p programs) beside(t *testing.T, text string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	here, err := filepath.Abs("../../deploy/argocd")
	require.NoError(t, err)
	deploy, err := filepath.Rel(dir, here)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(text, "DEPLOY", deploy)), 0o600))
	return dir
}

// manifests is the folder of Argo CD's own manifests, in the module from which
// test/argocd builds the repo-server.
func manifests(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3")
	list.Dir = "../argocd"
	out, err := list.Output()
	dir := strings.TrimSpace(string(out))
	if (err != nil || dir == "") && os.Getenv("ROPEWALK_SERVERS") != "required" {
		t.Skip("the module of Argo CD is not there: go -C test/argocd mod download")
	}
	require.NoError(t, err)
	require.DirExists(t, dir)
	return filepath.Join(dir, "manifests")
}

// TestTheSidecarIsAddedToTheInstallOfArgoCD builds the components over what users
// install, and judges our part of it, and the examples, by the definitions of that
// version. That of ApplicationSet is too large to be in the built-in set.
func TestTheSidecarIsAddedToTheInstallOfArgoCD(t *testing.T) {
	theirs, p := manifests(t), build(t)
	dir := p.beside(t, "namespace: argocd\nresources: [install.yaml]\n"+
		"components: [DEPLOY/sidecar, DEPLOY/askpass, DEPLOY/metrics, DEPLOY/podmonitor, DEPLOY/health]\n")
	install, err := os.ReadFile(filepath.Join(theirs, "install.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "install.yaml"), install, 0o600))
	ours := map[string]map[string]any{}
	for key, o := range objects(t, p.good(t, dir)) {
		if key == "Deployment argocd-repo-server" || key == "ConfigMap argocd-cm" || strings.Contains(key, " ropewalk") {
			ours[key] = o
		}
	}
	require.Len(t, ours, 6)
	_, err = p.vet(t, ours, filepath.Join(theirs, "crds"))
	require.NoError(t, err)

	for name, mistake := range map[string]string{
		"application.yaml": "", "application-oci.yaml": "", "applicationset-previews.yaml": "",
		// The comment in the file says so.
		"appproject-previews.yaml": "spec.clusterResourceWhitelist[0].name: is not a known field",
	} {
		data, err := os.ReadFile(filepath.Join("../../deploy/argocd/examples", name))
		require.NoError(t, err)
		diagnostics, err := p.vet(t, objects(t, string(data)), filepath.Join(theirs, "crds"))
		if mistake == "" {
			require.NoError(t, err, "%s: %s", name, diagnostics)
			require.NotContains(t, diagnostics, "no schema is known")
			continue
		}
		require.Error(t, err, name)
		require.Contains(t, diagnostics, mistake)
	}
}

// vet lets the command check objects, as a package of CUE that holds them.
func (p programs) vet(t *testing.T, objects map[string]map[string]any, crds string) (diagnostics string, err error) {
	t.Helper()
	dir := t.TempDir()
	var text bytes.Buffer
	text.WriteString("package objects\n")
	for i, key := range slices.Sorted(maps.Keys(objects)) {
		data, err := json.Marshal(objects[key])
		require.NoError(t, err)
		_, _ = fmt.Fprintf(&text, "object%d: %s\n", i, data)
	}
	spec := "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: objects}\nspec: {cueRef: {type: path, ref: ./module}}\n"
	require.NoError(t, os.Mkdir(filepath.Join(dir, "module"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "module", "objects.cue"), text.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(spec), 0o600))
	c := exec.CommandContext(t.Context(), p.ropewalk, "vet", dir, "--dialect", "argocd", "--crds", crds)
	out, err := c.CombinedOutput()
	return string(out), err
}
