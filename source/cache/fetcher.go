// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache/flight"
)

// DefaultTTL is the default of Fetcher.TTL.
const DefaultTTL = 5 * time.Minute

// Fetcher is a resolver that caches what another one returns. Concurrent fetches of
// the same thing are done once. It must not be copied after first use.
type Fetcher struct {
	// Next gets what is not cached.
	Next source.Resolver
	// Store keeps trees and resolutions on disk; nil disables caching.
	Store *Store
	// TTL limits the time for which the resolution of a mutable reference without a Secret is
	// trusted; [DefaultTTL] if zero, not at all if negative.
	TTL time.Duration
	// Scope names whose credentials Next uses, such as a namespace and a service
	// account. It separates the entries of tenants.
	Scope string
	// Offline never asks Next, and trusts resolutions of any age.
	Offline bool
	// Limits bound trees from the store. Next has its own limits.
	Limits source.Limits
	// Keys returns a digest of the keys in a Secret that signatures are verified with,
	// so that a tree that was verified with other keys is a miss; see [KeysOf]. If it
	// is nil, the name of the Secret counts alone.
	Keys func(ctx context.Context, secret string) (string, error)
	// Report receives the errors of the store, which fail no fetch; nil ignores them.
	Report func(error)

	resolves flight.Group[source.Resolved]
	fetches  flight.Group[source.Tree]
	checks   flight.Group[struct{}]
}

var _ source.Resolver = (*Fetcher)(nil)

// Checker asks a server whether a reference may be fetched with its Secret, without fetching it.
// Next of a Fetcher should be a Checker: otherwise a reference with a Secret is fetched every time.
type Checker interface {
	Check(ctx context.Context, ref source.Ref) error
}

// resolution is the target of a reference at a time.
type resolution struct {
	Ref       source.Ref `json:"ref"`
	Revision  string     `json:"revision"`
	Immutable bool       `json:"immutable"`
	At        time.Time  `json:"at"`
}

// Fetch gets the tree of a reference from the store, or from Next. Errors are ErrOffline and the
// errors of Next.
func (f *Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if f.bypasses(ref) {
		return f.Next.Fetch(ctx, ref)
	}
	key, err := f.key(ctx, ref)
	if err != nil {
		return source.Tree{}, err
	}
	// Only what is immutable has a pointer under its own key.
	if tree, ok, err := f.findAllowed(ctx, ref, key); ok || err != nil {
		return tree, err
	}

	// A mutable reference is resolved, unless its last resolution is still trusted.
	cached, fresh := f.lookUpTrusted(ctx, ref, key)
	if !fresh {
		cached, err = f.resolveNext(ctx, ref, key, cached)
		if err != nil {
			return source.Tree{}, err
		}
	}

	// The target of a cached resolution may be gone, as after a forced push.
	tree, err := f.follow(ctx, ref, key, cached)
	if fresh && !f.Offline && errors.Is(err, source.ErrNotFound) {
		cached, err = f.resolveNext(ctx, ref, key, cached)
		if err == nil {
			tree, err = f.follow(ctx, ref, key, cached)
		}
	}
	return tree, err
}

// Resolve returns where a reference leads: from the store where that is fresh enough, or from
// Next.
func (f *Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	if f.bypasses(ref) {
		return f.Next.Resolve(ctx, ref)
	}
	key, err := f.key(ctx, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	cached, fresh := f.lookUpTrusted(ctx, ref, key)
	if !fresh {
		cached, err = f.resolveNext(ctx, ref, key, cached)
	}
	return source.Resolved{Ref: cached.Ref, Revision: cached.Revision, Immutable: cached.Immutable}, err
}

// bypasses reports whether a reference bypasses the store: one with credentials in it must
// not be written to a file. Next refuses it.
func (f *Fetcher) bypasses(ref source.Ref) bool {
	return !f.Offline && scrub(ref.Ref) != ref.Ref
}

// lookUp returns the cached resolution of a reference; its time is zero if there is no such entry.
// Fresh reports whether it may be used.
func (f *Fetcher) lookUp(ctx context.Context, key string) (r resolution, fresh bool) {
	if f.Store == nil {
		return r, false
	}
	if ok, err := f.Store.readRecord(ctx, KindResolution, key, &r); !ok {
		f.report(err)
		return resolution{}, false
	}
	ttl := f.TTL
	if ttl == 0 {
		ttl = DefaultTTL
	}
	age := f.Store.now().Sub(r.At)
	isYoung := age >= 0 && age < ttl
	return r, r.Immutable || f.Offline || isYoung
}

// lookUpTrusted works as lookUp does, except that the resolution of a reference with a Secret
// is never fresh: the server has to accept its credentials.
func (f *Fetcher) lookUpTrusted(ctx context.Context, ref source.Ref, key string) (r resolution, fresh bool) {
	r, fresh = f.lookUp(ctx, key)
	return r, fresh && !f.needsProof(ref)
}

// needsProof reports whether the credentials of a reference must be shown to its server, also
// for what is in the store.
func (f *Fetcher) needsProof(ref source.Ref) bool { return ref.Secret != "" && !f.Offline }

// findAllowed returns the stored tree if the server would still serve it with the Secret of
// the reference. Concurrent callers share one request: their Secret is the same.
func (f *Fetcher) findAllowed(ctx context.Context, ref source.Ref, key string) (source.Tree, bool, error) {
	tree, ok, err := f.findStored(ctx, ref, key)
	if !ok || err != nil || !f.needsProof(ref) {
		return tree, ok, err
	}
	checker, able := f.Next.(Checker)
	if !able {
		return source.Tree{}, false, nil
	}
	_, _, err = f.checks.Do(ctx, key, func(ctx context.Context) (struct{}, error) { return struct{}{}, checker.Check(ctx, ref) }, nil)
	if errors.Is(err, source.ErrUnavailable) {
		err = fmt.Errorf("%w; it is cached, but the server cannot confirm access for the Secret %q: --offline uses the cache", err, ref.Secret)
	}
	if err != nil {
		return source.Tree{}, false, err
	}
	return tree, true, nil
}

// resolveNext resolves a reference by Next, and caches the answer.
func (f *Fetcher) resolveNext(ctx context.Context, ref source.Ref, key string, old resolution) (resolution, error) {
	if f.Offline {
		return f.findPinned(ctx, ref, key)
	}
	resolved, _, err := f.resolves.Do(ctx, key, func(ctx context.Context) (source.Resolved, error) {
		// Another flight may have ended since this caller read the store.
		if now, fresh := f.lookUpTrusted(ctx, ref, key); fresh && now.At.After(old.At) {
			return source.Resolved{Ref: now.Ref, Revision: now.Revision, Immutable: now.Immutable}, nil
		}

		// A reference that is its own resolution needs no entry.
		resolved, err := f.Next.Resolve(ctx, ref)
		needsEntry := !resolved.Immutable || resolved.Ref != ref
		if err == nil && f.Store != nil && needsEntry {
			f.report(f.Store.putRecord(ctx, KindResolution, key, resolution{
				Ref: resolved.Ref, Revision: resolved.Revision, Immutable: resolved.Immutable, At: f.Store.now(),
			}))
		}
		return resolved, err
	}, nil)
	if errors.Is(err, source.ErrUnavailable) && !old.At.IsZero() {
		age := f.Store.now().Sub(old.At).Round(time.Second)
		return resolution{}, fmt.Errorf("%w; the cached resolution of %q is %s old (%s): --offline uses it",
			err, scrub(ref.Ref), age, old.Revision)
	}
	return resolution{Ref: resolved.Ref, Revision: resolved.Revision, Immutable: resolved.Immutable}, err
}

// findPinned returns the resolution of a reference that is immutable by itself. Offline, only
// the pointer under its own key shows that.
func (f *Fetcher) findPinned(ctx context.Context, ref source.Ref, key string) (resolution, error) {
	var p pointer
	if f.Store != nil {
		ok, err := f.Store.readRecord(ctx, KindPointer, key, &p)
		f.report(err)
		if ok {
			return resolution{Ref: ref, Revision: p.Revision, Immutable: true}, nil
		}
	}
	return resolution{}, errMissing(fmt.Sprintf("the resolution of %q", scrub(ref.Ref)))
}

// errMissing returns the error for what cannot be fetched offline.
func errMissing(missing string) error {
	return source.Refuse(ErrOffline, missing+" is not in the cache; run the same command once without --offline")
}

// follow gets the tree that a resolution leads to.
func (f *Fetcher) follow(ctx context.Context, ref source.Ref, key string, target resolution) (source.Tree, error) {
	// With a signature, Next gets the reference as it was written: a tag may have the signature,
	// and its commit no signature.
	asWritten := !target.Immutable && (ref.Verify.Provider != "" || target.Ref == ref)
	want, wantKey := target.Ref, key
	if asWritten {
		want, wantKey = ref, fmt.Sprintf("%s at %q", key, target.Revision)
	} else if target.Ref != ref {
		var err error
		wantKey, err = f.key(ctx, target.Ref)
		if err != nil {
			return source.Tree{}, err
		}
	}

	// Concurrent callers of one tree share the lookup and the fetch.
	tree, _, err := f.fetches.Do(ctx, wantKey, func(ctx context.Context) (source.Tree, error) {
		// The server has accepted the credentials when it resolved a mutable reference.
		find := f.findStored
		if target.Immutable {
			find = f.findAllowed
		}
		if tree, ok, err := find(ctx, ref, wantKey); ok || err != nil {
			return tree, err
		}
		if f.Offline {
			return source.Tree{}, errMissing(fmt.Sprintf("the tree of %q at %q", scrub(ref.Ref), target.Revision))
		}

		// A tree is kept only under the revision that it was fetched for.
		tree, err := f.Next.Fetch(ctx, want)
		hasNoKey := asWritten && target.Revision == ""
		switch {
		case err != nil || hasNoKey:
		case asWritten && tree.Revision != target.Revision:
			// The reference moved since it was resolved: the tree does not belong to the key, and
			// the resolution is wrong.
			f.forget(KindResolution, key)
		default:
			f.keep(ctx, wantKey, tree)
		}
		return tree, err
	}, nil)
	if err == nil && !asWritten && target.Revision != "" {
		tree.Revision = target.Revision
	}
	return tree, err
}

// findStored returns the tree under a key in the store; false if the store has no tree there. The
// error is source.ErrLimit where it is over the limits.
func (f *Fetcher) findStored(ctx context.Context, ref source.Ref, key string) (source.Tree, bool, error) {
	if f.Store == nil {
		return source.Tree{}, false, nil
	}
	tree, ok, err := f.Store.readTree(ctx, f.Scope, key, f.Limits)
	switch {
	case errors.Is(err, source.ErrLimit):
		return source.Tree{}, false, fmt.Errorf("%q: %w", scrub(ref.Ref), err)
	case err != nil:
		f.report(err)
	}
	return tree, ok, nil
}

// keep caches a tree. Errors are only reported.
func (f *Fetcher) keep(ctx context.Context, key string, tree source.Tree) {
	if f.Store != nil {
		f.report(f.Store.putTree(ctx, f.Scope, key, tree))
	}
}

// forget removes an entry.
func (f *Fetcher) forget(kind, key string) {
	if f.Store != nil {
		f.Store.remove(kind, key)
	}
}

// report reports an error that does not make a fetch fail, unless the caller has left.
func (f *Fetcher) report(err error) {
	hasLeft := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if err == nil || f.Report == nil || hasLeft {
		return
	}
	f.Report(err)
}
