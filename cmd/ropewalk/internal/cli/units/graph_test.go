// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// kustomization returns the name of a Kustomization in a cluster.
func kustomization(cluster, name string) gitops.ID {
	return gitops.ID{Cluster: cluster, Kind: "Kustomization", Namespace: "flux-system", Name: name}
}

// found returns units that were found.
func found(all ...gitops.Unit) *units.Found {
	out := &units.Found{}
	for _, u := range all {
		u.Pos = object.Pos{File: u.Name + ".yaml", Line: 1, Column: 1}
		out.Units = append(out.Units, &command.Unit{Unit: u})
	}
	return out
}

func TestUnitsComeAfterWhatMakesThemAndWhatTheyDependOn(t *testing.T) {
	root, other := kustomization("a", "root"), kustomization("b", "root")
	web, db := kustomization("a", "web"), kustomization("a", "db")
	plan, warnings, err := found(
		gitops.Unit{ID: web, Parents: []gitops.ID{root}, DependsOn: []gitops.ID{db, kustomization("a", "gone")}},
		gitops.Unit{ID: db, Parents: []gitops.ID{root}}, gitops.Unit{ID: root}, gitops.Unit{ID: other},
	).Plan()
	require.NoError(t, err)
	require.Len(t, plan.Waves, 3)
	require.Len(t, plan.Waves[0].Nodes, 2, "the entries of both clusters, which have one name")
	require.Equal(t, object.ID("a/kustomization.flux-system.web"), plan.Waves[2].Nodes[0].ID)
	require.Equal(t, "a/kustomization.flux-system.db must be ready first", plan.Placements["a/kustomization.flux-system.web"].Reason)
	rules := map[graph.Rule]int{}
	for _, e := range plan.Graph.Edges {
		rules[e.Rule]++
	}
	require.Equal(t, map[graph.Rule]int{graph.RuleOwner: 2, graph.RuleDependsOn: 1}, rules)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].Error(), "web.yaml:1:1: graph: Kustomization/flux-system/web of a depends on Kustomization/flux-system/gone of a, which is in no file")
}

func TestUnitsThatWaitForEachOtherAreAMistake(t *testing.T) {
	a, b := kustomization("", "a"), kustomization("", "b")
	_, _, err := found(gitops.Unit{ID: a, DependsOn: []gitops.ID{b}}, gitops.Unit{ID: b, DependsOn: []gitops.ID{a}}).Plan()
	require.ErrorContains(t, err, "cycle")
	require.ErrorContains(t, err, "a.yaml:1:1")
}

func TestFoldersOfUnitsLeaveNoOutput(t *testing.T) {
	for want, id := range map[string]gitops.ID{
		"production/kustomization.flux-system.apps": kustomization("production", "apps"),
		"application.web":                   {Kind: "Application", Name: "web"},
		"application.argocd.-..-etc-passwd": {Kind: "Application", Namespace: "argocd", Name: "../../etc/passwd"},
		"application.argocd.-":              {Kind: "Application", Namespace: "argocd", Name: ".."},
	} {
		require.Equal(t, want, units.Folder(id))
	}
	a := units.Folder(kustomization("", strings.Repeat("a", 252)+"a"))
	require.Less(t, len(a), 201)
	require.NotEqual(t, a, units.Folder(kustomization("", strings.Repeat("a", 252)+"b")))
}
