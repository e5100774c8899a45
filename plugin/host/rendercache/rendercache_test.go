// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/source/cache"
)

// memory is a store of the test's own, which counts.
type memory struct {
	entries    map[string][]byte
	hits, puts int
	err        error
}

func (m *memory) Get(_ context.Context, kind, key string) ([]byte, bool, error) {
	data, ok := m.entries[kind+key]
	if ok {
		m.hits++
	}
	return data, ok, m.err
}

func (m *memory) Put(_ context.Context, kind, key string, data []byte) error {
	if m.entries == nil {
		m.entries = map[string][]byte{}
	}
	m.entries[kind+key] = bytes.Clone(data)
	m.puts++
	return m.err
}

// counting counts renders.
type counting struct {
	next  render.Renderer
	count int
}

func (c *counting) Render(ctx context.Context, req render.Request) (render.Result, error) {
	c.count++
	return c.next.Render(ctx, req)
}

func renderer() *counting {
	return &counting{next: render.Renderer{Evaluator: inprocess.New(inprocess.Options{
		Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()},
	})}}
}

// shop is the request of the example.
func shop(t testing.TB, change func(*host.Options)) render.Request {
	t.Helper()
	opts := host.Options{Args: []string{"."}, Dir: "../../../cue/examples/shop", Emit: emit.Options{Dialect: dialect.ArgoCD}}
	return load(t, opts, change)
}

func load(t testing.TB, opts host.Options, change func(*host.Options)) render.Request {
	t.Helper()
	if change != nil {
		change(&opts)
	}
	loaded, err := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.Load(t.Context(), opts)
	require.NoError(t, err)
	return loaded.Request
}

func TestACachedRenderIsTheRender(t *testing.T) {
	next, front, back := renderer(), &memory{}, &memory{}
	c := rendercache.Cache{Next: next, Stores: []rendercache.Store{front, back}, Version: "v1"}
	dir := t.TempDir()
	spec := `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: app}
spec:
  cueRef:
    type: inline
    ref: |
      package app
      ropewalk: apiVersion: "v1alpha1"
      graph: nodes: config: {
      	object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x"}
      	apply: mode: "Create"
      }
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(spec), 0o600))
	request := func() render.Request {
		return load(t, host.Options{Dir: dir, Emit: emit.Options{Dialect: dialect.ArgoCD}}, nil)
	}
	first, err := c.Render(t.Context(), request())
	require.NoError(t, err)
	require.NotNil(t, first.Plan)
	require.NotEmpty(t, first.Warnings, "the example must show that warnings come back")
	front.entries = nil

	second, err := c.Render(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, 1, next.count)
	require.Equal(t, 1, back.hits)
	require.Len(t, front.entries, 1, "a hit further back is put in front")
	require.Nil(t, second.Plan)
	require.Equal(t, first.Files, second.Files)
	require.Equal(t, first.Layers, second.Layers)
	require.Equal(t, first.Sources, second.Sources)
	require.Equal(t, first.Graph, second.Graph)
	require.Equal(t, first.Warnings.Error(), second.Warnings.Error())
	for i := range first.Warnings {
		require.Equal(t, first.Warnings[i].Severity, second.Warnings[i].Severity)
		require.Equal(t, first.Warnings[i].Notes, second.Warnings[i].Notes)
	}
}

func TestTheKeyIsAllThatARenderDependsOn(t *testing.T) {
	base := rendercache.Key(shop(t, nil), "v1", "")
	require.Equal(t, base, rendercache.Key(shop(t, nil), "v1", ""), "loaded again")
	for name, key := range map[string]string{
		"version":     rendercache.Key(shop(t, nil), "v2", ""),
		"scope":       rendercache.Key(shop(t, nil), "v1", "team-a"),
		"dialect":     rendercache.Key(shop(t, func(o *host.Options) { o.Emit.Dialect = dialect.Flux }), "v1", ""),
		"input":       rendercache.Key(shop(t, func(o *host.Options) { o.Set = []string{"storefront:replicas=7"} }), "v1", ""),
		"context":     rendercache.Key(shop(t, func(o *host.Options) { o.Context.Namespace = "other" }), "v1", ""),
		"schemas off": rendercache.Key(shop(t, func(o *host.Options) { o.SkipSchemas = true }), "v1", ""),
		"module": func() string {
			r := shop(t, nil)
			r.Specs[0].Evaluate.Module.Digest = "sha256:0"
			return rendercache.Key(r, "v1", "")
		}(),
		"tags": func() string {
			r := shop(t, nil)
			r.Specs[0].Evaluate.Module.Tags = map[string]string{"a": "b"}
			return rendercache.Key(r, "v1", "")
		}(),
		"strict": func() string { r := shop(t, nil); r.Strict = true; return rendercache.Key(r, "v1", "") }(),
	} {
		require.NotEqual(t, base, key, name)
	}
	r := shop(t, func(o *host.Options) { o.Limits.Timeout = 5 })
	r.Parallel, r.Progress = 7, func(int, int) {}
	require.Equal(t, base, rendercache.Key(r, "v1", ""), "how it is run makes no difference")
}

func TestAnEntryThatWasAlteredIsAMiss(t *testing.T) {
	for name, alter := range map[string]func([]byte) []byte{
		"cut short":  func(b []byte) []byte { return b[:len(b)-1] },
		"cut early":  func(b []byte) []byte { return b[:4] },
		"empty":      func([]byte) []byte { return nil },
		"longer":     func(b []byte) []byte { return append(b, 'x') },
		"huge start": func(b []byte) []byte { b[0] = 0xff; return b },
		"not JSON":   func(b []byte) []byte { b[8] = 'x'; return b },
	} {
		t.Run(name, func(t *testing.T) {
			next, store := renderer(), &memory{}
			var problems []error
			c := rendercache.Cache{
				Next: next, Stores: []rendercache.Store{store}, Version: "v1",
				Failed: func(err error) { problems = append(problems, err) },
			}
			first, err := c.Render(t.Context(), shop(t, nil))
			require.NoError(t, err)
			for key, data := range store.entries {
				store.entries[key] = alter(data)
			}
			again, err := c.Render(t.Context(), shop(t, nil))
			require.NoError(t, err)
			require.Equal(t, 2, next.count)
			require.Equal(t, first.Files, again.Files)
			require.Len(t, problems, 1)
		})
	}
}

func TestAStoreThatFailsCostsNothingButTime(t *testing.T) {
	store := &memory{err: errors.New("disk on fire")}
	var problems []error
	c := rendercache.Cache{
		Next: renderer(), Stores: []rendercache.Store{store}, Version: "v1", Failed: func(err error) { problems = append(problems, err) },
	}
	_, err := c.Render(t.Context(), shop(t, nil))
	require.NoError(t, err)
	require.Len(t, problems, 2)
}

func TestSecretsAreNotCached(t *testing.T) {
	dir := t.TempDir()
	spec := `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: app}
spec:
  allowSecrets: [token]
  cueRef:
    type: inline
    ref: |
      package app
      secret: {apiVersion: "v1", kind: "Secret", metadata: name: "token", stringData: key: "canary-5b1f"}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(spec), 0o600))
	next, store := renderer(), &memory{}
	c := rendercache.Cache{Next: next, Stores: []rendercache.Store{store}, Version: "v1"}
	for range 2 {
		out, err := c.Render(t.Context(), load(t, host.Options{Dir: dir}, nil))
		require.NoError(t, err)
		require.Contains(t, string(out.Files[0].Data), "canary-5b1f", "the project allows it")
	}
	require.Zero(t, store.puts)
	require.Equal(t, 2, next.count)
}

func TestFailedRendersAreNotCached(t *testing.T) {
	next, store := renderer(), &memory{}
	c := rendercache.Cache{Next: next, Stores: []rendercache.Store{store}, Version: "v1"}
	req := shop(t, func(o *host.Options) { o.Set = []string{"storefront:image=1"} })
	for range 2 {
		_, err := c.Render(t.Context(), req)
		require.Error(t, err)
	}
	require.Zero(t, store.puts)
}

func TestMemoryStandsInFrontOfTheDisk(t *testing.T) {
	disk, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	next := renderer()
	c := rendercache.Cache{Next: next, Version: "v1", Stores: []rendercache.Store{rendercache.MemoryStore{Entries: lru.New[string, []byte](1 << 20)}, disk}}
	first, err := c.Render(t.Context(), shop(t, nil))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(disk.Dir()))
	second, err := c.Render(t.Context(), shop(t, nil))
	require.NoError(t, err)
	require.Equal(t, 1, next.count, "the memory has it still")
	require.Equal(t, first.Files, second.Files)
}

func BenchmarkKey(b *testing.B) {
	req := shop(b, nil)
	for b.Loop() {
		rendercache.Key(req, "v1", "")
	}
}

// BenchmarkCached is a render whose inputs are unchanged, from the disk: it
// promises 5 ms at most.
func BenchmarkCached(b *testing.B) {
	store, err := cache.Open(b.TempDir(), cache.StoreOptions{})
	require.NoError(b, err)
	c := rendercache.Cache{Next: renderer(), Stores: []rendercache.Store{store}, Version: "v1"}
	req := shop(b, nil)
	_, err = c.Render(b.Context(), req)
	require.NoError(b, err)
	for b.Loop() {
		out, err := c.Render(b.Context(), req)
		require.NoError(b, err)
		require.Nil(b, out.Plan)
	}
}

// BenchmarkCachedComponent is a component of plain manifests, from its files to what it was
// rendered to before: 5 ms at most.
func BenchmarkCachedComponent(b *testing.B) {
	files := fstest.MapFS{"shop.yaml": {Data: []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: shop}\nspec: {manifests: {paths: [objects]}}\n")}}
	for i := range 20 {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {a: b}\n", i)
		files[fmt.Sprintf("objects/c%d.yaml", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	c := rendercache.Cache{Next: renderer(), Stores: []rendercache.Store{rendercache.MemoryStore{Entries: lru.New[string, []byte](1 << 24)}}, Version: "v1"}
	render := func() bool {
		loaded, err := host.Host{}.Load(b.Context(), host.Options{FS: files, Args: []string{"shop.yaml"}})
		require.NoError(b, err)
		require.Empty(b, loaded.Request.Mistakes)
		out, err := c.Render(b.Context(), loaded.Request)
		require.NoError(b, err)
		return out.Plan == nil
	}
	render()
	for b.Loop() {
		require.True(b, render())
	}
}
