// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache

import (
	"context"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/source/cache"
)

// kind is that of the entries in a store.
const kind = "render"

// Store keeps bytes by kind and key: the cache.Store of source/cache on disk, or
// [MemoryStore]. The bytes that Get returns must not be changed.
type Store interface {
	Get(ctx context.Context, kind, key string) (data []byte, ok bool, err error)
	Put(ctx context.Context, kind, key string, data []byte) error
}

// MemoryStore is a store in memory, in front of one on disk.
type MemoryStore struct{ Entries *lru.Cache[string, []byte] }

var _ Store = MemoryStore{}

// Get finds an entry.
func (m MemoryStore) Get(_ context.Context, kind, key string) ([]byte, bool, error) {
	data, ok := m.Entries.Get(kind + "/" + key)
	return data, ok, nil
}

// Put keeps an entry until others displace it.
func (m MemoryStore) Put(_ context.Context, kind, key string, data []byte) error {
	m.Entries.Put(kind+"/"+key, data, int64(len(data)))
	return nil
}

var _ Store = (*cache.Store)(nil)

// Renderer renders; render.Renderer does.
type Renderer interface {
	Render(ctx context.Context, req render.Request) (render.Result, error)
}

// Cache is a renderer with a cache of its results. It is safe for concurrent use where
// its renderer and stores are.
type Cache struct {
	Next Renderer
	// Stores are read in this order, and a hit is written to those before it; without
	// any nothing is cached.
	Stores []Store
	// Version identifies the program, whose renders may differ between versions. Where
	// it is "", nothing is cached.
	Version string
	// Scope is the credential scope of the tenant; "" is that of a single user.
	Scope string
	// Failed, where set, is called with the errors of stores.
	Failed func(error)
}

// Outcome is the part of a render that is cached.
type Outcome struct {
	Files    []emit.File
	Layers   []emit.Layer
	Warnings object.Errors
	Sources  []render.Source
	// Graph is the document of the plan, as JSON: see order.Document.
	Graph []byte
	// Plan is nil where the outcome comes from the cache.
	Plan *order.Plan
}

// Render returns the outcome of a request from the cache, or renders it. The errors are
// those of the renderer.
func (c *Cache) Render(ctx context.Context, req render.Request) (Outcome, error) {
	if c.Version == "" || len(c.Stores) == 0 || req.Mistakes.Err() != nil || len(req.Broken) > 0 {
		return c.render(ctx, req)
	}
	key := Key(req, c.Version, c.Scope)
	if key == "" {
		return c.render(ctx, req)
	}
	if out, ok := c.cached(ctx, key); ok {
		return out, nil
	}
	out, err := c.render(ctx, req)
	if err != nil || holdsSecrets(out.Plan) {
		return out, err
	}
	data, err := out.encode()
	if err != nil {
		c.reportFailure(err)
		return out, nil
	}
	c.store(ctx, c.Stores, key, data)
	return out, nil
}

// render renders a request, whatever is cached.
func (c *Cache) render(ctx context.Context, req render.Request) (Outcome, error) {
	result, err := c.Next.Render(ctx, req)
	if err != nil {
		return Outcome{}, err
	}
	graph, err := result.Plan.Document().JSON()
	return Outcome{
		Files: result.Files, Layers: result.Layers, Warnings: result.Warnings, Sources: result.Sources,
		Graph: graph, Plan: result.Plan,
	}, err
}

// cached returns the outcome of an earlier render.
func (c *Cache) cached(ctx context.Context, key string) (Outcome, bool) {
	for i, s := range c.Stores {
		data, ok, err := s.Get(ctx, kind, key)
		c.reportFailure(err)
		if !ok || err != nil {
			continue
		}
		out, err := decode(data)
		if err != nil {
			c.reportFailure(err)
			continue
		}
		c.store(ctx, c.Stores[:i], key, data)
		return out, true
	}
	return Outcome{}, false
}

// store puts an entry into stores.
func (c *Cache) store(ctx context.Context, stores []Store, key string, data []byte) {
	for _, s := range stores {
		c.reportFailure(s.Put(ctx, kind, key, data))
	}
}

// reportFailure passes an error of a store to Failed.
func (c *Cache) reportFailure(err error) {
	if err != nil && c.Failed != nil {
		c.Failed(err)
	}
}

// holdsSecrets reports whether a render has a Secret with data in it, which a project may allow by
// name.
func holdsSecrets(plan *order.Plan) bool {
	for _, n := range plan.Graph.Nodes {
		o := n.Object
		if o.Group() == "" && o.Kind() == "Secret" && (o.Get("data") != nil || o.Get("stringData") != nil) {
			return true
		}
	}
	return false
}
