// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConflictsAreNamedWhereTheyAreWritten holds what the library reports without a line, or
// with a dump of its own types.
func TestConflictsAreNamedWhereTheyAreWritten(t *testing.T) {
	t.Parallel()
	v := "- {name: X, objref: {kind: Deployment, name: web, apiVersion: apps/v1}}\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"two generators": {
			map[string]string{"k/kustomization.yaml": "resources: [../b]\nconfigMapGenerator:\n- {name: a}\n- {name: c}\n", "b/kustomization.yaml": "configMapGenerator: [{name: c}]\n"},
			`k/kustomization.yaml:4:3: evaluate: configMapGenerator[1]: "c" is there already (set behavior: merge or replace, or give one another name)`,
		},
		"a Secret": {
			map[string]string{"k/kustomization.yaml": "resources: [../b]\nsecretGenerator:\n- {name: c}\n", "b/kustomization.yaml": "secretGenerator: [{name: c}]\n"},
			`k/kustomization.yaml:3:3: evaluate: secretGenerator[0]: "c" is there already`,
		},
		"nothing to merge with": {
			map[string]string{"k/kustomization.yaml": "configMapGenerator:\n- {name: c, behavior: merge}\n"},
			`k/kustomization.yaml:2:3: evaluate: configMapGenerator[0]: there is no "c" to merge with or to replace (correct the name, or set behavior: create)`,
		},
		"two vars": {
			map[string]string{
				"k/kustomization.yaml": "resources: [../b]\nvars:\n" + v,
				"b/kustomization.yaml": "resources: [web.yaml]\nvars:\n" + v, "b/web.yaml": deployment,
			},
			`k/kustomization.yaml:3:3: evaluate: vars[0]: there is a var "X" already (remove one of them, or give it another name)`,
		},
		"a var of two objects": {
			map[string]string{
				"k/kustomization.yaml": "resources: [../b, ../c]\nvars:\n" + v,
				"b/kustomization.yaml": "nameSuffix: b\nresources: [web.yaml]\n", "b/web.yaml": deployment, "c/kustomization.yaml": "nameSuffix: c\nresources: [web.yaml]\n", "c/web.yaml": deployment,
			},
			`k/kustomization.yaml:3:3: evaluate: vars[0]: objref of var "X" selects several objects (set its namespace, or write a replacement)`,
		},
		"a key of an object": {
			map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\n", "k/web.yaml": deployment + "replicas: 1\nreplicas: 2\n"},
			`k/web.yaml:6:1: evaluate: key "replicas" is written twice, first at line 5 (remove one of them)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine(nil)(t.Context(), request(tree(tt.files), nil))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestVarsThatAreNeverUsedAreNamedInOneOrder(t *testing.T) {
	text := "resources: [web.yaml]\nvars:\n"
	for _, name := range []string{"E", "A", "D", "B", "C"} {
		text += "- {name: " + name + ", objref: {kind: Deployment, name: web, apiVersion: apps/v1}}\n"
	}
	for range 10 {
		out, err := engine(nil)(t.Context(), request(tree(map[string]string{"k/kustomization.yaml": text, "k/web.yaml": deployment}), nil))
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(out.Warnings), "never used: A, B, C, D, E")
	}
}
