// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

// hostCredentials is Git with the credentials of hosts, behind the cache. Entries that are
// fetched with these are separated by host and by their version: after they are removed
// or change, the module is fetched again.
type hostCredentials struct {
	options Options
	store   *cache.Store
}

// of returns the backend for a reference. A reference with a Secret of its own shows that to the
// server each time.
func (c hostCredentials) of(ctx context.Context, ref source.Ref) (source.Resolver, error) {
	o := c.options
	host := hostOf(ref.Ref)
	if ref.Secret != "" || host == "" {
		return o.git(c.store, ""), nil
	}
	change, err := o.GitHosts.Change(ctx, host)
	switch {
	case errors.Is(err, source.ErrNotFound):
		return o.git(c.store, ""), nil
	case err != nil:
		return nil, err
	}
	o.Scope = fmt.Sprintf("%q %s%s %s", o.Scope, hostPrefix, host, change)
	return o.git(c.store, hostPrefix+host), nil
}

// Resolve resolves a reference.
func (c hostCredentials) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	next, err := c.of(ctx, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	return next.Resolve(ctx, ref)
}

// Fetch fetches a tree.
func (c hostCredentials) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	next, err := c.of(ctx, ref)
	if err != nil {
		return source.Tree{}, err
	}
	return next.Fetch(ctx, ref)
}

// hostPrefix begins the name of the credentials of a host. No Secret of Kubernetes can
// have such a name.
const hostPrefix = "credentials of the host "

// byHost are Secrets by name, and those of Git hosts.
type byHost struct {
	named source.Secrets
	hosts Mounted
}

// Secret returns a Secret.
func (b byHost) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	if host, ok := strings.CutPrefix(name, hostPrefix); ok {
		return b.hosts.Secret(ctx, host)
	}
	return b.named.Secret(ctx, name)
}

// hostOf returns the host of a reference of Git, with its port if it has one.
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
