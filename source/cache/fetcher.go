// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache/flight"
)

// DefaultTTL is how long the resolution of a mutable reference is believed
// where nobody says.
const DefaultTTL = 5 * time.Minute

// Fetcher is a resolver that keeps what another one gives. Fetches of the same
// thing at the same time are done once. It must not be copied after first use.
type Fetcher struct {
	// Next is asked for what is not in the store.
	Next source.Resolver
	// Store keeps trees and resolutions on disk; nil keeps none.
	Store *Store
	// Memory keeps trees in memory, in front of the store; nil keeps none. It
	// may be shared by fetchers that have the same limits.
	Memory *lru.Cache[string, source.Tree]
	// TTL is how long the resolution of a mutable reference without a Secret is
	// believed; [DefaultTTL] where zero, never where negative.
	TTL time.Duration
	// Scope names whose credentials Next uses, such as a namespace and a service
	// account. It parts the entries of tenants from each other.
	Scope string
	// Offline never asks Next, and believes resolutions of any age.
	Offline bool
	// Limits bound trees from the store, as those of Next bound what it gets.
	Limits source.Limits
	// Keys gives a digest of the keys in the Secret of that name, with which
	// signatures are verified, so that a tree that was verified with other keys
	// is no answer; see [KeysOf]. Nil goes by the name of the Secret alone.
	Keys func(ctx context.Context, secret string) (string, error)
	// Report is told what the store could not keep or read; such errors end no
	// fetch. Nil tells nobody.
	Report func(error)

	resolves flight.Group[source.Resolved]
	fetches  flight.Group[source.Tree]
	checks   flight.Group[struct{}]
}

var _ source.Resolver = (*Fetcher)(nil)

// Checker asks a server whether a reference may be had with its Secret, and
// gets nothing. What a Fetcher has behind it should be one: where it is none, a
// reference with a Secret is always fetched anew.
type Checker interface {
	Check(ctx context.Context, ref source.Ref) error
}

// resolution is where a reference led, and when.
type resolution struct {
	Ref       source.Ref `json:"ref"`
	Revision  string     `json:"revision"`
	Immutable bool       `json:"immutable"`
	At        time.Time  `json:"at"`
}

// Fetch gets the tree of a reference from the store, or from Next. Errors are
// those of Next, and ErrOffline.
func (f *Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if f.passes(ref) {
		return f.Next.Fetch(ctx, ref)
	}
	key, err := f.key(ctx, ref)
	if err != nil {
		return source.Tree{}, err
	}
	// Only what is immutable has a pointer under its own key.
	if tree, ok, err := f.allowed(ctx, ref, key); ok || err != nil {
		return tree, err
	}
	known, fresh := f.believed(ctx, ref, key)
	if !fresh {
		known, err = f.ask(ctx, ref, key, known)
		if err != nil {
			return source.Tree{}, err
		}
	}
	tree, err := f.follow(ctx, ref, key, known)
	if fresh && !f.Offline && errors.Is(err, source.ErrNotFound) {
		// What was believed is gone, as after a forced push; it leads elsewhere now.
		if known, err = f.ask(ctx, ref, key, known); err == nil {
			tree, err = f.follow(ctx, ref, key, known)
		}
	}
	return tree, err
}

// Resolve says where a reference leads: from the store where that is fresh
// enough, or from Next.
func (f *Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	if f.passes(ref) {
		return f.Next.Resolve(ctx, ref)
	}
	key, err := f.key(ctx, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	known, fresh := f.believed(ctx, ref, key)
	if !fresh {
		known, err = f.ask(ctx, ref, key, known)
	}
	return source.Resolved{Ref: known.Ref, Revision: known.Revision, Immutable: known.Immutable}, err
}

// passes reports whether a reference goes by the store: with credentials in it,
// it must not come into a file. Next is to refuse it.
func (f *Fetcher) passes(ref source.Ref) bool {
	return !f.Offline && scrub(ref.Ref) != ref.Ref
}

// known is what the store knows of where a reference leads; its time is zero
// where that is nothing. Fresh says that it may be believed.
func (f *Fetcher) known(ctx context.Context, key string) (r resolution, fresh bool) {
	if f.Store == nil {
		return r, false
	}
	if ok, err := f.Store.record(ctx, KindResolution, key, &r); !ok {
		f.report(err)
		return resolution{}, false
	}
	ttl := f.TTL
	if ttl == 0 {
		ttl = DefaultTTL
	}
	age := f.Store.now().Sub(r.At)
	return r, r.Immutable || f.Offline || age >= 0 && age < ttl
}

// believed is known, which does not count for a reference with a Secret: to ask
// again proves that its credentials are good for the server.
func (f *Fetcher) believed(ctx context.Context, ref source.Ref, key string) (r resolution, fresh bool) {
	r, fresh = f.known(ctx, key)
	return r, fresh && !f.proves(ref)
}

// proves reports whether the credentials of a reference must be shown to its
// server, also for what is in the store.
func (f *Fetcher) proves(ref source.Ref) bool { return ref.Secret != "" && !f.Offline }

// allowed is stored for whoever the server would give it to. Callers that ask at
// the same time share one question: their Secret is the same.
func (f *Fetcher) allowed(ctx context.Context, ref source.Ref, key string) (source.Tree, bool, error) {
	tree, ok, err := f.stored(ctx, ref, key)
	if !ok || err != nil || !f.proves(ref) {
		return tree, ok, err
	}
	checker, able := f.Next.(Checker)
	if !able {
		return source.Tree{}, false, nil
	}
	_, _, err = f.checks.Do(ctx, key, func(ctx context.Context) (struct{}, error) { return struct{}{}, checker.Check(ctx, ref) }, nil)
	if errors.Is(err, source.ErrUnavailable) {
		err = fmt.Errorf("%w; the cache has it, but cannot tell whether the secret %q may: --offline takes it", err, ref.Secret)
	}
	if err != nil {
		return source.Tree{}, false, err
	}
	return tree, true, nil
}

// ask has Next resolve a reference, and keeps the answer.
func (f *Fetcher) ask(ctx context.Context, ref source.Ref, key string, old resolution) (resolution, error) {
	if f.Offline {
		return f.pinned(ctx, ref, key)
	}
	resolved, _, err := f.resolves.Do(ctx, key, func(ctx context.Context) (source.Resolved, error) {
		// Another flight may have ended since this caller looked.
		if now, fresh := f.believed(ctx, ref, key); fresh && now.At.After(old.At) {
			return source.Resolved{Ref: now.Ref, Revision: now.Revision, Immutable: now.Immutable}, nil
		}
		resolved, err := f.Next.Resolve(ctx, ref)
		// A reference that is its own resolution has nothing to be looked up.
		if err == nil && f.Store != nil && (!resolved.Immutable || resolved.Ref != ref) {
			f.report(f.Store.putRecord(ctx, KindResolution, key, resolution{
				Ref: resolved.Ref, Revision: resolved.Revision, Immutable: resolved.Immutable, At: f.Store.now(),
			}))
		}
		return resolved, err
	}, nil)
	if errors.Is(err, source.ErrUnavailable) && !old.At.IsZero() {
		age := f.Store.now().Sub(old.At).Round(time.Second)
		return resolution{}, fmt.Errorf("%w; the cache knows where %q led %s ago (%s), and --offline uses that",
			err, scrub(ref.Ref), age, old.Revision)
	}
	return resolution{Ref: resolved.Ref, Revision: resolved.Revision, Immutable: resolved.Immutable}, err
}

// pinned is the resolution of a reference that is immutable by itself, which
// only the pointer under its own key can tell offline.
func (f *Fetcher) pinned(ctx context.Context, ref source.Ref, key string) (resolution, error) {
	var p pointer
	if f.Store != nil {
		ok, err := f.Store.record(ctx, KindPointer, key, &p)
		f.report(err)
		if ok {
			return resolution{Ref: ref, Revision: p.Revision, Immutable: true}, nil
		}
	}
	return resolution{}, missing(fmt.Sprintf("where %q leads", scrub(ref.Ref)))
}

// missing is the error for what would have to be fetched.
func missing(what string) error {
	return source.Refuse(ErrOffline, what+" is not in the cache; run the same command once without --offline")
}

// follow gets the tree that a resolution leads to.
func (f *Fetcher) follow(ctx context.Context, ref source.Ref, key string, to resolution) (source.Tree, error) {
	// Where a signature is asked for, Next gets the reference as it was written:
	// the signature may be that of the tag, which the commit knows nothing of.
	asWritten := !to.Immutable && (ref.Verify.Provider != "" || to.Ref == ref)
	want, wantKey := to.Ref, key
	if asWritten {
		want, wantKey = ref, fmt.Sprintf("%s at %q", key, to.Revision)
	} else if to.Ref != ref {
		var err error
		if wantKey, err = f.key(ctx, to.Ref); err != nil {
			return source.Tree{}, err
		}
	}
	tree, _, err := f.fetches.Do(ctx, wantKey, func(ctx context.Context) (source.Tree, error) {
		// Who was told where a mutable reference leads has shown the credentials.
		find := f.stored
		if to.Immutable {
			find = f.allowed
		}
		if tree, ok, err := find(ctx, ref, wantKey); ok || err != nil {
			return tree, err
		}
		if f.Offline {
			return source.Tree{}, missing(fmt.Sprintf("the tree of %q at %q", scrub(ref.Ref), to.Revision))
		}
		tree, err := f.Next.Fetch(ctx, want)
		switch {
		case err != nil || asWritten && to.Revision == "":
		case asWritten && tree.Revision != to.Revision:
			// The reference moved since it was resolved: this is not the tree that
			// the key says, and what was believed is wrong.
			f.forget(KindResolution, key)
		default:
			f.keep(ctx, wantKey, tree)
		}
		return tree, err
	}, nil)
	if err == nil && !asWritten && to.Revision != "" {
		tree.Revision = to.Revision
	}
	return tree, err
}

// stored is the tree under a key in memory or on disk. An error says that it is
// over the limits.
func (f *Fetcher) stored(ctx context.Context, ref source.Ref, key string) (source.Tree, bool, error) {
	if tree, ok := f.Memory.Get(key); ok {
		return tree, true, nil
	}
	if f.Store == nil {
		return source.Tree{}, false, nil
	}
	tree, size, ok, err := f.Store.tree(ctx, f.Scope, key, f.Limits)
	switch {
	case errors.Is(err, source.ErrLimit):
		return source.Tree{}, false, fmt.Errorf("%q: %w", scrub(ref.Ref), err)
	case err != nil:
		f.report(err)
	case ok:
		f.Memory.Put(key, tree, size)
	}
	return tree, ok, nil
}

// keep puts a tree under a key, as well as that is possible.
func (f *Fetcher) keep(ctx context.Context, key string, tree source.Tree) {
	if f.Store == nil && f.Memory == nil {
		return
	}
	data, err := pack(tree)
	if err != nil {
		f.report(err)
		return
	}
	f.Memory.Put(key, tree, int64(len(data)))
	if f.Store != nil {
		f.report(f.Store.putTree(ctx, f.Scope, key, tree, data))
	}
}

// forget takes an entry away.
func (f *Fetcher) forget(kind, key string) {
	if f.Store != nil {
		f.Store.remove(kind, key)
	}
}

// report tells of an error that ends nothing. That a caller has gone is none.
func (f *Fetcher) report(err error) {
	if err == nil || f.Report == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	f.Report(err)
}
