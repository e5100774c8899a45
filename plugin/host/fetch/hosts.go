// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

// Changing are Secrets with a version.
type Changing interface {
	// Change returns a version of a Secret, which changes with it. It discloses nothing
	// about its values, because it is stored.
	Change(ctx context.Context, name string) (string, error)
}

// gitByHost is Git behind the cache, whose entries are separated by the credentials of
// the host and their version: after these are removed or change, the module is fetched
// again.
func (o Options) gitByHost(store *cache.Store) source.Resolver {
	if o.GitHosts == nil || store == nil {
		return o.git(store)
	}
	return &scopes{options: o, store: store, known: map[string]source.Resolver{}}
}

// scopes is one cached backend for each version of the credentials of a host.
type scopes struct {
	options Options
	store   *cache.Store

	mu    sync.Mutex
	known map[string]source.Resolver
}

// maxScopes is how many are kept before all are dropped.
const maxScopes = 1000

// of returns the backend for a reference.
func (s *scopes) of(ctx context.Context, ref source.Ref) (source.Resolver, error) {
	scope, err := s.scope(ctx, ref)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.known[scope]
	if next == nil {
		o := s.options
		o.Scope = scope
		next = o.git(s.store)
		if len(s.known) >= maxScopes {
			clear(s.known)
		}
		s.known[scope] = next
	}
	return next, nil
}

// scope is that of the tenant, and of the credentials of the host where it has any.
// A reference with a Secret of its own shows that to the server each time.
func (s *scopes) scope(ctx context.Context, ref source.Ref) (string, error) {
	host := hostOf(ref.Ref)
	if ref.Secret != "" || host == "" {
		return s.options.Scope, nil
	}
	var change string
	var err error
	if hosts, ok := s.options.GitHosts.(Changing); ok {
		change, err = hosts.Change(ctx, host)
	} else {
		_, err = s.options.GitHosts.Secret(ctx, host)
	}
	switch {
	case errors.Is(err, source.ErrNotFound):
		return s.options.Scope, nil
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("%q %s%s %s", s.options.Scope, hostPrefix, host, change), nil
}

// Resolve resolves a reference.
func (s *scopes) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	next, err := s.of(ctx, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	return next.Resolve(ctx, ref)
}

// Fetch fetches a tree.
func (s *scopes) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	next, err := s.of(ctx, ref)
	if err != nil {
		return source.Tree{}, err
	}
	return next.Fetch(ctx, ref)
}

// hostPrefix begins the name of the credentials of a host. No Secret of Kubernetes can
// have such a name.
const hostPrefix = "credentials of the host "

// byHost are Secrets by name, and those of Git hosts.
type byHost struct{ named, hosts source.Secrets }

// Secret returns a Secret.
func (b byHost) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	if host, ok := strings.CutPrefix(name, hostPrefix); ok {
		return b.hosts.Secret(ctx, host)
	}
	return b.named.Secret(ctx, name)
}

// own is a reference with the credentials of its host, where it names no Secret and
// there are any.
func (r *gitBackend) own(ctx context.Context, ref source.Ref) (source.Ref, error) {
	host := hostOf(ref.Ref)
	if r.hosts == nil || ref.Secret != "" || host == "" {
		return ref, nil
	}
	switch _, err := r.hosts.Secret(ctx, host); {
	case errors.Is(err, source.ErrNotFound):
		return ref, nil
	case err != nil:
		return ref, err
	}
	ref.Secret = hostPrefix + host
	return ref, nil
}

// Resolve resolves a reference with the credentials of its host.
func (r *gitBackend) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	with, err := r.own(ctx, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	resolved, err := r.Fetcher.Resolve(ctx, with)
	resolved.Ref.Secret = ref.Secret
	return resolved, err
}

// hostOf is the host of a reference of Git, with its port where it has one.
func hostOf(ref string) string {
	base, _, _ := strings.Cut(ref, "?")
	if !strings.Contains(base, "://") {
		server, _, ok := strings.Cut(base, ":")
		if !ok {
			return ""
		}
		return strings.ToLower(server[strings.LastIndexByte(server, '@')+1:])
	}
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
