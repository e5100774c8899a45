// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// rendered renders the example shop.
func rendered(t *testing.T, dialect emit.Dialect, set ...string) (render.Request, render.Result, evaluate.Evaluator) {
	t.Helper()
	loaded, err := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.Load(t.Context(), host.Options{
		Dir: "../../cue/examples/shop", Set: set, Emit: emit.Options{Dialect: dialect},
	})
	require.NoError(t, err)
	require.Empty(t, loaded.Request.Mistakes)
	evaluator := evaluate.NewInProcess(evaluate.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
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
	for _, dialect := range []emit.Dialect{emit.Plain, emit.ArgoCD, emit.Flux} {
		t.Run(string(dialect), func(t *testing.T) {
			_, result, _ := rendered(t, dialect)
			whole, err := host.RenderSide("render", result)
			require.NoError(t, err)
			require.Len(t, whole.Items, len(result.Plan.Graph.Nodes))
			graph, err := result.Plan.Document().JSON()
			require.NoError(t, err)
			for name, graph := range map[string][]byte{"with the graph": graph, "without": nil} {
				files, err := host.FilesSide("files", filesOf(result), graph)
				require.NoError(t, err)
				report := diff.Compare(files, whole)
				require.Empty(t, report.Changes, name)
				require.Equal(t, len(whole.Items), report.Unchanged)
			}
		})
	}
}

func TestAChangeIsTracedToTheLineOfTheSpec(t *testing.T) {
	_, before, _ := rendered(t, emit.ArgoCD)
	req, after, evaluator := rendered(t, emit.ArgoCD, "storefront:image=docker.io/nginxinc/nginx-unprivileged:9")
	old, err := host.RenderSide("before", before)
	require.NoError(t, err)
	now, err := host.RenderSide("after", after)
	require.NoError(t, err)
	report := diff.Compare(old, now)
	require.NoError(t, host.TraceChanges(t.Context(), evaluator, req.Specs, &report))
	require.NotEmpty(t, report.Changes)
	require.Equal(t, "storefront.yaml", report.Changes[0].Pos.File)
	require.Contains(t, report.Changes[0].Fields[0].From, "storefront:image=docker.io/nginxinc/nginx-unprivileged:9")
}

func TestFilesThatAreNoManifestsAreRefused(t *testing.T) {
	_, err := host.FilesSide("x", fstest.MapFS{"a.yaml": {Data: []byte("a: 1\n")}}, nil)
	require.ErrorContains(t, err, "a.yaml:1:1: no manifest")
	_, err = host.FilesSide("x", fstest.MapFS{}, []byte("nonsense"))
	require.ErrorContains(t, err, "the graph cannot be read")
}
