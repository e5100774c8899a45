// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
)

func TestWithoutExport(t *testing.T) {
	const commented = "# kept\n{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}\n"
	for name, c := range map[string]struct {
		text, kept string
		left       []string
	}{
		"text without it stays, with its comments": {commented, commented, nil},
		"a creationTimestamp that is null": {
			commented + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: null}, data: {k: \"1\"}}\n",
			commented + "---\napiVersion: v1\ndata:\n  k: \"1\"\nkind: ConfigMap\nmetadata:\n  name: a\n", []string{"metadata.creationTimestamp of 1 object: a cluster writes it"},
		},
		"a list of an export": {
			"apiVersion: v1\nkind: List\nitems:\n" +
				"- {apiVersion: v1, kind: Service, metadata: {name: a, uid: u, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}, spec: {clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}\n" +
				"- {apiVersion: v1, kind: Service, metadata: {name: b, uid: u, annotations: {k: v}}, spec: {clusterIP: None}, status: {loadBalancer: {}}}\n",
			"---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec: {}\n---\napiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n    k: v\n  name: b\nspec:\n  clusterIP: None\n",
			[]string{
				"metadata.annotations.kubectl.kubernetes.io/last-applied-configuration of 1 object: a cluster writes it",
				"metadata.uid of 2 objects: a cluster writes it", "spec.clusterIP of 1 object: a cluster writes it", "status of 2 objects: a cluster writes it",
			},
		},
		"what may be meant": {
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1}, status: {conditions: [{type: x}]}}\n",
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1}, status: {conditions: [{type: x}]}}\n", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept, left := imports.WithoutExport([]byte(c.text), parse(t, c.text))
			require.Equal(t, c.kept, string(kept))
			require.Equal(t, c.left, left)
		})
	}
}
