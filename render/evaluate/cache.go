// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/json"
	"path"

	"golang.org/x/sync/singleflight"

	"github.com/ropewalk/ropewalk/internal/lru"
)

// moduleCache keeps the modules that were used last, and compiles each once
// however many calls need it at the same time.
type moduleCache struct {
	compiled *lru.Cache[string, *compiled]
	inFlight singleflight.Group
}

func newModuleCache(entries int) *moduleCache {
	if entries <= 0 {
		entries = 64
	}
	return &moduleCache{compiled: lru.New[string, *compiled](int64(entries))}
}

// key identifies what a compiled module depends on. Label and Sources are not
// part of it: they only matter for positions, which are worked out anew for each
// request.
func (m Module) key() string {
	// A map of strings always encodes, with its keys in order.
	tags, _ := json.Marshal(m.Tags)
	return m.Digest + "\x00" + path.Clean("./"+m.Dir) + "\x00" + string(tags)
}

// get is the compiled module of the key of m; build compiles it if it is not
// cached. A module that does not compile is not cached, and neither is one without
// a digest.
func (c *moduleCache) get(m Module, build func() (*compiled, error)) (*compiled, error) {
	if m.Digest == "" {
		return build()
	}
	key := m.key()
	if module, ok := c.compiled.Get(key); ok {
		return module, nil
	}
	v, err, _ := c.inFlight.Do(key, func() (any, error) {
		module, err := build()
		if err == nil {
			c.compiled.Put(key, module, 1)
		}
		return module, err
	})
	module, _ := v.(*compiled)
	return module, err
}
