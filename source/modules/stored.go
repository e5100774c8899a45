// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"fmt"
	"io/fs"

	"cuelang.org/go/mod/module"

	store "github.com/ropewalk/ropewalk/source/cache"

	"github.com/ropewalk/ropewalk/source"
)

// Store keeps bytes by kind and key, and gives back what was put or nothing; that of
// source/cache does, and bounds what it keeps.
type Store interface {
	Get(ctx context.Context, kind, key string) (data []byte, ok bool, err error)
	Put(ctx context.Context, kind, key string, data []byte) error
}

var _ Store = (*store.Store)(nil)

// keeper is where modules are kept: the folder of the cue command, or a Store.
type keeper interface {
	// get is a module; fs.ErrNotExist where it is not there.
	get(ctx context.Context, mv module.Version) (*archive, error)
	put(ctx context.Context, a *archive) error
	// name is what errors call it; "" where there is none.
	name() string
}

// stored is modules in a Store.
type stored struct {
	store  Store
	origin func(mv module.Version) string
	limits source.Limits
}

var _ keeper = stored{}

// key parts the same module of two registries, which the folder of the cue command
// does not.
func (s stored) key(mv module.Version) string {
	return fmt.Sprintf("%q at %q", mv.String(), s.origin(mv))
}

func (s stored) get(ctx context.Context, mv module.Version) (*archive, error) {
	data, ok, err := s.store.Get(ctx, store.KindModule, s.key(mv))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fs.ErrNotExist
	}
	return unpack(mv, data, s.limits)
}

// put leaves what the store cannot keep to the store, which counts it: a full disk
// fails no render.
func (s stored) put(ctx context.Context, a *archive) error {
	_ = s.store.Put(ctx, store.KindModule, s.key(a.version), a.zip)
	return nil
}

func (stored) name() string { return "the cache" }
