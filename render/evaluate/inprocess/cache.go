// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"encoding/json"
	"path"

	"golang.org/x/sync/singleflight"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// moduleCache keeps the modules that were used last, and compiles each once
// however many calls need it at the same time.
type moduleCache struct {
	loaded   *lru.Cache[string, *loaded]
	inFlight singleflight.Group
}

func newModuleCache(entries int) *moduleCache {
	if entries <= 0 {
		entries = 64
	}
	return &moduleCache{loaded: lru.New[string, *loaded](int64(entries))}
}

// cacheKey identifies what a compiled module depends on. Label and Sources are not
// part of it: they only matter for positions, which are worked out anew for each
// request.
func cacheKey(m evaluate.Module) string {
	// A map of strings always encodes, with its keys in order.
	tags, _ := json.Marshal(m.Tags)
	return m.Digest + "\x00" + path.Clean("./"+m.Dir) + "\x00" + string(tags)
}

// get returns the compiled module of the key of m, and compiles it by build if it is not cached. A
// module that does not compile is not cached, and neither is a module without a digest.
func (c *moduleCache) get(m evaluate.Module, build func() (*loaded, error)) (*loaded, error) {
	if m.Digest == "" {
		return build()
	}
	key := cacheKey(m)
	if module, ok := c.loaded.Get(key); ok {
		return module, nil
	}
	v, err, _ := c.inFlight.Do(key, func() (any, error) {
		// Another call may have put it there since.
		if module, ok := c.loaded.Get(key); ok {
			return module, nil
		}
		module, err := build()
		if err == nil {
			c.loaded.Put(key, module, 1)
		}
		return module, err
	})
	module, _ := v.(*loaded)
	return module, err
}
