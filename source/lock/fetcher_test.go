// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

// tags is a backend with tags that lead to contents, and a memory of all of them.
// References are r?tag=NAME and r?content=TEXT.
type tags struct {
	mu    sync.Mutex
	tags  map[string]string
	asked []string
}

func (s *tags) Resolve(_ context.Context, ref source.Ref) (source.Resolved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if content, ok := strings.CutPrefix(ref.Ref, "r?content="); ok {
		return source.Resolved{Ref: ref, Revision: content, Immutable: true}, nil
	}
	s.asked = append(s.asked, ref.Ref)
	tag := strings.TrimPrefix(ref.Ref, "r?tag=")
	content, ok := s.tags[tag]
	if !ok {
		return source.Resolved{}, source.Refuse(source.ErrNotFound, "no tag "+tag)
	}
	to := ref
	to.Ref = "r?content=" + content
	return source.Resolved{Ref: to, Revision: tag + "@" + content}, nil
}

func (s *tags) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	at, err := s.Resolve(ctx, ref)
	if err != nil {
		return source.Tree{}, err
	}
	tree, err := source.NewTree(map[string][]byte{"a.cue": []byte(at.Ref.Ref)}, ref.Ref, at.Revision)
	tree.Pinned = at.Ref.Ref
	return tree, err
}

var tagOne = source.Ref{Type: "git", Ref: "r?tag=one", Secret: "s"}

// locked is a backend and the lock of it that ropewalk lock writes.
func locked(t testing.TB) (*tags, lock.File) {
	t.Helper()
	backend := &tags{tags: map[string]string{"one": "a", "two": "b"}}
	var record lock.Recorder
	_, err := lock.Fetcher{Next: backend, Mode: lock.Update, Record: &record}.Fetch(t.Context(), tagOne)
	require.NoError(t, err)
	text, err := record.File().Bytes()
	require.NoError(t, err)
	file, err := lock.Parse(lock.Name, text)
	require.NoError(t, err)
	backend.asked = nil
	return backend, file
}

// sameFiles is a backend whose trees say nothing of their revision, as when a
// commit changes other folders.
type sameFiles struct{ *tags }

func (s sameFiles) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	at, err := s.Resolve(ctx, ref)
	if err != nil {
		return source.Tree{}, err
	}
	tree, err := source.NewTree(map[string][]byte{"a.cue": []byte("x: 1")}, ref.Ref, at.Revision)
	tree.Pinned = at.Ref.Ref
	return tree, err
}

func TestARevisionWithTheSameFilesHasNotMoved(t *testing.T) {
	backend := sameFiles{&tags{tags: map[string]string{"one": "a"}}}
	var record lock.Recorder
	_, err := lock.Fetcher{Next: backend, Mode: lock.Update, Record: &record}.Fetch(t.Context(), tagOne)
	require.NoError(t, err)
	backend.tags.tags["one"] = "later"
	tree, err := lock.Fetcher{Next: backend, File: record.File(), Mode: lock.Enforce}.Fetch(t.Context(), tagOne)
	require.NoError(t, err)
	require.Equal(t, "one@a", tree.Revision, "the lock says which revision it is")
}

func TestATagThatMustBeSignedIsFetchedByItsName(t *testing.T) {
	backend, file := locked(t)
	signed := tagOne
	signed.Verify = source.Verify{Provider: "ssh", Secret: "keys"}
	f := lock.Fetcher{Next: backend, File: file}
	_, err := f.Fetch(t.Context(), signed)
	require.NoError(t, err)
	require.Equal(t, []string{"r?tag=one"}, backend.asked, "the signature is that of the tag, not of the commit")

	backend.tags["one"] = "c"
	_, err = f.Fetch(t.Context(), signed)
	require.ErrorIs(t, err, source.ErrLocked)
	require.ErrorContains(t, err, "moved from one@a to one@c")
}

func TestEveryModeGivesTheLockedTree(t *testing.T) {
	backend, file := locked(t)
	plain, err := backend.Fetch(t.Context(), tagOne)
	require.NoError(t, err)
	for mode, asks := range map[lock.Mode]int{lock.Prefer: 0, lock.Enforce: 1, lock.Frozen: 0, lock.Update: 1} {
		backend.asked = nil
		f := lock.Fetcher{Next: backend, File: file, Mode: mode}
		tree, err := f.Fetch(t.Context(), tagOne)
		require.NoError(t, err)
		require.Len(t, backend.asked, asks, "mode %d", mode)
		require.Equal(t, []string{plain.Digest, plain.Revision, plain.Pinned}, []string{tree.Digest, tree.Revision, tree.Pinned})
		at, err := f.Resolve(t.Context(), tagOne)
		require.NoError(t, err)
		require.Equal(t, "r?content=a", at.Ref.Ref)
		require.Equal(t, "s", at.Ref.Secret)
		require.Equal(t, "one@a", at.Revision)
	}
}

func TestATagThatMoved(t *testing.T) {
	backend, file := locked(t)
	backend.tags["one"] = "c"
	for mode, want := range map[lock.Mode]string{lock.Prefer: "one@a", lock.Frozen: "one@a", lock.Update: "one@c"} {
		tree, err := lock.Fetcher{Next: backend, File: file, Mode: mode}.Fetch(t.Context(), tagOne)
		require.NoError(t, err)
		require.Equal(t, want, tree.Revision)
	}
	f := lock.Fetcher{Next: backend, File: file, Mode: lock.Enforce}
	_, err := f.Fetch(t.Context(), tagOne)
	require.ErrorIs(t, err, source.ErrLocked)
	require.EqualError(t, err, `git "r?tag=one": moved from one@a to one@c since it was locked: if that is meant, run "ropewalk lock"`)
	_, err = f.Resolve(t.Context(), tagOne)
	require.ErrorIs(t, err, source.ErrLocked)

	delete(backend.tags, "one")
	_, err = f.Fetch(t.Context(), tagOne)
	require.ErrorIs(t, err, source.ErrNotFound)
	_, err = lock.Fetcher{Next: backend, File: file}.Fetch(t.Context(), tagOne)
	require.NoError(t, err, "a tag that is gone is no matter where the lock is preferred")
}

func TestAReferenceThatIsNotLocked(t *testing.T) {
	backend, file := locked(t)
	two := source.Ref{Type: "git", Ref: "r?tag=two", Path: "sub"}
	for _, mode := range []lock.Mode{lock.Enforce, lock.Frozen} {
		f := lock.Fetcher{Next: backend, File: file, Mode: mode}
		_, err := f.Fetch(t.Context(), two)
		require.ErrorIs(t, err, source.ErrLocked)
		require.EqualError(t, err, `git "r?tag=two", path "sub": not in ropewalk.lock: run "ropewalk lock"`)
		_, err = f.Resolve(t.Context(), two)
		require.ErrorIs(t, err, source.ErrLocked)
	}
	require.Empty(t, backend.asked, "no server is asked")
	var record lock.Recorder
	tree, err := lock.Fetcher{Next: backend, File: file, Record: &record}.Fetch(t.Context(), two)
	require.NoError(t, err)
	require.Equal(t, "two@b", tree.Revision)
	_, ok := record.File().Find(two)
	require.True(t, ok)
}

func TestContentThatIsNotAsLocked(t *testing.T) {
	backend, file := locked(t)
	entry := file.Sources[0]
	entry.Digest = digest("0")
	file = file.Add(entry)
	for _, mode := range []lock.Mode{lock.Prefer, lock.Enforce, lock.Frozen} {
		var record lock.Recorder
		_, err := lock.Fetcher{Next: backend, File: file, Mode: mode, Record: &record}.Fetch(t.Context(), tagOne)
		require.ErrorIs(t, err, source.ErrLocked)
		require.ErrorContains(t, err, "ropewalk.lock says "+digest("0"))
		require.Empty(t, record.File().Sources)
	}
}

func TestEmbeddedModulesAreHeldToTheirDigest(t *testing.T) {
	ref := source.Ref{Type: source.TypeEmbedded, Ref: "webservice"}
	version := func(text string) source.Resolver {
		return lock.Fixed(source.FetcherFunc(func(context.Context, source.Ref) (source.Tree, error) {
			return source.NewTree(map[string][]byte{"a.cue": []byte(text)}, "embedded:webservice", "")
		}))
	}
	var record lock.Recorder
	_, err := lock.Fetcher{Next: version("1"), Mode: lock.Update, Record: &record}.Fetch(t.Context(), ref)
	require.NoError(t, err)
	for mode, fails := range map[lock.Mode]bool{lock.Prefer: false, lock.Enforce: true, lock.Frozen: true, lock.Update: false} {
		_, err := lock.Fetcher{Next: version("1"), File: record.File(), Mode: mode}.Fetch(t.Context(), ref)
		require.NoError(t, err)
		f := lock.Fetcher{Next: version("2"), File: record.File(), Mode: mode}
		_, err = f.Fetch(t.Context(), ref)
		require.Equal(t, fails, err != nil)
		if fails {
			require.ErrorIs(t, err, source.ErrLocked)
			require.ErrorContains(t, err, `embedded "webservice": its digest is sha256:`)
			require.ErrorContains(t, err, "another version of ropewalk wrote the lock")
		}
		at, err := f.Resolve(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, source.Resolved{Ref: ref, Immutable: true}, at)
	}
}

func TestWhatIsPartOfTheProjectIsNotLocked(t *testing.T) {
	for _, kind := range []string{source.TypeInline, source.TypePath, source.TypeConfigMap} {
		var record lock.Recorder
		f := lock.Fetcher{Next: lock.Fixed(source.Inline(source.Limits{})), Mode: lock.Enforce, Record: &record}
		_, err := f.Fetch(t.Context(), source.Ref{Type: kind, Ref: "x: 1"})
		require.NoError(t, err)
		_, err = f.Resolve(t.Context(), source.Ref{Type: kind, Ref: "x: 1"})
		require.NoError(t, err)
		require.Empty(t, record.File().Sources)
	}
}

func TestARecorderForMany(t *testing.T) {
	var record lock.Recorder
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			record.Source(source.Ref{Type: "git", Ref: fmt.Sprint(i % 10)}, source.Tree{Digest: digest("1")})
			record.Module(lock.Module{Module: fmt.Sprint("m", i%5), Version: "v1", Digest: digest("1")})
			_, _ = record.File().Bytes()
		})
	}
	wg.Wait()
	require.Len(t, record.File().Sources, 10)
	require.Len(t, record.File().Modules, 5)
}

// A tag moves after it was locked; a render with --locked says so.
func ExampleFetcher() {
	backend := &tags{tags: map[string]string{"one": "a"}}
	ref := source.Ref{Type: source.TypeGit, Ref: "r?tag=one"}
	var record lock.Recorder
	_, err := lock.Fetcher{Next: backend, Mode: lock.Update, Record: &record}.Fetch(context.Background(), ref)
	if err != nil {
		fmt.Println(err)
		return
	}
	backend.tags["one"] = "b"
	_, err = lock.Fetcher{Next: backend, File: record.File(), Mode: lock.Enforce}.Fetch(context.Background(), ref)
	fmt.Println(err)
	// Output: git "r?tag=one": moved from one@a to one@b since it was locked: if that is meant, run "ropewalk lock"
}
