// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ropewalk/ropewalk/deploy"
)

// released is the image that the manifests of this folder name.
const released = deploy.Image + ":v0.1.0"

// TestWhatInstallWritesIsWhatKustomizeGives: one file has the objects of the folder that it is
// made of.
func TestWhatInstallWritesIsWhatKustomizeGives(t *testing.T) {
	files := filesys.MakeFsInMemory()
	for _, name := range []string{"crds", "flux", "argocd/sidecar"} {
		entries, err := os.ReadDir(path.Join(root, "deploy", name))
		require.NoError(t, err)
		for _, e := range entries {
			if !e.IsDir() {
				require.NoError(t, files.WriteFile(path.Join("/deploy", name, e.Name()), []byte(read(t, path.Join(root, "deploy", name, e.Name())))))
			}
		}
	}
	built := func(folder, kustomization string) string {
		if kustomization != "" {
			require.NoError(t, files.WriteFile(path.Join(folder, "kustomization.yaml"), []byte(kustomization)))
		}
		options := krusty.MakeDefaultOptions()
		options.LoadRestrictions = kustomize.LoadRestrictionsNone
		all, err := krusty.MakeKustomizer(options).Run(files, folder)
		require.NoError(t, err)
		text, err := all.AsYaml()
		require.NoError(t, err)
		return string(text)
	}

	require.Equal(t, documents(t, "flux", built("/deploy/flux", "")), documents(t, "flux", deploy.Flux(released)))

	require.NoError(t, files.WriteFile("/repo-server.yaml", []byte(read(t, root+"/test/kustomize/testdata/argocd/repo-server.yaml"))))
	require.NoError(t, files.WriteFile("/one/kustomization.yaml", []byte(deploy.ArgoCD(released))))
	const beside = "resources: [/repo-server.yaml]\ncomponents: "
	want := built("/folder", beside+"[../deploy/argocd/sidecar]\n")
	require.Contains(t, want, "image: "+released+"\n")
	require.Equal(t, want, built("/file", beside+"[../one]\n"))
	require.Equal(t, documents(t, "values", read(t, folder+"/helm/values.yaml")), documents(t, "values", deploy.ArgoCDValues(released)))
}

// TestNoManifestNamesAnotherImage: the version is that of the chart.
func TestNoManifestNamesAnotherImage(t *testing.T) {
	require.Contains(t, read(t, root+"/deploy/chart/Chart.yaml"), `appVersion: "`+released[len(deploy.Image+":v"):]+`"`)
	for name, text := range map[string]string{"flux": deploy.Flux("-"), "argocd": deploy.ArgoCD("-"), "values": deploy.ArgoCDValues("-")} {
		require.NotContains(t, text, deploy.Image+":", name)
		require.Contains(t, text, "image: -\n", name)
	}
}
