// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
	store "github.com/ropewalk/ropewalk/source/cache"
)

// about puts the module before an error.
func about(mv module.Version, err error) error {
	return fmt.Errorf("module %q: %w", mv.String(), err)
}

// errDamaged returns the error for the archive of a module that cannot be read.
func errDamaged(mv module.Version, err error) error {
	return source.Refuse(source.ErrDigest, fmt.Sprintf(
		"module %q: its zip is damaged, or was not made by cue mod publish: %s", mv.String(), printable.OneLine(err.Error())))
}

// errNoStore is the error of a Registry without a Store.
var errNoStore = errors.New("there is no cache")

// errOffline returns the error for a module that is not cached.
func errOffline(mv module.Version, err error) error {
	why := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		why = "the cache does not hold it"
	}
	return source.Refuse(errors.Join(source.ErrNotFound, store.ErrOffline), fmt.Sprintf(
		"module %q: offline, and %s: run %q once with the network, or %q to keep it in the project",
		mv.String(), why, "ropewalk lock", "ropewalk vendor"))
}

func errNotInLock(mv module.Version) error {
	return source.Refuse(source.ErrLocked, fmt.Sprintf("module %q: not in ropewalk.lock: run %q", mv.String(), "ropewalk lock"))
}

func errOtherThanLocked(mv module.Version, want, got, origin string) error {
	return source.Refuse(source.ErrLocked, fmt.Sprintf(
		"module %q: %s has the digest %s, and ropewalk.lock says %s: "+
			"a published version must not change, so find out who changed it; if it is meant, run %q",
		mv.String(), origin, got, want, "ropewalk lock"))
}

func errVendoredOtherThanLocked(mv module.Version, want, got string) error {
	return source.Refuse(source.ErrLocked, fmt.Sprintf(
		"module %q: what %s has of it comes from a zip with the digest %s, and ropewalk.lock says %s: "+
			"run %q for what is locked, or %q for what is vendored",
		mv.String(), vendorFolder, got, want, "ropewalk vendor", "ropewalk lock"))
}

// explain names the module, and where it was looked for.
func (r *Registry) explain(ctx, bounded context.Context, mv module.Version, origin string, err error) error {
	name := fmt.Sprintf("module %q at %s", mv.String(), origin)
	switch {
	case ctx.Err() != nil:
		return about(mv, context.Cause(ctx))
	case bounded.Err() != nil:
		return source.Refuse(source.ErrUnavailable, fmt.Sprintf("%s: no complete response within %s: try again", name, r.timeout()))
	case r.Explain != nil:
		return r.Explain(err, name)
	}
	return fmt.Errorf("%s: %w", name, err)
}
