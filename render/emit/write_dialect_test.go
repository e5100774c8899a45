// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

const (
	syncOptions = "argocd.argoproj.io/sync-options"
	syncWave    = "argocd.argoproj.io/sync-wave"
	fluxKey     = "kustomize.toolkit.fluxcd.io/"
)

// outcome is what one dialect makes of an intent: an annotation (key and value),
// a warning, or nothing; gone means that the object is left out.
type outcome struct {
	key, value, warning string
	gone                bool
}

// intent is one object with policies, and what each dialect makes of it.
type intent struct {
	kind                string
	change              []func(*object.Node)
	plain, argocd, flux outcome
}

func endings() map[string]intent {
	no, yes := false, true
	return map[string]intent{
		"prune false": {
			change: []func(*object.Node){apply(object.Apply{Prune: &no})},
			argocd: outcome{key: syncOptions, value: "Prune=false"}, flux: outcome{key: fluxKey + "prune", value: "disabled"},
		},
		"prune false that shall be deleted": {
			change: []func(*object.Node){apply(object.Apply{Prune: &no, Deletion: object.DeletionDelete})},
			argocd: outcome{key: syncOptions, value: "Prune=false"}, flux: outcome{key: fluxKey + "prune", value: "disabled", warning: "apply.deletion: Flux cannot exempt"},
		},
		"deletion Orphan": {
			change: []func(*object.Node){apply(object.Apply{Deletion: object.DeletionOrphan})},
			argocd: outcome{key: syncOptions, value: "Delete=false"}, flux: outcome{key: fluxKey + "prune", value: "disabled"},
		},
		"deletion Orphan that shall be pruned": {
			change: []func(*object.Node){apply(object.Apply{Deletion: object.DeletionOrphan, Prune: &yes})},
			argocd: outcome{key: syncOptions, value: "Delete=false"}, flux: outcome{key: fluxKey + "prune", value: "disabled", warning: "apply.prune: Flux cannot prune"},
		},
		"a kind that holds data": {
			kind:   "PersistentVolumeClaim/v1",
			argocd: outcome{key: syncOptions, value: "Prune=false,Delete=false"}, flux: outcome{key: fluxKey + "prune", value: "disabled"},
		},
		"a kind that holds data and may go": {
			kind: "PersistentVolumeClaim/v1", change: []func(*object.Node){apply(object.Apply{Prune: &yes, Deletion: object.DeletionDelete})},
			argocd: outcome{key: syncOptions}, flux: outcome{key: fluxKey + "prune"},
		},
	}
}

func modes() map[string]intent {
	return map[string]intent{
		"mode Create": {
			change: []func(*object.Node){apply(object.Apply{Mode: object.ModeCreate})},
			plain:  outcome{warning: "apply.mode: plain manifests cannot express Create"},
			argocd: outcome{key: syncOptions, warning: "apply.mode: Argo CD cannot create ConfigMap shop/a once"}, flux: outcome{key: fluxKey + "ssa", value: "IfNotPresent"},
		},
		"mode Replace": {
			change: []func(*object.Node){apply(object.Apply{Mode: object.ModeReplace})},
			plain:  outcome{warning: "cannot express Replace"},
			argocd: outcome{key: syncOptions, value: "Replace=true"}, flux: outcome{key: fluxKey + "force", warning: "apply.mode: Flux cannot replace ConfigMap shop/a"},
		},
		"mode Force": {
			change: []func(*object.Node){apply(object.Apply{Mode: object.ModeForce})},
			plain:  outcome{warning: "cannot express Force"},
			argocd: outcome{key: syncOptions, value: "Force=true"}, flux: outcome{key: fluxKey + "force", value: "enabled"},
		},
		"mode Apply": {change: []func(*object.Node){apply(object.Apply{Mode: object.ModeApply, Conflict: object.ConflictEngine})}, argocd: outcome{key: syncOptions}, flux: outcome{key: fluxKey + "ssa"}},
		"conflict Error": {
			change: []func(*object.Node){apply(object.Apply{Conflict: object.ConflictError})},
			plain:  outcome{warning: "cannot express Error"},
			argocd: outcome{key: syncOptions, warning: "apply.conflict: Argo CD cannot stop at a conflict"}, flux: outcome{key: fluxKey + "ssa", warning: "apply.conflict: Flux cannot stop at a conflict"},
		},
		"adopt TakeOwnership": {change: []func(*object.Node){apply(object.Apply{Adopt: object.AdoptTakeOwnership})}, argocd: outcome{key: syncOptions}, flux: outcome{key: fluxKey + "ssa"}},
		"adopt Never": {
			change: []func(*object.Node){apply(object.Apply{Adopt: object.AdoptNever})},
			plain:  outcome{warning: "cannot express Never"},
			argocd: outcome{key: syncOptions, warning: "Argo CD cannot refuse an object"}, flux: outcome{key: fluxKey + "ssa", warning: "Flux cannot refuse an object"},
		},
		"adopt Mirror": {
			change: []func(*object.Node){apply(object.Apply{Adopt: object.AdoptMirror})},
			plain:  outcome{gone: true, warning: "apply.adopt: kubectl cannot create ConfigMap shop/a without changing it where it exists"},
			argocd: outcome{gone: true, warning: "apply.adopt: Argo CD cannot create ConfigMap shop/a without changing it where it exists"},
			flux:   outcome{key: fluxKey + "ssa", value: "IfNotPresent"},
		},
		"adopt Mirror and mode Create": {
			change: []func(*object.Node){apply(object.Apply{Adopt: object.AdoptMirror, Mode: object.ModeCreate})},
			plain:  outcome{gone: true, warning: "left out of the render, and not created"},
			argocd: outcome{gone: true, warning: "left out of the render, and not created"}, flux: outcome{key: fluxKey + "ssa", value: "IfNotPresent"},
		},
	}
}

func objects() map[string]intent {
	large := field("data", map[string]any{"a": strings.Repeat("x", 201<<10)})
	return map[string]intent{
		"a custom resource without its definition": {
			kind: "Certificate.cert-manager.io/v1", argocd: outcome{key: syncOptions, value: "SkipDryRunOnMissingResource=true"}, flux: outcome{key: fluxKey + "ssa"},
		},
		"a group of Kubernetes that looks like a custom one": {kind: "Role.rbac.authorization.k8s.io/v1", argocd: outcome{key: syncOptions}},
		"a custom group that looks like Kubernetes":          {kind: "HTTPRoute.gateway.networking.k8s.io/v1", argocd: outcome{key: syncOptions, value: "SkipDryRunOnMissingResource=true"}},
		"an object near 256 KiB":                             {change: []func(*object.Node){large}, argocd: outcome{key: syncOptions, value: "ServerSideApply=true"}, flux: outcome{key: fluxKey + "ssa"}},
		"a large object that is replaced": {
			change: []func(*object.Node){large, apply(object.Apply{Mode: object.ModeReplace})},
			plain:  outcome{warning: "cannot express"}, argocd: outcome{key: syncOptions, value: "Replace=true"}, flux: outcome{warning: "cannot replace"},
		},
		"a large object that is forced": {
			change: []func(*object.Node){large, apply(object.Apply{Mode: object.ModeForce})},
			plain:  outcome{warning: "cannot express"}, argocd: outcome{key: syncOptions, value: "Force=true", warning: "Argo CD cannot force"}, flux: outcome{key: fluxKey + "force", value: "enabled"},
		},
		"a wave": {argocd: outcome{key: syncWave, value: "0"}, flux: outcome{key: syncWave}},
	}
}

// TestEveryIntentIsWrittenOrNamed has the rows of the engine mapping of the
// design.
func TestEveryIntentIsWrittenOrNamed(t *testing.T) {
	for _, table := range []map[string]intent{endings(), modes(), objects()} {
		for name, row := range table {
			t.Run(name, row.check)
		}
	}
}

func (row intent) check(t *testing.T) {
	if row.kind == "" {
		row.kind = "ConfigMap/v1"
	}
	for name, want := range map[dialect.Name]outcome{dialect.Plain: row.plain, dialect.ArgoCD: row.argocd, dialect.Flux: row.flux} {
		n := node("a", row.kind, "shop", row.change...)
		files, found := write(t, one(n), name)
		require.Equal(t, want.gone, len(files) == 0, name)
		if want.warning == "" {
			require.Empty(t, found, name)
		} else {
			require.Len(t, found, 1, name)
			require.Contains(t, found[0], want.warning)
			require.Contains(t, found[0], "shop.yaml:2:1: emit: "+string(n.ID)+": ")
		}
		if !want.gone && want.key != "" {
			require.Equal(t, want.value, only(t, files).Annotations()[want.key], name)
		}
		if name == dialect.Plain && !want.gone {
			require.Equal(t, n.Object, only(t, files), "plain is the object as it is")
		}
	}
}

func TestWhoWinsWhereTheAuthorHasAnnotatedTheObject(t *testing.T) {
	no := false
	for name, row := range map[string]struct {
		dialect dialect.Name
		change  []func(*object.Node)
		key     string
		want    string
		warning string
	}{
		"the wave is computed": {
			dialect.ArgoCD, []func(*object.Node){note(syncWave, "7")}, syncWave, "0", `"7" is replaced with "0"`,
		},
		"the same wave is no news": {dialect.ArgoCD, []func(*object.Node){note(syncWave, "0")}, syncWave, "0", ""},
		"readyWhen of the node stands": {
			dialect.ArgoCD, []func(*object.Node){note(dialect.ReadyWhen, "x"), celRule("true")}, dialect.ReadyWhen, "true", "it is computed from readyWhen",
		},
		"options are merged": {
			dialect.ArgoCD, []func(*object.Node){note(syncOptions, "PruneLast=true, Validate=false,PruneLast=true"), apply(object.Apply{Prune: &no})},
			syncOptions, "PruneLast=true,Validate=false,Prune=false", "",
		},
		"the same option stands once": {dialect.ArgoCD, []func(*object.Node){note(syncOptions, "Prune=false"), apply(object.Apply{Prune: &no})}, syncOptions, "Prune=false", ""},
		"an option of the author wins": {
			dialect.ArgoCD, []func(*object.Node){note(syncOptions, "Prune=confirm"), apply(object.Apply{Prune: &no})}, syncOptions, "Prune=confirm", "although apply of the node requires Prune=false",
		},
		"Replace and Force never meet": {
			dialect.ArgoCD, []func(*object.Node){note(syncOptions, "Replace=true"), apply(object.Apply{Mode: object.ModeForce})}, syncOptions, "Replace=true", "although apply of the node requires Force=true",
		},
		"an annotation for Flux wins": {
			dialect.Flux, []func(*object.Node){note(fluxKey+"ssa", "Merge"), apply(object.Apply{Mode: object.ModeCreate})}, fluxKey + "ssa", "Merge", `"Merge" is kept, although apply of the node requires "IfNotPresent"`,
		},
		"the same annotation for Flux is no news": {dialect.Flux, []func(*object.Node){note(fluxKey+"prune", "disabled"), apply(object.Apply{Prune: &no})}, fluxKey + "prune", "disabled", ""},
		"other annotations stay":                  {dialect.Flux, []func(*object.Node){note("a", "b"), apply(object.Apply{Prune: &no})}, "a", "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files, found := write(t, one(node("a", "ConfigMap/v1", "shop", row.change...)), row.dialect)
			require.Equal(t, row.want, only(t, files).Annotations()[row.key])
			if row.warning == "" {
				require.Empty(t, found)
			} else {
				require.Len(t, found, 1)
				require.Contains(t, found[0], row.warning)
			}
		})
	}
}

func TestAnAnnotatedObjectWithoutMetadataMapsIsStillWritten(t *testing.T) {
	n := node("a", "ConfigMap/v1", "")
	n.Object["metadata"] = map[string]any{"name": "a", "annotations": "oops"}
	files, _ := write(t, one(n), dialect.ArgoCD)
	require.Equal(t, "0", only(t, files).Annotations()[syncWave])
	require.Equal(t, "oops", n.Object.Get("metadata", "annotations"))
}

func TestWarningsAreSortedAndCarryBothPlaces(t *testing.T) {
	a, b := node("a", "ConfigMap/v1", "shop", apply(object.Apply{Conflict: object.ConflictError})), node("b", "ConfigMap/v1", "shop", apply(object.Apply{Conflict: object.ConflictError}))
	b.SpecPos.Line = 1
	c := node("c", "ConfigMap/v1", "shop", apply(object.Apply{Conflict: object.ConflictError}))
	c.SpecPos = object.Pos{}
	out, err := emit.Write(planOf([]*object.Node{a, c}, []*object.Node{b}), emit.Options{Dialect: dialect.ArgoCD})
	require.NoError(t, err)
	require.Equal(t, []object.ID{"shop/configmap-c", "shop/configmap-b", "shop/configmap-a"}, []object.ID{out.Warnings[0].Node, out.Warnings[1].Node, out.Warnings[2].Node})
	require.Equal(t, object.Pos{File: "module.cue", Line: 7, Column: 3}, out.Warnings[0].Pos)
	require.Empty(t, out.Warnings[0].Notes)
	require.Equal(t, "module.cue:7:3", out.Warnings[1].Notes[0].Pos.String())
	require.Equal(t, object.SeverityWarning, out.Warnings[0].Severity)
	require.Equal(t, object.StageEmit, out.Warnings[0].Stage)
}

func TestACustomResourceWhoseDefinitionIsRenderedIsDryRun(t *testing.T) {
	files, found := write(t, shop(), dialect.ArgoCD)
	require.Empty(t, found)
	require.NotContains(t, files["01-widget-shop-big.yaml"].Annotations()[syncOptions], "SkipDryRun")
	require.Contains(t, files["01-certificate-shop-cert.yaml"].Annotations()[syncOptions], "SkipDryRunOnMissingResource=true")
}

func TestARuleWithoutLuaLeavesTheOwnHealthOfTheKind(t *testing.T) {
	n := node("a", "Deployment.apps/v1", "shop", ready(
		object.Ready{Type: object.ReadyExists}, object.Ready{Type: object.ReadyCEL, Expr: `status.phase.startsWith("R")`}))
	files, found := write(t, one(n), dialect.ArgoCD)
	require.NotContains(t, only(t, files).Annotations(), dialect.ReadyWhen)
	require.Equal(t, []string{`shop.yaml:2:1: emit: shop/deployment-a: readyWhen[1]: Argo CD cannot express "status.phase.startsWith(\"R\")": column 24: a call of startsWith(); ` +
		`it uses its built-in health of the kind (fields, has(), comparisons, &&, ||, !, ?:, in, size(), exists() and all() become Lua)`}, found)
	require.Nil(t, emit.HealthConfig(one(n)))
	_, found = write(t, one(n), dialect.Flux)
	require.Empty(t, found, "Flux evaluates CEL itself")
}

func TestEveryKindWithARuleIsNamedUntilItsHealthCheckIsThere(t *testing.T) {
	p := planOf([]*object.Node{
		node("b", "Deployment.apps/v1", "shop", celRule("true")), node("a", "Deployment.apps/v1", "shop", celRule("true")),
		node("w", "Widget.example.com/v1", "shop", celRule("true")), node("c", "Issuer.cert-manager.io/v1", "shop", celRule("true")),
		node("s", "SecretStore.external-secrets.io/v1", "shop", celRule("true")), node("p", "Pod/v1", "shop", celRule("true"), apply(object.Apply{Adopt: object.AdoptMirror})),
	})
	out, err := emit.Write(p, emit.Options{Dialect: dialect.ArgoCD})
	require.NoError(t, err)
	found := strings.Join(warnings(out), "\n")
	require.Len(t, out.Warnings, 5)
	require.Contains(t, found, `_Issuer" in the ConfigMap argocd-cm: without it, it uses its built-in health of the kind; `+
		`with it, objects of the kind without readyWhen follow their condition Ready instead of the check of Argo CD`)
	require.Contains(t, found, `_SecretStore" in the ConfigMap argocd-cm: without it, it uses its built-in health of the kind `+
		`(merge what render --argocd-cm FILE writes into argocd-cm, and add --argocd-health once it is there)`)
	require.Contains(t, found, `shop/deployment-a: readyWhen: for kind Deployment.apps Argo CD needs the key "resource.customizations.health.apps_Deployment"`)
	require.Contains(t, found, "it may not wait for the kind at all")
	require.Contains(t, found, "cannot create Pod shop/p without changing it")

	config := decode(t, emit.HealthConfig(p))
	require.Equal(t, []string{
		"resource.customizations.health.apps_Deployment", "resource.customizations.health.cert-manager.io_Issuer",
		"resource.customizations.health.example.com_Widget", "resource.customizations.health.external-secrets.io_SecretStore",
	}, object.SortedKeys(config.Map("data")))
	require.Nil(t, emit.HealthConfig(nil))
}
