// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecretsAreNotCopiedInOtherWays than by replacements and vars that name one.
func TestSecretsAreNotCopiedInOtherWays(t *testing.T) {
	t.Parallel()
	const (
		copies     = "it copies a value of a Secret into an object that is none"
		kindOfOne  = "it may give a Secret another kind"
		only       = "a folder of generators, transformers or validators has resources alone"
		replace    = "{source: {kind: Secret, name: s, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}"
		harmless   = "{source: {kind: ConfigMap, name: c, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}"
		plugin     = "apiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: r}\n"
		toKind     = "- target: {kind: Secret}\n  options: {allowKindChange: true}\n  patch: '[{\"op\": \"replace\", \"path\": \"/kind\", \"value\": \"ConfigMap\"}]'\n"
		ofTheNamed = "- target: {name: s}\n  options: {allowKindChange: true}\n  patch: '[{\"op\": \"replace\", \"path\": \"/kind\", \"value\": \"ConfigMap\"}]'\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a file of a plugin in a folder": {map[string]string{
			"k/kustomization.yaml": "resources: [s.yaml]\ntransformers: [../tr]\n", "k/r.yaml": replace, "tr/r.yaml": harmless,
			"tr/kustomization.yaml": "resources: [t.yaml]\n", "tr/t.yaml": plugin + "replacements: [{path: r.yaml}]\n",
		}, "tr/t.yaml:1:1: evaluate: " + copies},
		"a Secret that comes after the plugin": {map[string]string{
			"k/kustomization.yaml": "transformers: [t.yaml]\nresources: [s.yaml]\n", "k/t.yaml": plugin + "replacements: [{source: {name: s, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}]\n",
		}, "k/t.yaml:1:1: evaluate: " + copies},
		"a plugin that is patched in its folder": {map[string]string{
			"k/kustomization.yaml": "resources: [s.yaml]\ntransformers: [../tr]\n", "tr/t.yaml": plugin + "replacements: [" + harmless + "]\n",
			"tr/kustomization.yaml": "resources: [t.yaml]\npatches:\n- target: {kind: ReplacementTransformer}\n  patch: '[{\"op\": \"replace\", \"path\": \"/replacements/0/source/kind\", \"value\": \"Secret\"}]'\n",
		}, "tr/kustomization.yaml:3:1: evaluate: patches: " + only},
		"a folder that is a base too": {map[string]string{
			"k/kustomization.yaml": "resources: [s.yaml, ../tr]\ntransformers: [../tr]\n", "tr/kustomization.yaml": "resources: [t.yaml]\n", "tr/t.yaml": plugin + "replacements: [" + replace + "]\n",
		}, "tr/t.yaml:1:1: evaluate: " + copies},
		"a name with a prefix, without a kind": {map[string]string{
			"k/kustomization.yaml": "resources: [../b]\nreplacements: [{source: {name: p-s, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}]\n",
			"b/kustomization.yaml": "resources: [s.yaml]\nnamePrefix: p-\n", "b/s.yaml": secretAndConfig,
		}, "k/kustomization.yaml:2:16: evaluate: replacements[0]: " + copies},
		"a label of the Secret": {map[string]string{
			"k/kustomization.yaml": "resources: [s.yaml]\nreplacements: [{source: {kind: Secret, name: s, fieldPath: data.x}, targets: [{select: {kind: Secret}, fieldPaths: [metadata.labels.x]}]}]\n",
		}, "k/kustomization.yaml:2:16: evaluate: replacements[0]: " + copies},
		"another kind":                     {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\npatches:\n" + toKind}, "k/kustomization.yaml:3:3: evaluate: patches[0]: " + kindOfOne},
		"another kind of what has a name":  {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\npatches:\n" + ofTheNamed}, "k/kustomization.yaml:3:3: evaluate: patches[0]: " + kindOfOne},
		"another kind by a plugin":         {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\ntransformers: [t.yaml]\n", "k/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: r}\ntarget: {kind: Secret}\noptions: {allowKindChange: true}\npatch: '[{\"op\": \"replace\", \"path\": \"/kind\", \"value\": \"ConfigMap\"}]'\n"}, "k/t.yaml:1:1: evaluate: " + kindOfOne},
		"another kind by a replacement":    {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\nreplacements: [{source: {kind: ConfigMap, name: c, fieldPath: kind}, targets: [{select: {kind: Secret}, fieldPaths: [kind]}]}]\n"}, "k/kustomization.yaml:2:16: evaluate: replacements[0]: " + kindOfOne},
		"another kind of a generated one":  {map[string]string{"k/kustomization.yaml": "secretGenerator: [{name: s, literals: [a=b]}]\npatches:\n" + toKind}, "k/kustomization.yaml:3:3: evaluate: patches[0]: " + kindOfOne},
		"another kind of a generator's":    {map[string]string{"k/kustomization.yaml": "generators: [g.yaml]\npatches:\n" + toKind, "k/g.yaml": "apiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: s}\nliterals: [a=b]\n"}, "k/kustomization.yaml:3:3: evaluate: patches[0]: " + kindOfOne},
		"another kind where there is none": {map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\npatches:\n- target: {kind: Deployment}\n  options: {allowKindChange: true}\n  patch: '[{\"op\": \"replace\", \"path\": \"/kind\", \"value\": \"StatefulSet\"}]'\n", "k/web.yaml": deployment}, ""},
		"a ConfigMap without its kind":     {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\nreplacements: [{source: {name: c, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.y], options: {create: true}}]}]\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"k/s.yaml": secretAndConfig}
			maps.Copy(files, c.files)
			_, err := engine(nil)(t.Context(), request(tree(files), nil))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestFilesOfPluginsAreRelativeToWhoHasThem, and not to the folder of the configuration.
func TestFilesOfPluginsAreRelativeToWhoHasThem(t *testing.T) {
	t.Parallel()
	out, err := engine(nil)(t.Context(), request(tree(map[string]string{
		"k/kustomization.yaml": "generators: [../gen]\n", "k/vars.env": "A=b\n",
		"gen/kustomization.yaml": "resources: [g.yaml]\n", "gen/g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: cm}\nenvs: [vars.env]\n",
	}), nil))
	require.NoError(t, err)
	require.Len(t, out.Objects, 1)
	require.Equal(t, map[string]any{"A": "b"}, out.Objects[0].Object["data"])
}
