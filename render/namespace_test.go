// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
)

// bare makes objects that name no namespace: of a built-in kind, of kinds that the
// render itself defines, and of one that nobody knows.
const bare = `package bare

config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "config"}
elsewhere: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "config", namespace: "elsewhere"}}
role: {apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: name: "role"}
for k, s in {Rope: "Namespaced", Yard: "Cluster"} {
	"crd\(k)": {
		apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: name: "\(k)s.ship.example"
		spec: {group: "ship.example", scope: s, names: {kind: k, plural: "\(k)s"}, versions: [{
			name: "v1", served: true, storage: true, schema: openAPIV3Schema: {type: "object"}
		}]}
	}
	"own\(k)": {apiVersion: "ship.example/v1", kind: k, metadata: name: "one"}
}
unknown: {apiVersion: "sea.example/v1", kind: "Buoy", metadata: name: "one"}
`

func TestObjectsWithoutANamespaceGetThatOfTheContextForFlux(t *testing.T) {
	namespaces := func(name dialect.Name) map[string]string {
		s := transform(t, "bare", "{}")
		s.Evaluate.Module = module("bare", bare)
		req := render.Request{Specs: []render.Spec{s}, Emit: emit.Options{Dialect: name, Name: "bare"}}
		req.SkipSchemas = true
		result, err := renderer().Render(t.Context(), req)
		require.NoError(t, err)
		out := map[string]string{}
		for _, n := range result.Plan.Graph.Nodes {
			if n.Object.Namespace() != "" {
				out[n.Object.Kind()+" "+n.Object.Namespace()] = n.Object.Name()
			}
		}
		return out
	}
	context := transform(t, "bare", "{}").Evaluate.Context.Namespace
	require.NotEmpty(t, context)
	require.Equal(t, map[string]string{
		"ConfigMap " + context: "config", "ConfigMap elsewhere": "config", "Rope " + context: "one",
	}, namespaces(dialect.Flux))
	for _, name := range []dialect.Name{dialect.Plain, dialect.ArgoCD} {
		require.Equal(t, map[string]string{"ConfigMap elsewhere": "config"}, namespaces(name), "%s: its engine has a namespace for them", name)
	}
}
