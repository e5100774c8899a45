// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"container/list"
	"encoding/json"
	"path"
	"sync"
)

// moduleCache keeps the modules that were used last, and compiles each once
// however many ask for it at the same time.
type moduleCache struct {
	max int

	mu      sync.Mutex
	entries map[string]*list.Element // of *cacheEntry
	recent  list.List                // the most recent is first
}

type cacheEntry struct {
	key  string
	done chan struct{}
	// module and err are set before done is closed.
	module *compiled
	err    error
}

func newModuleCache(entries int) *moduleCache {
	if entries <= 0 {
		entries = 64
	}
	return &moduleCache{max: entries, entries: map[string]*list.Element{}}
}

// key identifies what a compiled module depends on. Label and Sources are not
// part of it: they only matter for positions, which are worked out anew for each
// request.
func (m Module) key() string {
	// A map of strings always encodes, with its keys in order.
	tags, _ := json.Marshal(m.Tags)
	return m.Digest + "\x00" + path.Clean("./"+m.Dir) + "\x00" + string(tags)
}

// get is the module of that key; build makes it where it is not there. A
// module that does not compile is not kept. A module without a digest is built
// each time.
func (c *moduleCache) get(m Module, build func() (*compiled, error)) (*compiled, error) {
	if m.Digest == "" {
		return build()
	}
	key := m.key()
	c.mu.Lock()
	if el, ok := c.entries[key]; ok {
		c.recent.MoveToFront(el)
		c.mu.Unlock()
		e, _ := el.Value.(*cacheEntry)
		<-e.done
		return e.module, e.err
	}
	e := &cacheEntry{key: key, done: make(chan struct{})}
	el := c.recent.PushFront(e)
	c.entries[key] = el
	c.trim()
	c.mu.Unlock()

	// A panic of build must neither leave others waiting nor the entry behind.
	ok := false
	defer func() {
		if !ok && e.err == nil {
			e.err = errCompilePanicked
		}
		if e.err != nil {
			c.drop(el)
		}
		close(e.done)
	}()
	e.module, e.err = build()
	ok = true
	return e.module, e.err
}

// trim lets go of what was not used for longest. A module that is being
// compiled stays with those that wait for it.
func (c *moduleCache) trim() {
	for c.recent.Len() > c.max {
		el := c.recent.Back()
		e, _ := el.Value.(*cacheEntry)
		delete(c.entries, e.key)
		c.recent.Remove(el)
	}
}

func (c *moduleCache) drop(el *list.Element) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, _ := el.Value.(*cacheEntry)
	if c.entries[e.key] == el {
		delete(c.entries, e.key)
		c.recent.Remove(el)
	}
}
