// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// annotated is a ConfigMap in a file, with annotations as YAML.
func annotated(t testing.TB, file, name, annotations string) diff.Item {
	t.Helper()
	i := item(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", annotations: {"+annotations+"}}\ndata: {key: a}")
	i.At = object.Pos{File: file, Line: 1, Column: 1}
	return i
}

func TestDialectsThatDifferAreNamedAndNotCompared(t *testing.T) {
	bare := item(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {key: a}")
	bare.Wave = 3
	argo := annotated(t, "x.yaml", "x", `argocd.argoproj.io/sync-wave: "1", argocd.argoproj.io/sync-options: Prune=false, ropewalk.dev/ready-when: "[]"`)
	flux := annotated(t, "layer-00/x.yaml", "x", `kustomize.toolkit.fluxcd.io/prune: disabled`)
	flux.Layer = "shop-00"
	watched := annotated(t, "layer-00/y.yaml", "y", `kustomize.toolkit.fluxcd.io/ssa: Ignore`)
	delivers := annotated(t, "flux/kustomization-x.yaml", "z", "")
	delivers.Delivers = true
	for name, c := range map[string]struct {
		before, after diff.Snapshot
		want          *diff.Move
	}{
		"plain and argocd, as renders say it": {
			diff.Snapshot{Dialect: "plain", Items: []diff.Item{bare}}, diff.Snapshot{Dialect: "argocd", Items: []diff.Item{argo}},
			&diff.Move{Before: "plain", After: "argocd"},
		},
		"argocd and flux, as their annotations say it": {
			diff.Snapshot{Items: []diff.Item{argo}}, diff.Snapshot{Items: []diff.Item{flux, watched, delivers}},
			&diff.Move{Before: "argocd", After: "flux"},
		},
		"argocd and something without any wave": {
			diff.Snapshot{Items: []diff.Item{argo}}, diff.Snapshot{Items: []diff.Item{bare}},
			&diff.Move{Before: "argocd", After: string(diff.Unknown)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := compare(c.before, c.after)
			require.Equal(t, c.want, r.Dialects)
			require.Empty(t, r.Changes)
			require.Equal(t, 1, r.Unchanged)
			require.False(t, r.Empty(), "the dialect is a difference")
			require.Contains(t, r.Text(diff.Style{}), "dialects differ: "+c.want.Before+" -> "+c.want.After)
			require.Contains(t, r.Markdown(), "The dialects differ (`"+c.want.Before+"` → `"+c.want.After+"`)")
			data, err := r.JSON()
			require.NoError(t, err)
			require.Contains(t, string(data), `"dialects": {`)
		})
	}
}

func TestWhatIsNoDialectIsCompared(t *testing.T) {
	note := func(text string) diff.Snapshot {
		return diff.Snapshot{Items: []diff.Item{annotated(t, "00-x.yaml", "x", text)}}
	}
	t.Run("an annotation of the author's own is a field as any other", func(t *testing.T) {
		a, b := note(`argocd.argoproj.io/sync-wave: "0", argocd.argoproj.io/hook: PreSync`), note("kustomize.toolkit.fluxcd.io/prune: disabled")
		a.Dialect, b.Dialect = "argocd", "flux"
		require.Equal(t, []string{"changed", `metadata.annotations: {"argocd.argoproj.io/hook":"PreSync"} -> `}, flat(compare(a, b)))
	})
	t.Run("annotations of Flux in files named after waves may be the author's", func(t *testing.T) {
		plain := note("kustomize.toolkit.fluxcd.io/prune: disabled")
		plain.Dialect = "plain"
		require.True(t, compare(note("kustomize.toolkit.fluxcd.io/prune: disabled"), plain).Empty())
	})
	t.Run("what delivers is compared between directories, and left out beside a render", func(t *testing.T) {
		delivers := annotated(t, "flux/kustomization-z.yaml", "z", "")
		delivers.Delivers = true
		files, render := diff.Snapshot{Items: []diff.Item{delivers}}, diff.Snapshot{Rendered: true, Dialect: "flux"}
		require.Equal(t, []string{"created"}, flat(compare(diff.Snapshot{Dialect: "flux"}, files)))
		require.True(t, compare(render, files).Empty())
	})
	t.Run("plain manifests do not tell what is pruned", func(t *testing.T) {
		was, is := item(t, claim("{resources: {requests: {storage: 1Gi}}}")), item(t, claim("{resources: {requests: {storage: 2Gi}}}"))
		is.Kept = true
		after := diff.Snapshot{Dialect: "plain", Rendered: true, Items: []diff.Item{is}}
		for _, name := range []dialect.Name{"plain", ""} {
			require.Zero(t, compare(diff.Snapshot{Dialect: name, Items: []diff.Item{was}}, after).Dangers())
		}
		require.Equal(t, 1, compare(diff.Snapshot{Dialect: "plain", Rendered: true, Items: []diff.Item{was}}, after).Dangers())
	})
}

func TestAnObjectThatASideHoldsTwiceIsAFinding(t *testing.T) {
	first, second := annotated(t, "a.yaml", "x", ""), annotated(t, "b.yaml", "x", "")
	r := compare(diff.Snapshot{Name: "out", Items: []diff.Item{first, second}}, diff.Snapshot{Name: "now", Items: []diff.Item{first}})
	require.Equal(t, []diff.Finding{{Side: "before", Name: "out", Ref: first.Object.Ref(), At: []string{"a.yaml:1:1", "b.yaml:1:1"}}}, r.Findings)
	require.False(t, r.Empty())
	require.Equal(t, `finding: ConfigMap x: out contains it 2 times, at a.yaml:1:1, b.yaml:1:1: the last one is compared, but the engine may apply another

out -> now: 0 changed, 1 unchanged; 1 finding
`, r.Text(diff.Style{}))
	require.Contains(t, r.Markdown(), "> - `ConfigMap x`: out contains it 2 times")
}

func TestLayersOfPackedFoldersAreThoseOfARender(t *testing.T) {
	at := func(layer string) diff.Snapshot {
		i := item(t, claim("{}"))
		i.Layer = layer
		return diff.Snapshot{Items: []diff.Item{i}}
	}
	require.True(t, compare(at("layer-03"), at("shop-03")).Empty())
	require.Equal(t, []string{"moved", "danger handover"}, flat(compare(at("layer-03"), at("shop-02"))))
	require.Equal(t, []string{"moved", "danger handover"}, flat(compare(at("store-03"), at("shop-03"))))
}

// hostile is a change with everything that could steer a terminal or a page.
func hostile(t testing.TB) diff.Report {
	t.Helper()
	const evil = "a|b\n> **x** @all [l](u) www.e.x \\*y\\* </details>\n```\n\x1b[2J\u009b1m\u202e"
	config := func(name, key, value string) diff.Item {
		return diff.Item{Wave: diff.NoWave, At: object.Pos{File: evil}, Layer: value, Object: object.Object{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{key: value},
		}}
	}
	ingress := diff.Item{Wave: diff.NoWave, Object: object.Object{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"rules": []any{map[string]any{"host": evil}}},
	}}
	return compare(
		diff.Snapshot{Name: evil, Dialect: evil, Items: []diff.Item{config(evil, evil, "x"), config(evil, evil, "x")}},
		diff.Snapshot{Name: evil, Items: []diff.Item{config(evil, evil, evil), ingress}})
}

func TestNothingInAReportSteersATerminalOrAPage(t *testing.T) {
	r := hostile(t)
	data, err := r.JSON()
	require.NoError(t, err)
	for name, text := range map[string]string{"text": r.Text(diff.Style{}), "markdown": r.Markdown(), "json": string(data)} {
		for _, code := range []string{"\x1b", "\u009b", "\u202e"} {
			require.NotContains(t, text, code, name)
		}
	}
	outside := true
	for line := range strings.Lines(r.Markdown()) {
		if strings.HasPrefix(line, "```") && !strings.Contains(strings.TrimLeft(line, "`"), "`") {
			outside = !outside
		}
		if strings.HasPrefix(line, "| ") && outside {
			require.Equal(t, 5, strings.Count(line, "|"), "a row has four cells: %s", line)
		}
		if strings.HasPrefix(line, "> - ") && outside {
			_, message, _ := strings.Cut(line, "`: ")
			require.NotContains(t, message, "@all")
			require.NotContains(t, message, "www.")
			require.NotContains(t, message, "</details>")
			require.NotContains(t, strings.ReplaceAll(message, `\*`, ""), "*")
		}
	}
	require.True(t, outside, "every fence is closed")
	require.Equal(t, strings.Count(r.Markdown(), "<details>"), strings.Count(r.Markdown(), "\n</details>\n"))
}

func TestLongValuesAreShownWhereTheyDiffer(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	config := func(value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {key: '" + value + "'}"
	}
	r := one(t, config(long+"old"+long), config(long+"new"+long))
	for _, text := range []string{r.Text(diff.Style{}), r.Markdown()} {
		require.Contains(t, text, "üold")
		require.Contains(t, text, "ünew")
		require.Less(t, len(text), 2000)
	}
}

func TestManyDangersLeaveRoomForTheRest(t *testing.T) {
	var before diff.Snapshot
	for i := range 2000 {
		before.Items = append(before.Items, item(t, strings.Replace(claim("{}"), "name: x", "name: x"+strings.Repeat("y", i%50)+string(rune('a'+i%26))+strings.Repeat("z", i/26), 1)))
	}
	md := compare(before, diff.Snapshot{}).Markdown()
	require.Less(t, len(md), 65_000)
	require.Contains(t, md, "dangers more")
	require.Contains(t, md, "| `-` |")
}
