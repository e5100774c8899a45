// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// deployment is a Deployment of a spec, in a version.
func deployment(name, namespace string, version int) object.Object {
	return object.Object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"app.kubernetes.io/name": name}},
		"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
			"name": "main", "image": fmt.Sprintf("ghcr.io/acme/%s:1.%d.0", name, version),
			"env":       []any{map[string]any{"name": "VERSION", "value": fmt.Sprint(version)}},
			"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}},
		}}}}},
	}
}

// rendered is a side with its objects.
type rendered struct {
	preview.Side
	snapshot diff.Snapshot
}

// side is a render of objects, each of a spec of its own.
func side(objects ...object.Object) *rendered {
	out := rendered{snapshot: diff.Snapshot{Name: "x", Rendered: true}}
	for _, o := range objects {
		spec := o.Name()
		out.snapshot.Items = append(out.snapshot.Items, diff.Item{Object: o, Node: object.MakeID(spec, "object"), Pos: object.Pos{File: "apps/" + spec + ".yaml", Line: 3, Column: 1}})
	}
	out.Side = preview.NewSide(out.snapshot, order.Document{})
	return &out
}

// result compares two sides of an environment.
func result(name string, before, after *rendered) preview.Result {
	changes, _ := diff.Compare(context.Background(), before.snapshot, after.snapshot)
	return preview.Result{Project: "shop", Path: "apps/shop", Name: name, Before: &before.Side, After: &after.Side, Changes: changes}
}

// many is a report in which n Deployments change in each of some environments.
func many(n int, environments ...string) preview.Report {
	var results []preview.Result
	for _, e := range environments {
		var before, after []object.Object
		for i := range n {
			name := fmt.Sprintf("service-%04d", i)
			before, after = append(before, deployment(name, e, 1)), append(after, deployment(name, e, 2))
		}
		results = append(results, result(e, side(before...), side(after...)))
	}
	return preview.Gather("v1", preview.Revision{Name: "main", Commit: "0123456789abcdef"}, preview.Revision{Name: "the working tree"}, results)
}

// dataOf is the data of a page.
func dataOf(t testing.TB, page []byte) (out struct {
	Objects []struct {
		Name     string
		Variants []struct {
			Fields   []struct{ Path, Before, After string }
			Manifest string
			Cut      string
		}
	}
	Left struct{ Objects, Pictures int }
}) {
	t.Helper()
	_, rest, found := bytes.Cut(page, []byte(`<script type="application/json" id="data">`))
	require.True(t, found)
	data, _, _ := bytes.Cut(rest, []byte("</script>"))
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

// BenchmarkPage promises to write the page of 5,000 changes in 2 s, with at most 5 MB.
func BenchmarkPage(b *testing.B) {
	report := many(5000, "prod")
	var page []byte
	for b.Loop() {
		var err error
		page, err = report.Page(preview.Links{})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(page))/1e6, "MB")
	require.Less(b, len(page), 5_000_000)
}

func TestAPageHasAllThatThereIsRoomFor(t *testing.T) {
	page, err := many(5000, "prod").Page(preview.Links{})
	require.NoError(t, err)
	require.Less(t, len(page), 5_000_000)
	data := dataOf(t, page)
	require.Len(t, data.Objects, 5000)
	for _, o := range data.Objects {
		require.Empty(t, o.Variants[0].Cut)
		require.Len(t, o.Variants[0].Fields, 2)
	}

	page, err = many(16_000, "prod").Page(preview.Links{})
	require.NoError(t, err)
	require.Less(t, len(page), 5_000_000)
	data = dataOf(t, page)
	require.Equal(t, 16_000, len(data.Objects)+data.Left.Objects)
	require.Positive(t, data.Left.Objects)
	require.Equal(t, "fields", data.Objects[0].Variants[0].Cut)
}

func TestLongValuesAreCut(t *testing.T) {
	before, after := deployment("web", "a", 1), deployment("web", "a", 1)
	after["data"] = strings.Repeat("ä", 20_000)
	page, err := preview.Gather("v1", preview.Revision{}, preview.Revision{}, []preview.Result{result("prod", side(before), side(after))}).Page(preview.Links{})
	require.NoError(t, err)
	require.Less(t, len(page), 100_000)
	require.Contains(t, dataOf(t, page).Objects[0].Variants[0].Fields[0].After, "bytes more")
}

func TestObjectsThatChangeAlikeAreOne(t *testing.T) {
	r := many(2, "dev", "staging", "prod")
	require.Len(t, r.Objects, 2)
	require.Len(t, r.Objects[0].Variants, 1)
	require.Equal(t, []int{0, 1, 2}, r.Objects[0].Variants[0].Environments)
	require.Equal(t, []string{"dev", "prod", "staging"}, r.Objects[0].Variants[0].Namespaces)
	require.Equal(t, "Deployment.apps service-0000", r.Objects[0].Variants[0].Title())
	require.Equal(t, "Against main, the working tree changes 2 objects in dev, prod and staging of shop.", r.Summary)
}
