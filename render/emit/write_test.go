// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	yaml3 "go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

func decode(t testing.TB, data []byte) object.Object {
	t.Helper()
	var m map[string]any
	require.NoError(t, yaml3.Unmarshal(data, &m), "%s", data)
	o, _ := widen(m).(map[string]any)
	return o
}

func dialects() []emit.Options {
	return []emit.Options{
		{Name: "shop"}, {Dialect: dialect.ArgoCD, Name: "shop"}, {Dialect: dialect.Flux, Name: "shop"},
		{Dialect: dialect.Flux, Name: "shop", Repository: "oci://registry.example/team/shop", Reference: "1.2.3", Interval: 5 * time.Minute},
	}
}

func TestEveryDialectHasAWriter(t *testing.T) {
	names := dialect.Names()
	for i, d := range dialect.All() {
		require.Equal(t, string(d.Name), names[i])
		found, err := dialect.Find(d.Name)
		require.NoError(t, err)
		require.Equal(t, d, found)
		_, err = emit.Write(shop(), emit.Options{Dialect: d.Name, Name: "shop"})
		require.NoError(t, err)
	}
	require.Len(t, dialect.All(), len(names))
	_, err := dialect.Find("helm")
	require.EqualError(t, err, `unknown dialect "helm": expected plain, argocd or flux`)
	zero, err := dialect.Find("")
	require.NoError(t, err)
	require.Equal(t, dialect.Plain, zero.Name)
}

func TestTheShopIsWrittenAsTheGoldensSay(t *testing.T) {
	for i, opts := range dialects() {
		out, err := emit.Write(shop(), opts)
		require.NoError(t, err)
		var b bytes.Buffer
		for _, f := range out.Files {
			fmt.Fprintf(&b, "-- %s --\n%s", f.Path, f.Data)
		}
		fmt.Fprintf(&b, "-- warnings --\n%s\n", strings.Join(warnings(out), "\n"))
		golden(t, []string{"shop-plain.txt", "shop-argocd.txt", "shop-flux.txt", "shop-flux-repository.txt"}[i], b.Bytes())
	}
	golden(t, "shop-argocd-cm.yaml", emit.HealthConfig(shop()))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "%s: regenerate with ROPEWALK_UPDATE=1", path)
}

func TestShuffledNodesGiveTheSameBytes(t *testing.T) {
	for _, opts := range dialects() {
		want, err := emit.Write(shop(), opts)
		require.NoError(t, err)
		for seed := range uint64(5) {
			got, err := emit.Write(shuffled(shop(), seed), opts)
			require.NoError(t, err)
			require.Equal(t, byPath(want), byPath(got))
			require.Equal(t, warnings(want), warnings(got))
			require.Equal(t, want.Layers, got.Layers)
		}
		require.Equal(t, emit.HealthConfig(shop()), emit.HealthConfig(shuffled(shop(), 3)))
	}
}

func byPath(out emit.Output) map[string]string {
	files := map[string]string{}
	for _, f := range out.Files {
		files[f.Path] = string(f.Data)
	}
	return files
}

func TestThePlanIsLeftAsItIs(t *testing.T) {
	for _, opts := range dialects() {
		p := shop()
		p.Waves[0].Nodes[0].Object.Annotate("kept", "yes")
		var want []object.Object
		for _, n := range p.Graph.Nodes {
			want = append(want, n.Object.Clone())
		}
		_, err := emit.Write(p, opts)
		require.NoError(t, err)
		for i, n := range p.Graph.Nodes {
			require.Equal(t, want[i], n.Object)
		}
	}
}

func TestFilesComeWaveByWaveAndHoldManifestsOnly(t *testing.T) {
	for _, opts := range dialects()[:3] {
		out, err := emit.Write(shop(), opts)
		require.NoError(t, err)
		require.True(t, slices.IsSortedFunc(out.Files, func(a, b emit.File) int { return a.Wave - b.Wave }))
		for _, f := range out.Files {
			require.NotEmpty(t, f.Node)
			require.NotContains(t, f.Path, "kustomization.yaml")
			if opts.Dialect != dialect.Flux {
				require.NotContains(t, f.Path, "/", "Argo CD reads no sub-folders")
			}
		}
	}
}

func paths(t *testing.T, nodes ...*object.Node) []string {
	t.Helper()
	out, err := emit.Write(planOf(nodes), emit.Options{})
	require.NoError(t, err)
	var list []string
	seen := map[string]bool{}
	for _, f := range out.Files {
		list = append(list, f.Path)
		require.False(t, seen[strings.ToLower(f.Path)], "%s twice", f.Path)
		require.LessOrEqual(t, len(f.Path), 200)
		seen[strings.ToLower(f.Path)] = true
	}
	return list
}

func TestFileNamesSayWaveKindNamespaceAndName(t *testing.T) {
	require.Equal(t, []string{"00-configmap-shop-a.yaml", "00-namespace-shop.yaml", "00-clusterrole-system-auth.yaml"},
		paths(t, node("a", "ConfigMap/v1", "shop"), node("shop", "Namespace/v1", ""), node("system:auth", "ClusterRole.rbac.authorization.k8s.io/v1", "")))

	waves := make([][]*object.Node, 101)
	for i := range waves {
		waves[i] = []*object.Node{node(fmt.Sprint("n", i), "ConfigMap/v1", "")}
	}
	out, err := emit.Write(planOf(waves...), emit.Options{Dialect: dialect.Flux})
	require.NoError(t, err)
	require.Equal(t, "layer-007/007-configmap-n7.yaml", out.Files[7].Path)
	require.Equal(t, emit.Layer{Name: "ropewalk-100", Dir: "layer-100", Waves: []int{100}}, out.Layers[100])
}

func TestFileNamesThatMeetAreParted(t *testing.T) {
	first, second := node("web", "Ingress.networking.k8s.io/v1", "shop"), node("web", "Ingress.example.com/v1", "shop")
	second.ID = "shop/other"
	want := []string{"00-ingress.networking.k8s.io-shop-web.yaml", "00-ingress.example.com-shop-web.yaml"}
	require.Equal(t, want, paths(t, first, second))
	slices.Reverse(want)
	require.Equal(t, want, paths(t, second, first))

	upper, lower := node("Admin", "ClusterRole.rbac.authorization.k8s.io/v1", ""), node("admin", "ClusterRole.rbac.authorization.k8s.io/v1", "")
	got := paths(t, upper, lower)
	require.Regexp(t, `^00-clusterrole\.rbac\.authorization\.k8s\.io-admin-[0-9a-f]{10}\.yaml$`, got[0])
	require.NotEqual(t, got[0], got[1])

	require.Len(t, paths(t, node("c", "ConfigMap/v1", "a-b"), node("b-c", "ConfigMap/v1", "a")), 2)

	long := strings.Repeat("n", 253)
	got = paths(t, node(long+"1", "ConfigMap/v1", "shop"), node(long+"2", "ConfigMap/v1", "shop"))
	require.Len(t, got[0], 200)
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	_, err := emit.Write(nil, emit.Options{})
	require.EqualError(t, err, "emit: there is no plan to write")
	_, err = emit.Write(shop(), emit.Options{Dialect: "helm"})
	require.EqualError(t, err, `emit: unknown dialect "helm": expected plain, argocd or flux`)
	_, err = emit.Write(shop(), emit.Options{Dialect: dialect.Flux, Repository: "registry.example/shop"})
	require.ErrorContains(t, err, "expected a reference such as oci://")
	_, err = emit.Write(shop(), emit.Options{Dialect: dialect.Flux, Repository: "oci://r.example/shop", Interval: time.Millisecond})
	require.ErrorContains(t, err, "too short")
}

func TestARuleThatIsWrongInItselfIsAnErrorInEveryDialect(t *testing.T) {
	for want, rule := range map[string]object.Ready{
		"is not valid CEL: column 12":     {Type: object.ReadyCEL, Expr: "status.a =="},
		"CEL has no expr":                 {Type: object.ReadyCEL},
		"ConditionMatch has no":           {Type: object.ReadyConditionMatch},
		"is for a Deployment":             {Type: object.ReadyDeploymentAvailable},
		"unknown readiness type \"Soon\"": {Type: "Soon"},
	} {
		for _, opts := range dialects() {
			rule.Pos = object.Pos{File: "module.cue", Line: 9, Column: 5}
			_, err := emit.Write(one(node("a", "StatefulSet.apps/v1", "shop", ready(rule))), opts)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "emit: shop/statefulset-a: readyWhen[0]: ")
			found := object.AsErrors(err, "")
			require.Len(t, found, 1)
			// A mistake in an expression is one of the module.
			at, note := found[0].Pos, found[0].Notes[0].Pos
			if rule.Type == object.ReadyCEL {
				at, note = note, at
			}
			require.Equal(t, "shop.yaml:2:1", at.String())
			require.Equal(t, rule.Pos, note)
		}
	}
}

func TestAMistakeInAnExpressionIsAtItsCharacter(t *testing.T) {
	at := object.Pos{File: "module.cue", Line: 9, Column: 5}
	for expr, c := range map[string]struct {
		column int
		want   string
	}{
		`status.a = "é"`:           {at.Column + 9, `"status.a = \"é\"" is not valid CEL: column 10: token recognition error at: '= '`},
		`status.é == 1`:            {at.Column + 7, `"status.é == 1" is not valid CEL: column 8: token recognition error at: 'é'`},
		"status.a == 1 &&\n& true": {at.Column, `"& true" is not valid CEL: line 2, column 1: token recognition error at: '& '`},
		strings.Repeat("status.a == 1 && ", 100): {
			at.Column + 1700, `"… 1 && status.a == 1 && status.a == 1 && " is not valid CEL: column 1701: the expression is not complete`,
		},
	} {
		rule := object.Ready{Type: object.ReadyCEL, Expr: expr, Pos: at, ExprPos: at}
		_, err := emit.Write(one(node("a", "StatefulSet.apps/v1", "shop", ready(rule))), emit.Options{})
		found := object.AsErrors(err, "")
		require.Len(t, found, 1)
		require.Equal(t, object.Pos{File: at.File, Line: at.Line, Column: c.column}, found[0].Pos, expr)
		require.EqualError(t, found[0].Err, c.want)
	}
}

func FuzzFileNamesAreSafeAndUnique(f *testing.F) {
	f.Add("ConfigMap", "shop", "a", "a")
	f.Add("../Kind", "..", "/etc/passwd", "ETC\\passwd")
	f.Fuzz(func(t *testing.T, kind, namespace, a, b string) {
		first, second := node(a, "X/v1", namespace), node(b, "X/v1", namespace)
		first.Object["kind"], second.Object["kind"] = kind, kind
		first.ID, second.ID = "s/first", "s/second"
		for _, path := range paths(t, first, second) {
			require.Regexp(t, `^00-[a-z0-9._-]*\.yaml$`, path)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, opts := range dialects() {
		for _, n := range []int{10, 100, 1000} {
			var waves [][]*object.Node
			for i := range n {
				if i%(n/5) == 0 {
					waves = append(waves, nil)
				}
				o := deployment(i)
				waves[len(waves)-1] = append(waves[len(waves)-1], &object.Node{ID: object.MakeID("shop", o.Name()), Object: o,
					ReadyWhen: []object.Ready{{Type: object.ReadyDeploymentAvailable}}})
			}
			p := planOf(waves...)
			b.Run(fmt.Sprintf("%s%.3s/%d", opts.Dialect, opts.Repository, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := emit.Write(p, opts); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
