// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// unit returns a HelmRelease of a chart in the repository that renders a ConfigMap.
func unit(namespace, name string) imports.Unit {
	at := object.Pos{File: "a.yaml", Line: 1, Column: 1}
	chart := object.Value{Kind: object.KindMap, Members: []object.Member{{Name: "chart", Value: object.TextAt("charts/web", at)}}}
	out := imports.Unit{Unit: gitops.Unit{ID: gitops.ID{Kind: "HelmRelease", Namespace: namespace, Name: name}, Pos: at, Namespace: namespace}}
	out.Components = []object.Value{{Kind: object.KindMap, Members: []object.Member{{Name: "helm", Value: chart}}}}
	out.Items = []diff.Item{{Object: object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace}}}}
	return out
}

func projects(t *testing.T, units ...imports.Unit) (imports.Project, object.Errors) {
	t.Helper()
	plan := imports.NewPlan(units)
	require.NoError(t, plan.Err())
	out, err := plan.Projects(func(string) string { return "shop" })
	require.NoError(t, err)
	require.Len(t, out, 1)
	return out[0], plan.Warnings
}

func TestUnitsOfOneNameHaveNamesOfTheirOwn(t *testing.T) {
	p, warnings := projects(t, unit("a", "web"), unit("b", "web"), unit("b", "db"))
	require.Empty(t, warnings)
	var names []string
	for _, s := range p.Specs {
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"a-web", "db", "b-web"}, names)
}

func TestWhatAUnitLaysOverItsObjectsIsAnOverlay(t *testing.T) {
	u := unit("a", "web")
	label := object.Value{Kind: object.KindMap, Members: []object.Member{{Name: "tier", Value: object.TextAt("prod", u.Pos)}}}
	u.Overlays = []spec.Overlay{{Patch: object.Value{Kind: object.KindMap, Members: []object.Member{{Name: "labels", Value: label}}}}}
	p, _ := projects(t, u)
	require.Equal(t, map[string]any{
		"helm":     map[string]any{"chart": "../charts/web"},
		"overlays": []any{map[string]any{"select": map[string]any{"kind": "*"}, "patch": map[string]any{"labels": map[string]any{"tier": "prod"}}}},
	}, p.Specs[0].Document())
}

// Two specs with one object are no project.
func TestASecondUnitWithAnObjectIsLeftToItsEngine(t *testing.T) {
	other := unit("a", "zoo")
	other.Items[0].Object = unit("a", "web").Items[0].Object
	p, warnings := projects(t, unit("a", "web"), other)
	require.Len(t, p.Specs, 1)
	require.ErrorContains(t, warnings, "HelmRelease/a/zoo is not carried over: HelmRelease/a/zoo renders ConfigMap a/web, which HelmRelease/a/web renders too")
}
