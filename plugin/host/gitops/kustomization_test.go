// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestWhatAUnitSetsReplacesTheKustomizationOfItsFolder: test/argocd and test/flux hold the objects
// against the engines.
func TestWhatAUnitSetsReplacesTheKustomizationOfItsFolder(t *testing.T) {
	const (
		argo = "{source: {repoURL: https://git.example.com/acme/fleet, path: web, kustomize: "
		own  = "namePrefix: own-\nnameSuffix: -own\nnamespace: own\nresources: [a.yaml]\nimages: [{name: app, newName: registry.example.com/app, newTag: '1'}, {name: kept, newTag: '1'}]\n"
	)
	for name, c := range map[string]struct{ object, component, written string }{
		"names of an Application": {
			application(argo + "{namePrefix: a-, namespace: other}}}"),
			`{"kustomize":{"enableHelm":true,"loadRestrictor":"none","namePrefix":"a-","namespace":"other","path":"web"}}`,
			"nameSuffix: -own\nresources: [a.yaml]\nimages: [{name: app, newName: registry.example.com/app, newTag: '1'}, {name: kept, newTag: '1'}]\n",
		},
		"an image of an Application": {
			application(argo + "{images: ['app=other:2']}}}"),
			`{"kustomize":{"enableHelm":true,"images":[{"name":"app","newName":"other","newTag":"2"}],"loadRestrictor":"none","path":"web"}}`,
			"namePrefix: own-\nnameSuffix: -own\nnamespace: own\nresources: [a.yaml]\nimages: [{name: kept, newTag: '1'}]\n",
		},
		"names of a Kustomization": {
			kustomization("web", "{path: web, sourceRef: {kind: GitRepository, name: flux-system}, targetNamespace: other, nameSuffix: -z}"),
			`{"kustomize":{"loadRestrictor":"none","nameSuffix":"-z","namespace":"other","path":"web"}}`,
			"namePrefix: own-\nresources: [a.yaml]\nimages: [{name: app, newName: registry.example.com/app, newTag: '1'}, {name: kept, newTag: '1'}]\n",
		},
		"an image of a Kustomization": {
			kustomization("web", "{path: web, sourceRef: {kind: GitRepository, name: flux-system}, images: [{name: app, digest: 'sha256:00'}]}"),
			`{"kustomize":{"images":[{"digest":"sha256:00","name":"app","newName":"registry.example.com/app"}],"loadRestrictor":"none","path":"web"}}`,
			"namePrefix: own-\nnameSuffix: -own\nnamespace: own\nresources: [a.yaml]\nimages: [{name: kept, newTag: '1'}]\n",
		},
		"nothing that is there": {
			kustomization("web", "{path: web, sourceRef: {kind: GitRepository, name: flux-system}, images: [{name: new, newTag: '2'}]}"),
			`{"kustomize":{"images":[{"name":"new","newTag":"2"}],"loadRestrictor":"none","path":"web"}}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			units := expand(t, map[string]string{"a/a.yaml": c.object, "web/kustomization.yaml": own, "web/a.yaml": "a: b\n"}, "https://git.example.com/acme/fleet").Units
			require.Len(t, units, 1)
			require.Nil(t, units[0].Problem)
			require.JSONEq(t, c.component, string(units[0].Components[0].JSON()))
			if c.written == "" {
				require.Empty(t, units[0].Files)
				return
			}
			want, err := yaml.YAMLToJSON([]byte(c.written))
			require.NoError(t, err)
			got, err := yaml.YAMLToJSON(units[0].Files["web/kustomization.yaml"])
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
		})
	}
}
