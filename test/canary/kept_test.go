// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	ocilayout "github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/source/cache"
)

// TestWhatIsKeptAndPublishedHoldsNoCanary puts renders into the cache of renders
// and into an image layout, with all that is attached, and reads every byte.
func TestWhatIsKeptAndPublishedHoldsNoCanary(t *testing.T) {
	t.Parallel()
	e := evaluator()
	all := surveyed(t, e)
	l := newLeaks()
	for seed := range uint64(2) {
		p := newGenerator(seed, all).project(seed, batch)
		files, err := p.yaml()
		require.NoError(t, err)
		dir, kept, layout := t.TempDir(), t.TempDir(), t.TempDir()
		write(t, dir, files)
		write(t, dir, map[string]string{"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: " + password + "}\n", ".env": password})
		loaded, err := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.Load(t.Context(), host.Options{
			Dir: dir, Root: ".", Emit: emit.Options{Dialect: dialect.Name(p.dialect)}, SkipSchemas: true,
		})
		require.NoError(t, err)
		// A request with warnings is not remembered.
		require.NoError(t, loaded.Request.Mistakes.Err())
		loaded.Request.Mistakes = nil
		store, err := cache.Open(kept, cache.StoreOptions{})
		require.NoError(t, err)
		c := rendercache.Cache{Next: render.Renderer{Evaluator: e}, Stores: []rendercache.Store{store}, Version: "test", Failed: func(err error) { require.NoError(t, err) }}
		out, err := c.Render(t.Context(), loaded.Request)
		require.NoError(t, err)
		again, err := c.Render(t.Context(), loaded.Request)
		require.NoError(t, err)
		require.Nil(t, again.Plan, "the second one is remembered")
		require.Equal(t, out.Files, again.Files)

		set, err := publishing.Pack(out.Files, out.Layers, artifact.Options{})
		require.NoError(t, err)
		to, err := ocilayout.Open(layout, true)
		require.NoError(t, err)
		_, err = publishing.Publication{
			Set: set, Graph: out.Graph, Build: publishing.BuildOf(loaded, out.Sources, "test"), Images: publishing.Images(out.Plan.Graph.Nodes),
		}.Publish(t.Context(), to, []string{"v1"})
		require.NoError(t, err)
		require.NoError(t, to.Close())
		for _, dir := range []string{kept, layout} {
			checkTree(t, l, dir)
		}
	}
}

// checkTree wants no canary in any file below a folder, nor in its name, and that
// there are some files.
func checkTree(t *testing.T, l leaks, dir string) {
	t.Helper()
	files := 0
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		l.Require(t, name, data)
		l.Require(t, "a name", []byte(name))
		files++
		return err
	}))
	require.Positive(t, files, "nothing was written")
}
