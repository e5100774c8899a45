// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

// remote is a server in memory, which counts what it is asked: names lead to
// revisions, and revisions to trees.
type remote struct {
	mu       sync.Mutex
	names    map[string]string
	trees    map[string]map[string][]byte
	resolves int
	fetched  []source.Ref
	fail     error
	wait     chan struct{} // a fetch waits for it, where there is one
	began    chan struct{} // and says that it does
	ended    chan struct{} // and this, when its context ended
}

func newRemote() *remote {
	return &remote{
		names: map[string]string{"main": "c1", "v1": "c1"},
		trees: map[string]map[string][]byte{"c1": {"a.cue": []byte("a: 1\n"), "sub/b.cue": []byte("b: 1\n")}, "c2": {"a.cue": []byte("a: 2\n")}},
	}
}

const repo = "https://example.org/r.git"

func named(name string) source.Ref { return source.Ref{Type: "git", Ref: repo + "?branch=" + name} }
func commit(commit string) source.Ref {
	return source.Ref{Type: "git", Ref: repo + "?commit=" + commit}
}

func (r *remote) lookup(ref source.Ref) (revision string, immutable bool, err error) {
	if _, revision, ok := strings.Cut(ref.Ref, "?commit="); ok {
		return revision, true, nil
	}
	_, name, _ := strings.Cut(ref.Ref, "?branch=")
	revision, ok := r.names[name]
	if !ok {
		return "", false, source.Refuse(source.ErrNotFound, fmt.Sprintf("nothing is at %q", ref.Ref))
	}
	return revision, false, r.fail
}

// Resolve counts what a server is asked.
func (r *remote) Resolve(_ context.Context, ref source.Ref) (source.Resolved, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	revision, immutable, err := r.lookup(ref)
	if immutable || err != nil {
		return source.Resolved{Ref: ref, Revision: "sha1:" + revision, Immutable: true}, err
	}
	r.resolves++
	_, name, _ := strings.Cut(ref.Ref, "?branch=")
	ref.Ref = commit(revision).Ref
	return source.Resolved{Ref: ref, Revision: name + "@sha1:" + revision}, nil
}

// Fetch counts what a server is asked.
func (r *remote) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetched = append(r.fetched, ref)
	if wait := r.wait; wait != nil {
		r.mu.Unlock()
		r.began <- struct{}{}
		select {
		case <-wait:
		case <-ctx.Done():
			close(r.ended)
		}
		r.mu.Lock()
	}
	revision, _, err := r.lookup(ref)
	if err := errors.Join(err, r.fail, ctx.Err()); err != nil {
		return source.Tree{}, err
	}
	files, ok := r.trees[revision]
	if !ok {
		return source.Tree{}, source.Refuse(source.ErrNotFound, fmt.Sprintf("nothing is at %q", ref.Ref))
	}
	name := "sha1:" + revision
	if _, branch, ok := strings.Cut(ref.Ref, "?branch="); ok {
		name = branch + "@" + name
	}
	tree, err := source.NewTree(files, "git:"+repo, name)
	if err != nil {
		return source.Tree{}, err
	}
	tree.Pinned = commit(revision).Ref
	return tree.At(ref.Path)
}

func (r *remote) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// asked wants that many questions since the last call.
func (r *remote) asked(t *testing.T, resolves, fetches int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, resolves, r.resolves, "resolves")
	require.Len(t, r.fetched, fetches, "fetches")
	r.resolves, r.fetched = 0, nil
}

var errDown = source.Refuse(source.ErrUnavailable, `"https://example.org/r.git" does not answer`)

func fetcher(t testing.TB, now *clock) (*cache.Fetcher, *remote) {
	r := newRemote()
	return &cache.Fetcher{Next: r, Store: open(t, cache.StoreOptions{Now: now.Now}), Report: func(err error) { t.Error(err) }}, r
}

// again is the fetcher as another process has it.
func again(f *cache.Fetcher, change func(*cache.Fetcher)) *cache.Fetcher {
	out := &cache.Fetcher{Next: f.Next, Store: f.Store, Scope: f.Scope, Keys: f.Keys, Report: f.Report, TTL: f.TTL}
	if change != nil {
		change(out)
	}
	return out
}

func fetch(t testing.TB, f source.Fetcher, ref source.Ref) source.Tree {
	t.Helper()
	tree, err := f.Fetch(t.Context(), ref)
	require.NoError(t, err)
	return tree
}
