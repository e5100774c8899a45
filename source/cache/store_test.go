// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/cache"
)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func open(t testing.TB, opts cache.StoreOptions) *cache.Store {
	t.Helper()
	s, err := cache.Open(filepath.Join(t.TempDir(), "deep", "cache"), opts)
	require.NoError(t, err)
	return s
}

func put(t testing.TB, s *cache.Store, key string, size int) {
	t.Helper()
	require.NoError(t, s.Put(t.Context(), cache.KindRender, key, bytes.Repeat([]byte("x"), size)))
}

func has(t testing.TB, s *cache.Store, key string) bool {
	t.Helper()
	_, ok, err := s.Get(t.Context(), cache.KindRender, key)
	require.NoError(t, err)
	return ok
}

// ls is the keys of all entries.
func ls(t testing.TB, s *cache.Store) map[string]cache.Entry {
	t.Helper()
	out := map[string]cache.Entry{}
	for e, err := range s.Ls(t.Context()) {
		require.NoError(t, err)
		out[e.Key] = e
	}
	return out
}

// clean wants a store where every entry is whole and nothing else lies about.
func clean(t testing.TB, s *cache.Store) cache.Report {
	t.Helper()
	report, err := s.Verify(t.Context(), cache.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Bad)
	require.Empty(t, report.Stale)
	return report
}

// leave writes a temporary file as a killed process leaves it.
func leave(t testing.TB, name string, at time.Time) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte("half"), 0o600))
	require.NoError(t, os.Chtimes(name, at, at))
}

func TestTemporaryFilesOfKilledProcessesAreRemovedByALaterWrite(t *testing.T) {
	s := open(t, cache.StoreOptions{})
	put(t, s, "first", 10)
	left := filepath.Join(s.Dir(), "tmp", "left.entry")
	leave(t, left, time.Now().Add(-2*time.Hour))
	again, err := cache.Open(s.Dir(), cache.StoreOptions{})
	require.NoError(t, err)
	put(t, again, "second", 10)
	require.NoFileExists(t, left)
}

func TestTheLimitHoldsForWhatOtherProcessesWrite(t *testing.T) {
	const limit = 100_000
	dir := t.TempDir()
	var stores []*cache.Store
	for range 3 { // each is another process as far as a store can tell
		s, err := cache.Open(dir, cache.StoreOptions{MaxBytes: limit})
		require.NoError(t, err)
		stores = append(stores, s)
	}
	for i := range 200 {
		put(t, stores[i%3], fmt.Sprint(i), 2000+i)
		if i%10 == 0 {
			require.LessOrEqual(t, clean(t, stores[0]).Bytes, int64(limit+3*limit/100))
		}
	}
	require.Positive(t, clean(t, stores[0]).Entries)
}

func TestAnEntryComesBackAsItWasPut(t *testing.T) {
	s := open(t, cache.StoreOptions{})
	require.NoDirExists(t, s.Dir(), "only a write makes the directory")
	require.Empty(t, ls(t, s))
	clean(t, s)
	pruned, err := s.Prune(t.Context(), cache.PruneOptions{All: true})
	require.NoError(t, err)
	require.Zero(t, pruned)
	require.NoDirExists(t, s.Dir())

	for _, key := range []string{"", "a", "a b\n\"c\"\x00\xff", strings.Repeat("é", 4096)} {
		require.False(t, has(t, s, key))
		want := []byte("content of " + key + "\nand more")
		require.NoError(t, s.Put(t.Context(), cache.KindRender, key, want))
		got, ok, err := s.Get(t.Context(), cache.KindRender, key)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, got)
		_, ok, err = s.Get(t.Context(), cache.KindTree, key)
		require.NoError(t, err)
		require.False(t, ok, "kinds are apart")
		require.Equal(t, cache.KindRender, ls(t, s)[key].Kind)
		require.Len(t, ls(t, s)[key].Digest, 71)
	}
	put(t, s, "a", 0)
	got, ok, err := s.Get(t.Context(), cache.KindRender, "a")
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, got, "the later of two writes holds, and may be empty")
	require.Equal(t, 4, clean(t, s).Entries)

	info, err := os.Stat(s.Dir())
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), "modules may be private")
}

func TestTheStoreRefusesWhatCanBeNoEntry(t *testing.T) {
	s := open(t, cache.StoreOptions{MaxBytes: 1000})
	for _, kind := range []string{"", "..", "a/b", "Tree", "tmp", "lock", "kind1", strings.Repeat("a", 33)} {
		require.ErrorIs(t, s.Put(t.Context(), kind, "a", nil), cache.ErrEntry, kind)
		_, _, err := s.Get(t.Context(), kind, "a")
		require.ErrorIs(t, err, cache.ErrEntry, kind)
	}
	require.EqualError(t, s.Put(t.Context(), "Tree", "a", nil), `invalid kind of cache entry "Tree": use lower-case letters`)
	require.EqualError(t, s.Put(t.Context(), "tree", strings.Repeat("a", 9000), nil), "a key of 9000 bytes is too long for the cache: the limit is 8192")
	require.ErrorIs(t, s.Put(t.Context(), "tree", "a", make([]byte, 1000)), cache.ErrEntry)
	require.NoDirExists(t, s.Dir())

	_, err := cache.Open("", cache.StoreOptions{})
	require.EqualError(t, err, "the cache needs a directory")
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	_, err = cache.Open(name, cache.StoreOptions{})
	require.EqualError(t, err, fmt.Sprintf("%q is a file; expected the directory of the cache", name))
}

func TestAnAlteredEntryIsRemovedAndCountsAsAMiss(t *testing.T) {
	const key, content = "key", "the content of the entry\nin two lines"
	flip := func(at func(raw []byte) int) func(raw []byte) []byte {
		return func(raw []byte) []byte { raw[at(raw)] ^= 1; return raw }
	}
	index := func(part string) func([]byte) int {
		return func(raw []byte) int { return bytes.Index(raw, []byte(part)) }
	}
	for name, c := range map[string]struct {
		change func(raw []byte) []byte
		bad    string
	}{
		"a byte of the content flipped":   {flip(index("content of")), "its content does not match its header"},
		"a byte of the digest flipped":    {flip(func(raw []byte) int { return bytes.Index(raw, []byte("sha256:")) + 9 }), "its content does not match its header"},
		"a byte of the size flipped":      {flip(index("37 render")), "its content does not match its header"},
		"a byte of the kind flipped":      {flip(index("render")), "its header is that of another entry"},
		"a byte of the key flipped":       {flip(index("\"key\"")), "its header cannot be parsed"},
		"another version":                 {flip(index("1 sha256")), "its header is not of this version"},
		"a byte less":                     {func(raw []byte) []byte { return raw[:len(raw)-1] }, "its content does not match its header"},
		"a byte more":                     {func(raw []byte) []byte { return append(raw, 'x') }, "its content does not match its header"},
		"cut in the header":               {func(raw []byte) []byte { return raw[:20] }, "its header is truncated"},
		"cut to nothing":                  {func([]byte) []byte { return nil }, "its header is truncated"},
		"zeros, as after a loss of power": {func(raw []byte) []byte { return make([]byte, len(raw)) }, "its header is truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, cache.StoreOptions{})
			require.NoError(t, s.Put(t.Context(), cache.KindRender, key, []byte(content)))
			file := filepath.Join(s.Dir(), cache.FileOf(cache.KindRender, key))
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, c.change(raw), 0o600))

			report, err := s.Verify(t.Context(), cache.VerifyOptions{})
			require.NoError(t, err)
			require.Len(t, report.Bad, 1)
			require.Equal(t, c.bad, report.Bad[0].Bad)
			require.Equal(t, cache.KindRender, report.Bad[0].Kind)
			require.FileExists(t, file, "to verify changes nothing")

			require.False(t, has(t, s, key))
			require.NoFileExists(t, file)
			require.Equal(t, []cache.Stats{{Kind: cache.KindRender, Misses: 1, Corrupt: 1}}, s.Stats())
			clean(t, s)
			put(t, s, key, 1)
			require.True(t, has(t, s, key), "the next write heals it")
		})
	}
}

func TestAnEntryInThePlaceOfAnotherIsNoAnswer(t *testing.T) {
	s := open(t, cache.StoreOptions{})
	put(t, s, "mine", 10)
	put(t, s, "other", 10)
	mine := filepath.Join(s.Dir(), cache.FileOf(cache.KindRender, "mine"))
	require.NoError(t, os.Rename(filepath.Join(s.Dir(), cache.FileOf(cache.KindRender, "other")), mine))
	require.False(t, has(t, s, "mine"))
	require.Empty(t, ls(t, s))
}

func TestVerifyRemovesOnlyWhenAsked(t *testing.T) {
	s := open(t, cache.StoreOptions{})
	put(t, s, "good", 10)
	put(t, s, "bad", 10)
	bad := filepath.Join(s.Dir(), cache.FileOf(cache.KindRender, "bad"))
	require.NoError(t, os.Truncate(bad, 100))
	stale := filepath.Join(s.Dir(), "tmp", "left.entry")
	foreign := filepath.Join(s.Dir(), cache.KindRender, "notes.txt")
	young := filepath.Join(s.Dir(), "tmp", "young.entry")
	leave(t, young, time.Now())
	leave(t, stale, time.Now().Add(-2*time.Hour))
	require.NoError(t, os.WriteFile(foreign, []byte("mine"), 0o600))

	for _, remove := range []bool{false, true} {
		require.FileExists(t, bad)
		require.FileExists(t, stale)
		report, err := s.Verify(t.Context(), cache.VerifyOptions{Remove: remove})
		require.NoError(t, err)
		require.Equal(t, 1, report.Entries)
		require.Len(t, report.Bad, 1)
		require.Equal(t, []string{"tmp/left.entry"}, report.Stale)
	}
	require.NoFileExists(t, bad)
	require.NoFileExists(t, stale)
	require.FileExists(t, young, "its writer may still be at work")
	require.FileExists(t, foreign, "what is not ours stays")
	require.Equal(t, 1, clean(t, s).Entries)
}

func TestWhatWasUsedLongestAgoGoesFirst(t *testing.T) {
	c := newClock()
	s := open(t, cache.StoreOptions{MaxBytes: 10_000, Now: c.Now})
	for i := range 5 {
		put(t, s, fmt.Sprint(i), 1800)
		c.Add(2 * time.Minute)
	}
	require.Len(t, ls(t, s), 5)
	require.True(t, has(t, s, "0"))
	require.Equal(t, c.Now(), ls(t, s)["0"].Used.UTC(), "a read is a use")
	c.Add(30 * time.Second)
	require.True(t, has(t, s, "0"))
	require.Equal(t, c.Now().Add(-30*time.Second), ls(t, s)["0"].Used.UTC(), "which is noted once in a minute")
	c.Add(2 * time.Minute)
	put(t, s, "5", 1800)
	left := ls(t, s)
	require.NotContains(t, left, "1")
	require.NotContains(t, left, "2", "a tenth of the limit is made free")
	require.Len(t, left, 4)
	require.Contains(t, left, "0")
	require.Contains(t, left, "5")
}

func TestTheSizeStaysBelowTheLimit(t *testing.T) {
	const limit = 50_000
	parent := t.TempDir()
	for run := range 4 {
		// Each run is another process as far as the store can tell.
		s, err := cache.Open(parent, cache.StoreOptions{MaxBytes: limit})
		require.NoError(t, err)
		for i := range 40 {
			put(t, s, fmt.Sprint(run, i), 700*(1+i%5))
			require.LessOrEqual(t, clean(t, s).Bytes, int64(limit))
		}
		require.True(t, has(t, s, fmt.Sprint(run, 39)), "what was just written stays")
		require.Less(t, len(ls(t, s)), 40)
	}
}

func TestNoLimitEvictsNothing(t *testing.T) {
	s := open(t, cache.StoreOptions{MaxBytes: -1})
	for i := range 20 {
		put(t, s, fmt.Sprint(i), 1000)
	}
	pruned, err := s.Prune(t.Context(), cache.PruneOptions{})
	require.NoError(t, err)
	require.Zero(t, pruned)
	require.Equal(t, 20, clean(t, s).Entries)
}

func TestAnEntryFromTheFutureDoesNotStayForEver(t *testing.T) {
	c := newClock()
	s := open(t, cache.StoreOptions{MaxBytes: 10_000, Now: c.Now})
	c.Add(48 * time.Hour)
	put(t, s, "future", 4000)
	c.Add(-48 * time.Hour)
	put(t, s, "now", 4000)
	put(t, s, "next", 4000)
	require.NotContains(t, ls(t, s), "future")
	require.Len(t, ls(t, s), 2)
}

func TestPrune(t *testing.T) {
	for name, c := range map[string]struct {
		opts cache.PruneOptions
		left []string
	}{
		"nothing is over the limit":             {cache.PruneOptions{}, []string{"r0", "r1", "r2", "t0", "t1", "t2"}},
		"all":                                   {cache.PruneOptions{All: true}, nil},
		"all of a kind":                         {cache.PruneOptions{All: true, Kind: cache.KindTree}, []string{"r0", "r1", "r2"}},
		"what is older":                         {cache.PruneOptions{OlderThan: 90 * time.Minute}, []string{"r2", "t2"}},
		"what is older of a kind":               {cache.PruneOptions{OlderThan: 90 * time.Minute, Kind: cache.KindTree}, []string{"r0", "r1", "r2", "t2"}},
		"what is more":                          {cache.PruneOptions{MaxBytes: 2500}, []string{"r2", "t2"}},
		"what is more of a kind":                {cache.PruneOptions{MaxBytes: 2500, Kind: cache.KindRender}, []string{"r1", "r2", "t0", "t1", "t2"}},
		"what is older and then what is more":   {cache.PruneOptions{OlderThan: 150 * time.Minute, MaxBytes: 1200}, []string{"t2"}},
		"nothing is of a kind that nobody used": {cache.PruneOptions{All: true, Kind: "none"}, []string{"r0", "r1", "r2", "t0", "t1", "t2"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			s := open(t, cache.StoreOptions{Now: now.Now})
			for i := range 3 {
				require.NoError(t, s.Put(t.Context(), cache.KindRender, fmt.Sprint("r", i), make([]byte, 1000)))
				now.Add(time.Second)
				require.NoError(t, s.Put(t.Context(), cache.KindTree, fmt.Sprint("t", i), make([]byte, 1000)))
				now.Add(time.Hour)
			}
			before := clean(t, s)
			leave(t, filepath.Join(s.Dir(), "tmp", "left.entry"), now.Now().Add(-2*time.Hour))
			pruned, err := s.Prune(t.Context(), c.opts)
			require.NoError(t, err)
			require.Len(t, ls(t, s), len(c.left))
			for _, key := range c.left {
				require.Contains(t, ls(t, s), key)
			}
			require.Equal(t, cache.Pruned{Entries: 6 - len(c.left), Bytes: before.Bytes - clean(t, s).Bytes, Stale: 1}, pruned)
		})
	}
	_, err := open(t, cache.StoreOptions{}).Prune(t.Context(), cache.PruneOptions{Kind: ".."})
	require.ErrorIs(t, err, cache.ErrEntry)
}
