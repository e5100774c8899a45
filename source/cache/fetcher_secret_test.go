// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

// guarded is a remote that wants credentials: refuse is what it says to them.
type guarded struct {
	*remote
	refuse error
	checks []source.Ref
}

// Resolve refuses whoever has no access, where the server is asked at all.
func (g *guarded) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	if !strings.Contains(ref.Ref, "commit=") && g.refuse != nil {
		return source.Resolved{}, g.refuse
	}
	return g.remote.Resolve(ctx, ref)
}

// Fetch refuses whoever has no access.
func (g *guarded) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if g.refuse != nil {
		return source.Tree{}, g.refuse
	}
	return g.remote.Fetch(ctx, ref)
}

// Check counts.
func (g *guarded) Check(_ context.Context, ref source.Ref) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checks = append(g.checks, ref)
	return g.refuse
}

func TestAHitIsNoAuthorisation(t *testing.T) {
	f, r := fetcher(t, newClock())
	g := &guarded{remote: r}
	f.Next = g
	denied := source.Refuse(source.ErrUnauthorized, "who are you")
	for name, ref := range map[string]source.Ref{"mutable": named("main"), "immutable": commit("c1")} {
		ref.Secret = "s"
		g.refuse = nil
		want := fetch(t, f, ref)
		require.Equal(t, want, fetch(t, again(f, nil), ref), "%s: with good credentials it is a hit", name)
		g.refuse = denied
		_, err := again(f, nil).Fetch(t.Context(), ref)
		require.ErrorIs(t, err, source.ErrUnauthorized, name)
		require.Equal(t, want, fetch(t, again(f, func(f *cache.Fetcher) { f.Offline = true }), ref), "%s: nobody can be asked offline", name)

		g.refuse = errDown
		_, err = again(f, nil).Fetch(t.Context(), ref)
		require.ErrorIs(t, err, source.ErrUnavailable, name)
		require.ErrorContains(t, err, "--offline", name)
	}
}

func TestWhatIsAskedForASecret(t *testing.T) {
	f, r := fetcher(t, newClock())
	g := &guarded{remote: r}
	f.Next = g
	mutable, immutable := named("main"), commit("c1")
	mutable.Secret, immutable.Secret = "s", "s"
	fetch(t, f, mutable)
	r.asked(t, 1, 1)
	fetch(t, f, mutable)
	r.asked(t, 1, 0)
	require.Empty(t, g.checks, "to resolve is to show credentials")
	fetch(t, f, immutable)
	require.Equal(t, []source.Ref{immutable}, g.checks)
	_, err := f.Resolve(t.Context(), mutable)
	require.NoError(t, err)
	r.asked(t, 1, 0)

	fetch(t, f, commit("c1"))
	fetch(t, f, commit("c1"))
	r.asked(t, 0, 1)
	require.Len(t, g.checks, 1, "without a Secret nobody is asked")

	f.Next = r // no Checker
	fetch(t, f, immutable)
	r.asked(t, 0, 1)
}

func TestOneQuestionIsForAllWhoAskAtOnce(t *testing.T) {
	f, r := fetcher(t, newClock())
	hold := make(chan struct{})
	g := &slow{guarded: guarded{remote: r}, hold: hold}
	f.Next = g
	ref := commit("c1")
	ref.Secret = "s"
	fetch(t, f, ref)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() { _, err := f.Fetch(t.Context(), ref); require.NoError(t, err) })
	}
	require.Eventually(t, func() bool { return f.Checking() == 16 }, 5*time.Second, time.Millisecond)
	close(hold)
	group.Wait()
	require.Len(t, g.checks, 1)
}

// slow holds checks up.
type slow struct {
	guarded
	hold chan struct{}
}

// Check waits.
func (s *slow) Check(ctx context.Context, ref source.Ref) error {
	<-s.hold
	return s.guarded.Check(ctx, ref)
}

// TestNothingOfASecretIsInTheStore looks at every byte that was written.
func TestNothingOfASecretIsInTheStore(t *testing.T) {
	f, _ := fetcher(t, newClock())
	entries := map[string][]byte{"password": []byte("hunter2"), "cosign.pub": []byte("one")}
	f.Keys = cache.KeysOf(source.SecretsFunc(func(context.Context, string) (map[string][]byte, error) { return entries, nil }))
	ref := commit("c1")
	ref.Verify = source.Verify{Provider: "cosign", Secret: "s"}
	list := func() (files []string) {
		require.NoError(t, filepath.WalkDir(f.Store.Dir(), func(name string, e os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(name, ".entry") {
				files = append(files, name)
			}
			return err
		}))
		return files
	}
	fetch(t, f, ref)
	before := list()
	entries["password"] = []byte("other")
	fetch(t, f, ref)
	require.Equal(t, before, list(), "a password decides no key, and so can be guessed from none")
	entries["cosign.pub"] = []byte("two")
	fetch(t, f, ref)
	require.Greater(t, len(list()), len(before))
}
