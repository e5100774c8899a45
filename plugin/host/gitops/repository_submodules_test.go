// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// modules are a repository with units of both engines whose files are in a submodule, and one of
// another repository.
func modules() map[string]string {
	const own, other = "https://git.example.com/acme/fleet", "https://git.example.com/acme/other"
	return map[string]string{
		".gitmodules": "[submodule \"inner\"]\n\tpath = vendor/inner\n\turl = ../inner.git\n",
		"clusters/flux.yaml": `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: inner, namespace: flux-system}
spec: {path: ./vendor/inner/web, sourceRef: {kind: GitRepository, name: fleet}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: recursed, namespace: flux-system}
spec: {path: ./vendor/inner/web, sourceRef: {kind: GitRepository, name: recursed}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: elsewhere, namespace: flux-system}
spec: {path: ./vendor/inner/web, sourceRef: {kind: GitRepository, name: other}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: store, namespace: flux-system}
spec: {chart: {spec: {chart: ./vendor/inner/store, sourceRef: {kind: GitRepository, name: recursed}}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec: {source: {repoURL: "` + own + `", path: vendor/inner/web}, destination: {namespace: shop}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {url: "` + own + `"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: recursed, namespace: flux-system}
spec: {url: "` + own + `", recurseSubmodules: true}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: other, namespace: flux-system}
spec: {url: "` + other + `"}
`,
	}
}

func TestUnitsInASubmoduleThatIsNotCheckedOutAreNamed(t *testing.T) {
	found := expand(t, modules(), "https://git.example.com/acme/fleet")
	require.Len(t, found.Units, 5, "none is dropped")
	for _, u := range found.Units {
		if u.Name == "elsewhere" {
			source, _ := u.Components[0].Lookup(object.Fields("source", "ref"))
			require.Equal(t, "https://git.example.com/acme/other", source.Text, "another repository is fetched, and not looked for here")
			continue
		}
		require.NotNil(t, u.Problem, u.String())
		require.Equal(t, object.SeverityWarning, u.Problem.Severity, "no file of the repository is wrong")
		require.Contains(t, u.Problem.Err.Error(), `is in the submodule "vendor/inner", whose files are not here`)
	}

	// What is in no submodule is a mistake, and so is all without a list that can be read.
	files := modules()
	files[".gitmodules"] = "[submodule"
	for _, u := range expand(t, files, "https://git.example.com/acme/fleet").Units {
		if u.Name != "elsewhere" {
			require.Equal(t, object.SeverityError, u.Problem.Severity, u.String())
		}
	}
}

func TestUnitsInASubmoduleThatIsCheckedOutAreRendered(t *testing.T) {
	files := modules()
	files["vendor/inner/web/a.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inner}\n"
	files["vendor/inner/store/Chart.yaml"] = "apiVersion: v2\nname: store\nversion: 1.0.0\n"
	found := expand(t, files, "https://git.example.com/acme/fleet")
	require.Len(t, found.Units, 5)
	for _, u := range found.Units {
		require.Nil(t, u.Problem, u.String())
		if u.Name != "inner" {
			require.Empty(t, u.Warnings, u.String())
			continue
		}
		require.Len(t, u.Warnings, 1)
		require.Contains(t, u.Warnings[0].Error(), `Flux does not read the submodule "vendor/inner", and finds no folder "vendor/inner/web"`)
		require.Equal(t, "clusters/flux.yaml:4:14", u.Warnings[0].Pos.String())
	}
}
