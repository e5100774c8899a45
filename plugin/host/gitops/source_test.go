// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ignoring are a repository with units of both engines, of which Flux leaves files out.
func ignoring() map[string]string {
	const fleet = "{kind: GitRepository, name: fleet}"
	return map[string]string{
		".sourceignore":        "/*\n!/clusters\n!/apps\n*.bak.yaml\n",
		"clusters/apps.yaml":   kustomization("apps", "{path: ./apps, sourceRef: "+fleet+"}") + "---\n" + kustomization("docs", "{path: ./docs, sourceRef: "+fleet+"}"),
		"examples/flux.yaml":   kustomization("example", "{path: ./apps, sourceRef: "+fleet+"}") + "---\n" + release("store", "{chart: {spec: {chart: ./apps/store, sourceRef: "+fleet+"}}}"),
		"examples/argocd.yaml": application("{source: {repoURL: https://git.example.com/acme/fleet, path: docs/web}}"),
		"docs/web/web.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
		"apps/web.yaml":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
		"apps/old.bak.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n",
	}
}

func TestWhatFluxLeavesOutOfItsSourceIsNoEntryAndNotRendered(t *testing.T) {
	units := map[string]string{}
	found := expand(t, ignoring(), "https://git.example.com/acme/fleet")
	for _, u := range found.Units {
		units[u.String()] = string(u.Files["apps/kustomization.yaml"])
		if u.Problem != nil {
			units[u.String()] = u.Problem.Error()
		}
	}
	require.Len(t, units, 3, "the examples are no entries, and Argo CD reads them")
	require.Contains(t, units, "Application/argocd/web")
	require.Contains(t, units["Kustomization/flux-system/docs"], `Flux leaves "docs" out of the source, by .sourceignore or spec.ignore of the source`)
	require.Contains(t, units["Kustomization/flux-system/apps"], "- web.yaml")
	require.NotContains(t, units["Kustomization/flux-system/apps"], "bak", "the kustomization that Flux makes has no ignored file")
	require.Contains(t, found.Unapplied, "examples/flux.yaml", "what is left out is counted")
}

func TestASourceMayIgnoreMoreInItsObject(t *testing.T) {
	files := map[string]string{
		"clusters/fleet.yaml":   source("GitRepository", "fleet", "{url: https://git.example.com/acme/fleet, ignore: \"/*\\n!/apps\\n/apps/secret.yaml\\n/apps/store\\n\"}"),
		"clusters/apps.yaml":    kustomization("apps", "{path: ./apps, sourceRef: {kind: GitRepository, name: fleet}}"),
		"clusters/all.yaml":     kustomization("all", "{path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}}"),
		"clusters/store.yaml":   release("store", "{chart: {spec: {chart: ./apps/store, sourceRef: {kind: GitRepository, name: fleet, namespace: flux-system}}}}"),
		"apps/web.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
		"apps/secret.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: secret}\n",
		"apps/store/Chart.yaml": "apiVersion: v2\nname: store\nversion: 1.0.0\n",
	}
	files["apps/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1beta1\nresources: [secret.yaml]\n"
	for _, u := range expand(t, files, "https://git.example.com/acme/fleet").Units {
		switch u.Name {
		case "apps":
			require.Contains(t, u.Problem.Error(), `Flux leaves "apps/secret.yaml" out of the source`, "the kustomization refers to it")
			require.Equal(t, "apps/secret.yaml", u.Problem.Pos.File)
		case "all":
			require.Nil(t, u.Problem, "another source has it")
		case "store":
			require.Contains(t, u.Problem.Error(), `Flux leaves "apps/store" out of the source`)
		default:
			require.Fail(t, u.Name)
		}
	}
}
