// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
)

func TestAnImmutableReferenceIsFetchedOnce(t *testing.T) {
	f, r := fetcher(t, newClock())
	ref := commit("c1")
	ref.Path = "sub"
	first := fetch(t, f, ref)
	r.asked(t, 0, 1)
	for range 3 {
		next := fetch(t, again(f, nil), ref)
		require.Equal(t, first, next, "a tree from the store is the tree that was fetched, in every field")
	}
	require.Equal(t, "sub", first.Dir)
	require.Equal(t, "sha1:c1", first.Revision)
	require.Equal(t, commit("c1").Ref, first.Pinned)
	resolved, err := f.Resolve(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, source.Resolved{Ref: ref, Revision: "sha1:c1", Immutable: true}, resolved)
	r.asked(t, 0, 0)

	whole := fetch(t, f, commit("c1"))
	require.Equal(t, ".", whole.Dir)
	require.Equal(t, first.Digest, whole.Digest)
	r.asked(t, 0, 1)
	trees := 0
	for e, err := range f.Store.Ls(t.Context()) {
		require.NoError(t, err)
		if e.Kind == cache.KindTree {
			require.Equal(t, first.Digest, e.Digest, "the entry of a tree has its digest")
			trees++
		}
	}
	require.Equal(t, 1, trees, "one tree is kept once, whatever leads to it")
}

func TestAMutableReferenceIsBelievedForATime(t *testing.T) {
	now := newClock()
	f, r := fetcher(t, now)
	require.Equal(t, "main@sha1:c1", fetch(t, f, named("main")).Revision)
	r.asked(t, 1, 1)
	r.set(func() { r.names["main"] = "c2" })

	now.Add(5*time.Minute - time.Second)
	require.Equal(t, "main@sha1:c1", fetch(t, again(f, nil), named("main")).Revision)
	r.asked(t, 0, 0)
	require.Equal(t, "v1@sha1:c1", fetch(t, f, named("v1")).Revision, "the tree of another name at the same revision")
	r.asked(t, 1, 0)

	now.Add(time.Second)
	require.Equal(t, "main@sha1:c2", fetch(t, f, named("main")).Revision)
	r.asked(t, 1, 1)
	resolved, err := f.Resolve(t.Context(), named("main"))
	require.NoError(t, err)
	require.Equal(t, source.Resolved{Ref: commit("c2"), Revision: "main@sha1:c2"}, resolved)
	r.asked(t, 0, 0)

	now.Add(-time.Hour)
	fetch(t, f, named("main"))
	r.asked(t, 1, 0)
	never := again(f, func(f *cache.Fetcher) { f.TTL = -1 })
	fetch(t, never, named("main"))
	fetch(t, never, named("main"))
	r.asked(t, 2, 0)
	longer := again(f, func(f *cache.Fetcher) { f.TTL = time.Hour })
	now.Add(59 * time.Minute)
	fetch(t, longer, named("main"))
	r.asked(t, 0, 0)
}

func TestAStaleResolutionIsNotUsedSilently(t *testing.T) {
	now := newClock()
	f, r := fetcher(t, now)
	fetch(t, f, named("main"))
	now.Add(3 * time.Hour)
	r.set(func() { r.fail = errDown })
	want := `"https://example.org/r.git" does not answer; the cached resolution of "https://example.org/r.git?branch=main" is 3h0m0s old (main@sha1:c1): --offline uses it`
	_, err := f.Fetch(t.Context(), named("main"))
	require.EqualError(t, err, want)
	require.ErrorIs(t, err, source.ErrUnavailable)
	_, err = f.Resolve(t.Context(), named("main"))
	require.EqualError(t, err, want)
	_, err = f.Fetch(t.Context(), named("v1"))
	require.EqualError(t, err, errDown.Error(), "nothing is known of this one")

	denied := source.Refuse(source.ErrUnauthorized, "who are you")
	r.set(func() { r.fail = denied })
	_, err = f.Fetch(t.Context(), named("main"))
	require.EqualError(t, err, "who are you", "who has no access any more is not led past that")

	r.set(func() { r.fail = errDown })
	offline := again(f, func(f *cache.Fetcher) { f.Offline = true })
	require.Equal(t, "main@sha1:c1", fetch(t, offline, named("main")).Revision)
	r.set(func() { r.fail = nil })
	fetch(t, f, named("main"))
}

func TestOfflineAsksNobody(t *testing.T) {
	f, r := fetcher(t, newClock())
	offline := again(f, func(f *cache.Fetcher) { f.Offline = true })
	secret := source.Ref{Type: "git", Ref: "https://me:hunter2@example.org/r.git?branch=main"}
	for want, ref := range map[string]source.Ref{
		`the resolution of "https://example.org/r.git?branch=main" is not in the cache; run the same command once without --offline`:     named("main"),
		`the resolution of "https://example.org/r.git?commit=c1" is not in the cache; run the same command once without --offline`:       commit("c1"),
		`the resolution of "https://***@example.org/r.git?branch=main" is not in the cache; run the same command once without --offline`: secret,
	} {
		_, err := offline.Fetch(t.Context(), ref)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, cache.ErrOffline)
		_, err = offline.Resolve(t.Context(), ref)
		require.EqualError(t, err, want)
	}
	r.asked(t, 0, 0)

	fetch(t, f, named("main"))
	r.asked(t, 1, 1)
	tree := fetch(t, offline, named("main"))
	require.Equal(t, tree.Digest, fetch(t, offline, commit("c1")).Digest)
	resolved, err := offline.Resolve(t.Context(), commit("c1"))
	require.NoError(t, err)
	require.Equal(t, source.Resolved{Ref: commit("c1"), Revision: "sha1:c1", Immutable: true}, resolved)

	_, err = f.Store.Prune(t.Context(), cache.PruneOptions{All: true, Kind: cache.KindTree})
	require.NoError(t, err)
	_, err = offline.Fetch(t.Context(), named("main"))
	require.EqualError(t, err, `the tree of "https://example.org/r.git?branch=main" at "main@sha1:c1" is not in the cache; run the same command once without --offline`)
	require.ErrorIs(t, err, cache.ErrOffline)
	r.asked(t, 0, 0)
	fetch(t, f, named("main"))
	r.asked(t, 0, 1)
	fetch(t, offline, named("main"))
	r.asked(t, 0, 0)
}

func TestEntriesOfOneScopeAreNoneOfAnother(t *testing.T) {
	f, r := fetcher(t, newClock())
	f.Scope = "team-a"
	fetch(t, f, named("main"))
	require.NoError(t, f.Store.RememberTreeID(t.Context(), "team-a", "t1", fetch(t, f, commit("c1"))))
	r.asked(t, 1, 1)
	for _, scope := range []string{"", "team-b", `team-a" path "x`} {
		other := again(f, func(f *cache.Fetcher) { f.Scope = scope; f.Offline = true })
		for _, ref := range []source.Ref{named("main"), commit("c1")} {
			_, err := other.Fetch(t.Context(), ref)
			require.ErrorIs(t, err, cache.ErrOffline)
		}
		_, ok := f.Store.TreeByID(t.Context(), scope, "t1")
		require.False(t, ok)
	}
	other := again(f, func(f *cache.Fetcher) { f.Scope = "team-b" })
	fetch(t, other, commit("c1"))
	r.asked(t, 0, 1)
	withSecret := commit("c1")
	withSecret.Secret = "other"
	fetch(t, f, withSecret)
	r.asked(t, 0, 1)
}

func TestAnUnverifiedTreeAnswersNoVerifiedRequest(t *testing.T) {
	f, r := fetcher(t, newClock())
	keys := map[string]map[string][]byte{"keys": {"a.pub": []byte("a")}, "more": {"a.pub": []byte("a")}}
	f.Keys = cache.KeysOf(source.SecretsFunc(func(_ context.Context, name string) (map[string][]byte, error) {
		if _, ok := keys[name]; !ok {
			return nil, source.Refuse(source.ErrNotFound, fmt.Sprintf("there is no Secret %q", name))
		}
		return keys[name], nil
	}))
	verified := func(ref source.Ref, provider, secret string) source.Ref {
		ref.Verify = source.Verify{Provider: provider, Secret: secret}
		return ref
	}
	for _, ref := range []source.Ref{commit("c1"), named("main")} {
		fetch(t, f, ref)
		r.resolves, r.fetched = 0, nil
		for _, v := range []source.Ref{verified(ref, "pgp", "keys"), verified(ref, "ssh", "keys"), verified(ref, "pgp", "more")} {
			fetch(t, f, v)
			require.Equal(t, []source.Ref{v}, r.fetched, "the reference is verified as it was written: it may be the tag that is signed")
			r.resolves, r.fetched = 0, nil
			fetch(t, f, v)
			fetch(t, again(f, func(f *cache.Fetcher) { f.Offline = true }), v)
			r.asked(t, 0, 0)
		}
		old := keys["keys"]
		keys["keys"] = map[string][]byte{"a.pub": []byte("b")}
		fetch(t, f, verified(ref, "pgp", "keys"))
		require.Len(t, r.fetched, 1, "other keys, another answer")
		keys["keys"] = old
		_, err := f.Fetch(t.Context(), verified(ref, "pgp", "none"))
		require.ErrorIs(t, err, source.ErrNotFound)
	}

	// A tag that moves between the two questions is not kept as what it was.
	v := verified(named("v1"), "pgp", "keys")
	_, err := f.Resolve(t.Context(), v)
	require.NoError(t, err)
	r.set(func() { r.names["v1"] = "c2" })
	require.Equal(t, "v1@sha1:c2", fetch(t, f, v).Revision)
	r.resolves, r.fetched = 0, nil
	require.Equal(t, "v1@sha1:c2", fetch(t, f, v).Revision)
	r.asked(t, 1, 1)
	require.Equal(t, "v1@sha1:c2", fetch(t, f, v).Revision)
	r.asked(t, 0, 0)
}

func TestARevisionThatIsGoneIsResolvedAnew(t *testing.T) {
	f, r := fetcher(t, newClock())
	_, err := f.Resolve(t.Context(), named("main"))
	require.NoError(t, err)
	r.set(func() { r.names["main"] = "c2"; delete(r.trees, "c1") })
	require.Equal(t, "main@sha1:c2", fetch(t, f, named("main")).Revision)
	r.set(func() { delete(r.names, "v1") })
	_, err = f.Fetch(t.Context(), named("v1"))
	require.ErrorIs(t, err, source.ErrNotFound)
}

func TestConcurrentFetchesAreDoneOnce(t *testing.T) {
	f, r := fetcher(t, newClock())
	r.wait, r.began = make(chan struct{}), make(chan struct{}, 1)
	first, cancel := context.WithCancel(t.Context())
	type answer struct {
		tree source.Tree
		err  error
	}
	call := func(ctx context.Context, ref source.Ref) chan answer {
		out := make(chan answer, 1)
		go func() {
			tree, err := f.Fetch(ctx, ref)
			out <- answer{tree, err}
		}()
		return out
	}
	one := call(first, commit("c1"))
	<-r.began
	var others []chan answer
	for range 8 {
		others = append(others, call(t.Context(), commit("c1")), call(t.Context(), named("main")))
	}
	require.Eventually(t, func() bool { return f.Waiting() == 17 }, 5*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, (<-one).err, context.Canceled, "the first leaves")
	select {
	case <-r.began:
		t.Fatal("a second fetch began")
	case <-time.After(20 * time.Millisecond):
	}
	close(r.wait)
	for _, other := range others {
		got := <-other
		require.NoError(t, got.err, "and the others go on")
		require.Equal(t, "git:"+repo, got.tree.Origin)
	}
	r.asked(t, 1, 1)
}

func TestAFetchThatNobodyWaitsForEnds(t *testing.T) {
	f, r := fetcher(t, newClock())
	r.wait, r.began, r.ended = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := f.Fetch(ctx, commit("c1"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-r.began
	// The channel is never closed: only the end of its context ends the fetch.
	select {
	case <-r.ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the fetch goes on")
	}
	r.set(func() { r.wait = nil })
	fetch(t, f, commit("c1"))
	r.asked(t, 0, 2)
}

func TestATreeIsFoundByItsGitID(t *testing.T) {
	s := open(t, cache.StoreOptions{})
	tree, err := source.NewTree(map[string][]byte{"a.cue": []byte("a"), "b/c.cue": {}}, "git:x", "main@sha1:1")
	require.NoError(t, err)
	_, ok := s.TreeByID(t.Context(), "team", "0123")
	require.False(t, ok)
	require.NoError(t, s.RememberTreeID(t.Context(), "team", "0123", tree))
	got, ok := s.TreeByID(t.Context(), "team", "0123")
	require.True(t, ok)
	require.Equal(t, tree, got)
	require.NoError(t, fs.WalkDir(got.FS, ".", func(_ string, _ fs.DirEntry, err error) error { return err }))
	_, ok = s.TreeByID(t.Context(), "team", "4567")
	require.False(t, ok)
}

func TestCredentialsInAReferenceAreHidden(t *testing.T) {
	for ref, want := range map[string]string{
		"https://me:pw@host/r.git?tag=v1":   "https://***@host/r.git?tag=v1",
		"https://ghp_token@host":            "https://***@host",
		"https://a@b@host/x":                "https://***@host/x",
		"https://host/x@y":                  "https://host/x@y",
		"ssh://git@host/r.git":              "ssh://git@host/r.git",
		"ssh://git:pw@host/r.git":           "ssh://***@host/r.git",
		"git@host:org/r.git":                "git@host:org/r.git",
		"oci://host/repo@sha256:00":         "oci://host/repo@sha256:00",
		"oci://me:pw@host/repo@sha256:00":   "oci://***@host/repo@sha256:00",
		"oci://host:5000/repo:v1?semver=^1": "oci://host:5000/repo:v1?semver=^1",
	} {
		require.Equal(t, want, cache.Scrub(ref))
	}
}

func TestAReferenceWithCredentialsComesIntoNoFile(t *testing.T) {
	f, r := fetcher(t, newClock())
	ref := source.Ref{Type: "git", Ref: "https://me:hunter2@example.org/r.git?branch=main"}
	fetch(t, f, ref)
	_, err := f.Resolve(t.Context(), ref)
	require.NoError(t, err)
	r.asked(t, 1, 1)
	require.NoDirExists(t, f.Store.Dir(), "the one behind it decides, and nothing is kept")
}

func ExampleFetcher() {
	dir, err := os.MkdirTemp("", "ropewalk")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := cache.Open(dir, cache.StoreOptions{})
	if err != nil {
		return
	}
	remote := newRemote()
	f := &cache.Fetcher{Next: remote, Store: store, Scope: "team-a"}
	for range 2 {
		tree, err := f.Fetch(context.Background(), source.Ref{Type: "git", Ref: repo + "?branch=main"})
		fmt.Println(tree.Revision, len(remote.fetched), err)
	}
	// Output:
	// main@sha1:c1 1 <nil>
	// main@sha1:c1 1 <nil>
}
