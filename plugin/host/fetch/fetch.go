// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/flux"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/helmrepo"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/oci"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
	"github.com/ropewalk/ropewalk/source/web"
)

// Options select the sources of modules. The zero value fetches over https, without
// credentials, cache and lock.
type Options struct {
	// Registries returns the connections to OCI registries, and is called once, when the
	// first module needs it; nil is the zero value.
	Registries func() (*remote.Registries, error)
	// Secrets are the Secrets that references name; nil is none.
	Secrets source.Secrets
	// Git returns the fetcher of Git repositories, and is called when the first module
	// needs it; its Secrets and Limits are set here. Nil is the zero value.
	Git func() git.Fetcher
	// GitHosts are the credentials of Git references without a Secret, by their host,
	// with its port where the reference has one; "" is none. Cached modules of such a
	// host are fetched again when its credentials are removed or change.
	GitHosts Mounted
	// Artifacts finds the artifacts of Flux sources; nil refuses references of the
	// type source.
	Artifacts flux.Artifacts
	// Modules returns the registry for dependencies of CUE modules, which uses the cache
	// of Store if it has none of its own; nil adds no dependencies.
	Modules func() *modules.Registry
	// Store opens the cache when the first module needs it; nil is no cache.
	Store func() (*cache.Store, error)
	// TTL is how long the resolution of a mutable reference is valid; see cache.Fetcher.
	TTL time.Duration
	// Scope is the credential scope of the tenant.
	Scope string
	// Offline sends no request.
	Offline bool
	// Lock pins references; Mode is how it is enforced.
	Lock lock.File
	Mode lock.Mode
	// Plan is the name of the build plan that Lock is of, for errors; "" for a lock.
	Plan string
	// Record records the references that were used; nil records nothing.
	Record *lock.Recorder
	// Guard applies the pull policy; the zero value has none.
	Guard pullpolicy.Guard
	// Signed caches which dependencies have the signatures that the policy requires; nil
	// verifies them each time.
	Signed *Signed
	// Limits bound every module.
	Limits source.Limits
	// Report receives the errors of the cache; nil ignores them.
	Report func(error)
}

// Connect returns h with the fetchers of these options; those that h has already win.
func (o Options) Connect(h host.Host) host.Host {
	// The policy decides before any credential is read.
	if o.Guard.Policy != nil {
		o.Secrets = o.Guard.Secrets(o.secrets())
	}
	if o.Registries == nil {
		o.Registries = func() (*remote.Registries, error) { return &remote.Registries{}, nil }
	}
	o.Registries = sync.OnceValues(o.Registries)

	// Each type of references has a fetcher, which is built at its first use.
	fetchers := map[string]source.Fetcher{
		source.TypeGit: o.lazy(source.TypeGit, func(store *cache.Store) source.Resolver { return hostCredentials{options: o, store: store} }),
		source.TypeOCI: o.lazy(source.TypeOCI, o.oci),
		source.TypeHelm: o.lazy(source.TypeHelm, func(store *cache.Store) source.Resolver {
			return o.cached(helmrepo.Fetcher{Get: o.get, Secrets: o.Secrets, Limits: o.Limits}, store)
		}),
		source.TypeHTTP: o.lazy(source.TypeHTTP, func(store *cache.Store) source.Resolver {
			return o.cached(web.Fetcher{Get: o.get, Secrets: o.Secrets, Limits: o.Limits}, store)
		}),
	}
	if o.Artifacts != nil {
		fetchers[source.TypeFlux] = o.lazy(source.TypeFlux, o.flux)
	}
	for name, f := range h.Fetchers {
		fetchers[name] = f
	}
	if h.Embedded != nil && fetchers[source.TypeEmbedded] == nil && o.locking() {
		fetchers[source.TypeEmbedded] = o.locked(lock.Fixed(source.Embedded(h.Embedded, o.Limits)))
	}
	h.Fetchers = fetchers
	h.Limits = o.Limits

	// Dependencies of modules of CUE share one registry.
	if o.Modules != nil {
		registry := sync.OnceValue(func() *modules.Registry {
			r := o.Modules()
			if store := o.store(); store != nil && r.Store == nil {
				r.Store = store
			}
			return r
		})
		h.Complete = func(ctx context.Context, tree source.Tree) (source.Tree, error) {
			return o.complete(ctx, registry, tree)
		}
	}
	return h
}

// locking reports whether the lock applies to embedded modules.
func (o Options) locking() bool { return o.Mode != lock.Prefer || o.Record != nil }

// lazy returns a fetcher of a type of references that is built at its first use.
func (o Options) lazy(kind string, backend func(store *cache.Store) source.Resolver) source.Fetcher {
	build := sync.OnceValue(func() source.Fetcher {
		return o.Guard.Before(o.locked(o.Guard.Around(backend(o.store()))))
	})
	return source.FetcherFunc(func(ctx context.Context, ref source.Ref) (_ source.Tree, err error) {
		ctx, end := tracing.Start(ctx, "fetch", tracing.Type.String(kind))
		defer func() { end(err) }()
		return build().Fetch(ctx, ref)
	})
}

// store opens the cache. It returns nil if there is none, or it cannot be opened.
func (o Options) store() *cache.Store {
	if o.Store == nil {
		return nil
	}
	store, err := o.Store()
	o.report(err)
	return store
}

// cached returns a backend behind the cache, if there is one.
func (o Options) cached(next source.Resolver, store *cache.Store) source.Resolver {
	if store == nil && !o.Offline {
		return next
	}
	return &cache.Fetcher{
		Next: next, Store: store, TTL: o.TTL, Scope: o.Scope, Offline: o.Offline,
		Limits: o.Limits, Keys: cache.KeysOf(o.secrets()), Report: o.report,
	}
}

// report passes an error of the cache to Report.
func (o Options) report(err error) {
	if err != nil && o.Report != nil {
		o.Report(err)
	}
}

// locked returns a backend behind the lock.
func (o Options) locked(next source.Resolver) source.Fetcher {
	return lock.Fetcher{Next: next, File: o.Lock, Mode: o.Mode, Plan: o.Plan, Record: o.Record}
}

// git returns Git behind the cache. The argument secret names the credentials of references
// without a Secret, and is "" if there are none.
func (o Options) git(store *cache.Store, secret string) source.Resolver {
	var f git.Fetcher
	if o.Git != nil {
		f = o.Git()
	}
	f.Secrets = byHost{named: o.secrets(), hosts: o.GitHosts}
	f.Limits = o.Limits
	if store != nil {
		f.Known = func(ctx context.Context, id string) (source.Tree, bool) { return store.TreeByID(ctx, o.Scope, id) }
	}
	return o.cached(&gitBackend{Fetcher: &f, secret: secret, store: store, scope: o.Scope, report: o.report}, store)
}

// gitBackend records in the cache which tree belongs to a Git tree id, so that a commit
// that does not change the module transfers no file.
type gitBackend struct {
	*git.Fetcher
	secret string // of references without one
	store  *cache.Store
	scope  string
	report func(error)
}

// The cache uses these to authorise references with a Secret.
var (
	_ cache.Checker = (*gitBackend)(nil)
	_ cache.Checker = (*oci.Fetcher)(nil)
)

// Fetch fetches a tree.
func (r *gitBackend) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	ref.Secret = cmp.Or(ref.Secret, r.secret)
	result, err := r.FetchResult(ctx, ref)
	if err == nil && !result.Known && r.store != nil && result.TreeID != "" {
		r.report(r.store.RememberTreeID(ctx, r.scope, result.TreeID, result.Tree))
	}
	return result.Tree, err
}

// Resolve resolves a reference. The resolved one names the same Secret.
func (r *gitBackend) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	with := ref
	with.Secret = cmp.Or(ref.Secret, r.secret)
	resolved, err := r.Fetcher.Resolve(ctx, with)
	resolved.Ref.Secret = ref.Secret
	return resolved, err
}

// oci returns registries behind the cache.
func (o Options) oci(store *cache.Store) source.Resolver {
	return o.cached(&oci.Fetcher{
		Open: func(ctx context.Context, repository string, secret map[string][]byte) (oci.Repository, error) {
			r, err := o.Registries()
			if err != nil {
				return nil, err
			}
			return r.Repository(ctx, repository, secret)
		},
		Secrets: o.Secrets, Limits: o.Limits, Explain: remote.Explain, Verifier: verifier{},
	}, store)
}

// get returns the content of a file by its URL.
func (o Options) get(ctx context.Context, url string, secret map[string][]byte) (io.ReadCloser, error) {
	r, err := o.Registries()
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, url, secret)
}

// verifier verifies the signatures of artifacts.
type verifier struct{}

// Verify verifies the signatures of a manifest.
func (verifier) Verify(ctx context.Context, repo oci.Repository, manifest ocispec.Descriptor, keys map[string][]byte) error {
	return artifact.Verifier{}.Verify(ctx, repo, manifest, keys)
}

// flux returns sources of Flux behind the cache.
func (o Options) flux(store *cache.Store) source.Resolver {
	return o.cached(&flux.Fetcher{Artifacts: o.Artifacts, Limits: o.Limits}, store)
}

// secrets returns the Secrets, or Secrets of which none exists.
func (o Options) secrets() source.Secrets {
	if o.Secrets != nil {
		return o.Secrets
	}
	return source.SecretsFunc(func(_ context.Context, name string) (map[string][]byte, error) {
		return nil, source.Refuse(source.ErrNotFound, "no Secret is named \""+name+"\": none was given")
	})
}

// ModuleRegistry returns the registry for dependencies of CUE modules. The argument config has the
// syntax of CUE_REGISTRY.
func ModuleRegistry(config string, registries func() (*remote.Registries, error)) *modules.Registry {
	return &modules.Registry{
		Config: config, Explain: remote.Explain,
		Open: func(ctx context.Context, repository string, plain bool) (modules.Repository, error) {
			r, err := registries()
			if err != nil {
				return nil, err
			}
			repo, err := r.Repository(ctx, repository, nil)
			if err != nil {
				return nil, err
			}
			repo.PlainHTTP = repo.PlainHTTP || plain
			return repo, nil
		},
	}
}

// complete adds the dependencies of a module. Most modules have none and open no registry.
func (o Options) complete(ctx context.Context, registry func() *modules.Registry, tree source.Tree) (source.Tree, error) {
	if !modules.Depends(tree) {
		return tree, nil
	}
	var locked map[string]string
	if o.Mode != lock.Update {
		locked = o.Lock.Locked()
	}
	signatures, err := o.requiredSignatures(registry(), tree)
	if err != nil {
		return source.Tree{}, err
	}
	completed, dependencies, err := registry().Complete(ctx, tree, locked)
	if err == nil {
		err = o.verify(ctx, dependencies, signatures)
	}
	if err != nil {
		return source.Tree{}, err
	}
	if o.Record != nil {
		for _, d := range dependencies {
			o.Record.Module(lock.Module{Module: d.Path, Version: d.Version, Digest: d.Digest})
		}
	}
	return completed, nil
}
