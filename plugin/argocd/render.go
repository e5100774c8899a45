// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

// Waits between two attempts at what may pass by itself: each is twice the one
// before it, but no more than half of the time that is left, and there is none that
// would leave less than leastAttempt. An attempt may be short: what is left of the
// deadline to answer in is no part of that time.
const (
	firstWait    = 250 * time.Millisecond
	longestWait  = 8 * time.Second
	leastAttempt = 100 * time.Millisecond
)

// maxLock is how many bytes of ropewalk.lock are read.
const maxLock = 8 << 20

// maxNameless is how often a host is asked for that has no address: names are known
// within seconds of their making, and a mistake in one does not pass.
const maxNameless = 2

// render is the manifests of a request, in the order in which they are to be
// applied. It waits for its turn.
func (s *Server) render(ctx context.Context, r request, files fs.FS, held *stay) ([]string, error) {
	h, err := s.host(r, files)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, stayKey{}, held)
	var last error
	wait := firstWait
	for attempts := 1; ; attempts++ {
		out, err := s.attempt(ctx, r, h, files, held)
		if last != nil && err != nil && ctx.Err() != nil {
			return nil, last // There was no time for more, and this says why.
		}
		err = r.from.placed(err)
		if err == nil || !isTransient(err) || isNameless(err) && attempts >= maxNameless {
			return out, err
		}
		last = err
		pause := wait
		wait = min(2*wait, longestWait)
		deadline, bounded := ctx.Deadline()
		if bounded {
			pause = min(pause, time.Until(deadline)/2)
		}
		pause = max(pause, asked(err))
		if bounded && time.Until(deadline) < pause+leastAttempt {
			return nil, err
		}
		// A pause holds up nobody who needs nothing of what is down.
		if !held.park() {
			return nil, err
		}
		s.metrics.retries.Add(1)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// asked is how long servers want to be left alone.
func asked(err error) (wait time.Duration) {
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return 0
	}
	for _, m := range mistakes.Failures() {
		if later := (*remote.Later)(nil); errors.As(m, &later) {
			wait = max(wait, later.After)
		}
	}
	return wait
}

// attempt renders once. It holds its place no longer than that.
func (s *Server) attempt(ctx context.Context, r request, h host.Host, files fs.FS, held *stay) ([]string, error) {
	if err := held.begin(ctx); err != nil {
		return nil, s.full(err)
	}
	defer held.finish()
	opts := r.options(files, s.opts.Limits)
	opts.Emit.HealthConfigured = s.opts.HealthConfigured
	loaded, err := h.Load(ctx, opts)
	if err != nil {
		return nil, err
	}
	// The others are not rendered in vain.
	if err := loaded.Request.Mistakes.Err(); isTransient(err) {
		return nil, err
	}
	loaded.Request.Parallel = s.opts.Parallel
	cache := rendercache.Cache{
		Next: s.opts.Renderer, Stores: s.opts.Stores, Version: s.opts.Version, Scope: r.Scope, Failed: s.opts.Report,
	}
	outcome, err := cache.Render(ctx, loaded.Request)
	if err != nil {
		return nil, err
	}
	s.metrics.rendered(outcome.Plan == nil)
	s.warn(r, outcome.Warnings)
	out := make([]string, len(outcome.Files))
	for i, f := range outcome.Files {
		out[i] = string(f.Data)
	}
	if len(out) == 0 && !r.AllowEmpty {
		return nil, errEmpty
	}
	return out, nil
}

// host is what fetches the modules of a request.
func (s *Server) host(r request, files fs.FS) (host.Host, error) {
	locked, err := readLock(files, path.Join(r.Path, lock.Name))
	if err != nil {
		return host.Host{}, err
	}
	to := Connection{
		Lock: locked, Mode: lock.Prefer, Scope: r.Scope, Project: r.project, Refused: s.metrics.refused, Source: s.source(r),
	}
	free, err := s.connect(to)
	if err != nil || s.opts.AllowUnlocked {
		return free, err
	}
	to.Mode = lock.Frozen
	strict, err := s.connect(to)
	if err != nil {
		return host.Host{}, err
	}
	for kind, f := range strict.Fetchers {
		if other, ok := free.Fetchers[kind]; ok {
			strict.Fetchers[kind] = pinned{strict: f, free: other}
		}
	}
	return strict, nil
}

// connect makes what fetches modules, none of which holds a place for long.
func (s *Server) connect(to Connection) (host.Host, error) {
	h, err := s.opts.Connect(to)
	if err != nil {
		return h, err
	}
	h.Fetchers = maps.Clone(h.Fetchers)
	for kind, f := range h.Fetchers {
		h.Fetchers[kind] = patient{next: f}
	}
	if complete := h.Complete; complete != nil {
		h.Complete = func(ctx context.Context, tree source.Tree) (out source.Tree, err error) {
			out, err = away(ctx, func(ctx context.Context) (source.Tree, error) { return complete(ctx, tree) })
			if err != nil || out.Digest != tree.Digest {
				stayOf(ctx).fetched()
			}
			return out, err
		}
	}
	return h, nil
}

// source is where a request comes from, with its credentials, where those are
// offered.
func (s *Server) source(r request) *Source {
	if r.nonce == "" || r.repository == "" || s.opts.AskPass == "" {
		return nil
	}
	return &Source{Repository: r.repository, Credentials: func(ctx context.Context) (user, password string, err error) {
		return s.opts.AskPass.Credentials(ctx, r.nonce)
	}}
}

// readLock is the lock of a project; an empty one where there is none.
func readLock(files fs.FS, name string) (lock.File, error) {
	info, err := fs.Stat(files, name)
	if err != nil && isLink(files, name) {
		return lock.File{}, fmt.Errorf("%s: it is a link that leads nowhere in the repository: commit the file itself", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return lock.File{}, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxLock) {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is no regular file of a lock's size")}
	}
	if err != nil {
		return lock.File{}, err
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return lock.File{}, err
	}
	return lock.Parse(name, data)
}

func isLink(files fs.FS, name string) bool {
	info, err := fs.Lstat(files, name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// pinned fetches references that say themselves what they lead to without a lock.
type pinned struct{ strict, free source.Fetcher }

// Fetch gets a tree.
func (p pinned) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if isPinned(ref) {
		return p.free.Fetch(ctx, ref)
	}
	return p.strict.Fetch(ctx, ref)
}

// isPinned reports whether a reference can lead to one thing only: an OCI
// reference with a digest, and a commit of Git.
func isPinned(ref source.Ref) bool {
	switch ref.Type {
	case source.TypeOCI:
		return strings.Contains(ref.Ref, "@sha256:") || strings.Contains(ref.Ref, "@sha512:")
	case source.TypeGit:
		_, query, _ := strings.Cut(ref.Ref, "?")
		for option := range strings.SplitSeq(query, "&") {
			if strings.HasPrefix(option, "commit=") {
				return true
			}
		}
	}
	return false
}
