// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestTheScopeOfAKindIsThatOfItsSchema(t *testing.T) {
	c := check.New(check.Options{CRDs: []object.Object{{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "teams.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"kind": "Team", "plural": "teams"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object"},
			}}},
		},
	}}})
	for kind, want := range map[[2]string]string{
		{"v1", "ConfigMap"}:                              "namespaced",
		{"v1", "Namespace"}:                              "cluster",
		{"external-secrets.io/v1", "ExternalSecret"}:     "namespaced",
		{"external-secrets.io/v1", "ClusterSecretStore"}: "cluster",
		{"example.com/v1", "Team"}:                       "cluster",
		{"example.com/v1", "Other"}:                      "not known",
	} {
		namespaced, known := c.Namespaced(object.Object{"apiVersion": kind[0], "kind": kind[1]})
		got := "not known"
		if known {
			got = map[bool]string{true: "namespaced", false: "cluster"}[namespaced]
		}
		require.Equal(t, want, got, kind)
	}
}
