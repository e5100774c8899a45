// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// rendered renders the example shop.
func rendered(t *testing.T, name dialect.Name, set ...string) (render.Request, render.Result, evaluate.Evaluator) {
	t.Helper()
	loaded, err := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.Load(t.Context(), host.Options{
		Dir: "../../../cue/examples/shop", Set: set, Emit: emit.Options{Dialect: name},
	})
	require.NoError(t, err)
	require.Empty(t, loaded.Request.Mistakes)
	evaluator := inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
	result, err := render.Renderer{Evaluator: evaluator}.Render(t.Context(), loaded.Request)
	require.NoError(t, err)
	return loaded.Request, result, evaluator
}

// filesOf is a render as a file system.
func filesOf(r render.Result) fs.FS {
	out := fstest.MapFS{}
	for _, f := range r.Files {
		out[f.Path] = &fstest.MapFile{Data: f.Data}
	}
	return out
}

func TestARenderIsTheSameAsItsFiles(t *testing.T) {
	for _, name := range []dialect.Name{dialect.Plain, dialect.ArgoCD, dialect.Flux} {
		t.Run(string(name), func(t *testing.T) {
			_, result, _ := rendered(t, name)
			whole, err := snapshot.OfRender(t.Context(), "render", result, nil)
			require.NoError(t, err)
			require.Len(t, whole.Items, len(result.Plan.Graph.Nodes))
			graph, err := result.Plan.Document().JSON()
			require.NoError(t, err)
			for name, graph := range map[string][]byte{"with the graph": graph, "without": nil} {
				files, err := snapshot.OfFiles(t.Context(), "files", filesOf(result), graph)
				require.NoError(t, err)
				report, err := diff.Compare(t.Context(), files, whole)
				require.NoError(t, err)
				require.Empty(t, report.Changes, name)
				require.Equal(t, len(whole.Items), report.Unchanged)
			}
		})
	}
}

func TestTheSameProjectInTwoDialectsHasTheSameObjects(t *testing.T) {
	dialects := []dialect.Name{dialect.Plain, dialect.ArgoCD, dialect.Flux}
	sides := func(name dialect.Name) map[string]diff.Snapshot {
		_, result, _ := rendered(t, name)
		whole, err := snapshot.OfRender(t.Context(), "render", result, nil)
		require.NoError(t, err)
		graph, err := result.Plan.Document().JSON()
		require.NoError(t, err)
		files, err := snapshot.OfFiles(t.Context(), "files with their graph", filesOf(result), graph)
		require.NoError(t, err)
		bare, err := snapshot.OfFiles(t.Context(), "files", filesOf(result), nil)
		require.NoError(t, err)
		return map[string]diff.Snapshot{"render": whole, "graph": files, "files": bare}
	}
	for _, a := range dialects {
		for _, b := range dialects {
			if a == b {
				continue
			}
			for was, before := range sides(a) {
				for is, after := range sides(b) {
					if was == "files" && a == dialect.Plain || is == "files" && b == dialect.Plain {
						continue // Nothing in them tells that they are plain.
					}
					r, err := diff.Compare(t.Context(), before, after)
					require.NoError(t, err)
					require.Equal(t, &diff.Move{Before: string(a), After: string(b)}, r.Dialects, "%s and %s", was, is)
					require.Empty(t, r.Changes, "%s %s and %s %s", a, was, b, is)
				}
			}
		}
	}
}

func TestWhatDeliversIsNoObjectOfTheProject(t *testing.T) {
	files := fstest.MapFS{
		"flux/kustomization-shop-00.yaml": {Data: []byte("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop-00}\n")},
		"flux/mine.yaml":                  {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n")},
		"layer-00/mine.yaml":              {Data: []byte("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: other}\n")},
	}
	snap, err := snapshot.OfFiles(t.Context(), "x", files, nil)
	require.NoError(t, err)
	var delivers []string
	for _, i := range snap.Items {
		if i.Delivers {
			delivers = append(delivers, i.At.String())
		}
	}
	require.Equal(t, []string{"flux/kustomization-shop-00.yaml:1:1"}, delivers)
}

func TestAFileOfARenderHoldsOneDocument(t *testing.T) {
	_, result, _ := rendered(t, dialect.Plain)
	first := result.Files[0]
	for _, data := range []string{"", string(first.Data) + "---\n" + string(first.Data)} {
		result.Files[0].Data = []byte(data)
		_, err := snapshot.OfRender(t.Context(), "render", result, nil)
		require.ErrorContains(t, err, first.Path+": expected one document, the object of node "+string(first.Node))
	}
}

func TestAChangeIsTracedToTheLineOfTheSpec(t *testing.T) {
	_, before, _ := rendered(t, dialect.ArgoCD)
	req, after, evaluator := rendered(t, dialect.ArgoCD, "storefront:image=docker.io/nginxinc/nginx-unprivileged:9")
	old, err := snapshot.OfRender(t.Context(), "before", before, nil)
	require.NoError(t, err)
	now, err := snapshot.OfRender(t.Context(), "after", after, nil)
	require.NoError(t, err)
	report, err := diff.Compare(t.Context(), old, now)
	require.NoError(t, err)
	require.NoError(t, snapshot.Trace(t.Context(), evaluator, req, &report))
	require.NotEmpty(t, report.Changes)
	require.Equal(t, "storefront.yaml", report.Changes[0].Pos.File)
	require.Contains(t, report.Changes[0].Fields[0].From, "storefront:image")
}

func TestFilesThatAreNoManifestsAreRefused(t *testing.T) {
	_, err := snapshot.OfFiles(t.Context(), "x", fstest.MapFS{"a.yaml": {Data: []byte("a: 1\n")}}, nil)
	require.ErrorContains(t, err, "a.yaml:1:1: not a manifest")
	_, err = snapshot.OfFiles(t.Context(), "x", fstest.MapFS{"a.yaml": {Data: []byte("apiVersion: v1\nkind: List\nitems: [{kind: X}]\n")}}, nil)
	require.ErrorContains(t, err, "a.yaml:1:1: not a manifest")
	_, err = snapshot.OfFiles(t.Context(), "x", fstest.MapFS{"a.yaml": {Mode: fs.ModeNamedPipe}}, nil)
	require.ErrorContains(t, err, "a.yaml: not a regular file")
	_, err = snapshot.OfFiles(t.Context(), "x", fstest.MapFS{}, []byte("nonsense"))
	require.ErrorContains(t, err, "the graph cannot be read")
}
