// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

func needs(all ...object.Need) func(*object.Node) {
	return func(n *object.Node) { n.Needs = all }
}

func TestWhatNothingWaitsForIsNamed(t *testing.T) {
	at := object.Pos{File: "module.cue", Line: 9, Column: 5}
	plan := one(node("api", "Deployment.apps/v1", "shop", needs(object.Need{Kind: "Secret", Name: "db", Pos: at})))
	for of, want := range map[dialect.Name]string{
		dialect.ArgoCD: "Argo CD cannot wait for Secret shop/db, which is not part of the render: it applies Deployment.apps shop/api without it",
		dialect.Flux:   "Flux cannot wait for Secret shop/db, which is not part of the render",
	} {
		_, found := write(t, plan, of)
		require.Len(t, found, 1)
		require.Contains(t, found[0], want)
		require.Contains(t, found[0], "shop/deployment-api: needs[0]: ")
	}
	_, found := write(t, plan, dialect.Plain)
	require.Empty(t, found, "nothing waits for anything there")

	out, err := emit.Write(plan, emit.Options{Dialect: dialect.Flux, Awaited: true})
	require.NoError(t, err)
	require.Empty(t, out.Warnings, "the controller waits")
}

func TestNeedsAreBounded(t *testing.T) {
	many := make([]object.Need, object.MaxNeeds+1)
	_, err := emit.Write(one(node("api", "Deployment.apps/v1", "shop", needs(many...))), emit.Options{})
	require.ErrorContains(t, err, "needs: it needs 17 objects, and 16 are the most")
}

func TestANeedIsNoPath(t *testing.T) {
	for _, need := range []object.Need{{Kind: "Secret", Name: "../x"}, {Kind: "Secret", Namespace: "a/b", Name: "x"}, {Kind: "a%2fb", Name: "x"}, {Kind: "Secret", Name: ".."}} {
		_, err := emit.Write(one(node("api", "Deployment.apps/v1", "shop", needs(need))), emit.Options{})
		require.ErrorContains(t, err, "needs[0]: expected names of a kind, a namespace and an object, got ")
	}
}

func TestANeedOfTheRenderItselfIsRefused(t *testing.T) {
	wait := func(n object.Need) func(*object.Node) { return needs(n) }
	for name, need := range map[string]object.Need{
		"in the namespace":         {Kind: "ConfigMap", Name: "settings"},
		"of the whole cluster":     {APIVersion: "cert-manager.io/v1", Kind: "ClusterIssuer", Name: "ca"},
		"in a namespace by name":   {APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"},
		"of another version of it": {APIVersion: "cert-manager.io/v2", Kind: "ClusterIssuer", Name: "ca", Ready: "Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planOf([]*object.Node{
				node("settings", "ConfigMap/v1", "shop"), node("ca", "ClusterIssuer.cert-manager.io/v1", ""), node("api", "Deployment.apps/v1", "shop", wait(need)),
			})
			_, err := emit.Write(plan, emit.Options{Dialect: dialect.Plain})
			require.ErrorContains(t, err, "is part of the render, and needs are for what is not (write dependsOn: [\"shop/")
		})
	}
}
