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
		require.NotContains(t, got, "ropewalk:v0.1.0", "the image is the one of the installation")
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
	t.Run("in any order", p.anyOrder)
	t.Run("never beside the repo-server that it is for", func(t *testing.T) {
		dir := p.beside(t, "components: [DEPLOY/sidecar]\n")
		_, diagnostics, err := p.run(t, dir, "build", ".")
		require.Error(t, err)
		require.Contains(t, diagnostics, "argocd-repo-server")
	})
}

// anyOrder adds the components that belong together in each order: the same comes out.
func (p programs) anyOrder(t *testing.T) {
	built := func(components ...string) map[string]map[string]any {
		text := "namespace: argocd\nresources: [repo-server.yaml, argocd-cm.yaml]\ncomponents:\n"
		for _, name := range components {
			text += "  - DEPLOY/" + name + "\n"
		}
		dir := p.beside(t, text)
		for _, name := range []string{"argocd/repo-server.yaml", "argocd-health/argocd-cm.yaml"} {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o600))
		}
		return objects(t, p.good(t, dir))
	}
	pod := func(all map[string]map[string]any) map[string]any {
		spec := all["Deployment argocd-repo-server"]["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		return byName(spec).(map[string]any)
	}
	plain := built()
	want := built("sidecar", "askpass", "health")
	sidecar := pod(want)["containers"].(map[string]any)["ropewalk"].(map[string]any)
	require.Contains(t, sidecar["env"], "ROPEWALK_ASKPASS_SOCKET")
	require.NotEmpty(t, sidecar["image"])
	// The hash of the name restarts pods that run already.
	name := sidecar["envFrom"].([]any)[0].(map[string]any)["configMapRef"].(map[string]any)["name"].(string)
	require.Regexp(t, "^ropewalk-health-[a-z0-9]{10}$", name)
	require.Equal(t, map[string]any{"ROPEWALK_ARGOCD_HEALTH": "true"}, want["ConfigMap "+name]["data"])
	for _, order := range [][]string{
		{"sidecar", "health", "askpass"}, {"askpass", "sidecar", "health"}, {"askpass", "health", "sidecar"},
		{"health", "sidecar", "askpass"}, {"health", "askpass", "sidecar"},
	} {
		got := built(order...)
		require.Equal(t, pod(want), pod(got), "%v", order)
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)), "%v", order)
		containers := got["Deployment argocd-repo-server"]["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
		require.Len(t, containers, 2, "%v", order)
	}
	require.Equal(t, pod(plain), pod(built("health")), "the health checks need no sidecar")
	without := pod(built("sidecar", "askpass"))["containers"].(map[string]any)["ropewalk"].(map[string]any)
	require.Equal(t, []any{map[string]any{"configMapRef": map[string]any{"name": "ropewalk-health", "optional": true}}}, without["envFrom"])
}

// byName is a value in which lists of named items are maps: their order has no meaning.
func byName(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			out[k] = byName(item)
		}
		return out
	case []any:
		out, named := []any{}, map[string]any{}
		for _, item := range v {
			out = append(out, byName(item))
			if m, ok := item.(map[string]any); ok && m["name"] != nil {
				// Two mounts of one volume have different paths.
				named[strings.TrimSuffix(fmt.Sprintf("%v %v", m["name"], m["mountPath"]), " <nil>")] = byName(item)
			}
		}
		if len(named) == len(v) && len(v) > 0 {
			return named
		}
		return out
	}
	return v
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
	require.Len(t, ours, 7)
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
