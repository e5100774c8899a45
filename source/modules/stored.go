// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"fmt"
	"io/fs"

	"cuelang.org/go/mod/module"

	store "github.com/ropewalk/ropewalk/source/cache"
)

// Store keeps bytes by kind and key, and returns what was put or nothing. The Store of source/cache
// also bounds what it keeps.
type Store interface {
	Get(ctx context.Context, kind, key string) (data []byte, ok bool, err error)
	Put(ctx context.Context, kind, key string, data []byte) error
}

var _ Store = (*store.Store)(nil)

// key returns the key of a module in the store. The same module of two registries has two
// keys.
func (r *Registry) key(mv module.Version) string {
	return fmt.Sprintf("%q at %q", mv.String(), r.origin(mv))
}

// readStored reads a module from the store; fs.ErrNotExist if it is not there. An entry that
// cannot be read is fetched again.
func (r *Registry) readStored(ctx context.Context, mv module.Version) (*archive, error) {
	if r.Store == nil {
		return nil, errNoStore
	}
	data, ok, err := r.Store.Get(ctx, store.KindModule, r.key(mv))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fs.ErrNotExist
	}
	return unpack(mv, data, r.Limits)
}

// keep puts a module into the store. The store counts what it cannot keep: a full disk makes
// no render fail.
func (r *Registry) keep(ctx context.Context, a *archive) {
	if r.Store != nil {
		_ = r.Store.Put(ctx, store.KindModule, r.key(a.version), a.zip)
	}
}
