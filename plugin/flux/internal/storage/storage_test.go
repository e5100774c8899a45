// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/render/emit"
)

func owner() types.NamespacedName { return types.NamespacedName{Namespace: "team", Name: "web"} }

func opened(t *testing.T) (*Storage, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(Options{Path: dir, URL: "artifacts.example:9090", TTL: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, dir
}

func files(values ...string) []emit.File {
	out := make([]emit.File, len(values))
	for i, v := range values {
		out[i] = emit.File{Path: fmt.Sprintf("%02d.yaml", i), Data: []byte("kind: ConfigMap\nvalue: " + v + "\n")}
	}
	return out
}

func put(t *testing.T, s *Storage, values ...string) string {
	t.Helper()
	stored, err := s.Put(owner(), files(values...))
	require.NoError(t, err)
	return stored.Digest
}

// names are the files below a folder, sorted.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			name, err = filepath.Rel(dir, name)
			out = append(out, filepath.ToSlash(name))
		}
		return err
	}))
	return out
}

func TestTheSameFilesAreTheSameArchive(t *testing.T) {
	s, dir := opened(t)
	given := files("a", "b", "c")
	first, err := s.Put(owner(), given)
	require.NoError(t, err)
	require.True(t, first.New)

	slices.Reverse(given)
	given[0].Path = "layer-01/" + given[0].Path
	second, err := s.Put(owner(), given)
	require.NoError(t, err)
	require.False(t, second.New)
	first.New = false
	require.Equal(t, first, second)

	data, err := os.ReadFile(filepath.Join(dir, "transform/team/web", strings.TrimPrefix(first.Digest, "sha256:")+".tar.gz"))
	require.NoError(t, err)
	require.Equal(t, first.Digest, digests.Of(data))
	require.Len(t, data, int(first.Size))

	read, err := s.Files(t.Context(), owner(), first.Digest)
	require.NoError(t, err)
	require.Equal(t, files("a", "b", "c"), read)
	require.Len(t, names(t, dir), 1, "nothing is left of what was written")

	other, _ := opened(t)
	require.Equal(t, first.Digest, put(t, other, "a", "b", "c"), "a volume that was lost is made again")
}

func TestWhatCannotBePackedIsRefused(t *testing.T) {
	s, dir := opened(t)
	s.limits = artifact.Limits{Files: 2, Bytes: 1 << 10}
	for what, given := range map[string][]emit.File{
		"two of one name":   {{Path: "a/x.yaml", Data: []byte("a")}, {Path: "b/x.yaml", Data: []byte("b")}},
		"too many":          files("a", "b", "c"),
		"too large":         files(strings.Repeat("a", 2<<10)),
		"a kustomization":   {{Path: "kustomization.yaml", Data: []byte("a")}},
		"a name with a dot": {{Path: "..", Data: []byte("a")}},
	} {
		_, err := s.Put(owner(), given)
		require.Error(t, err, what)
	}
	require.Empty(t, names(t, dir))
}

func TestAnEmptyArtifactIsThatOfATransformThatAllowsIt(t *testing.T) {
	s, dir := opened(t)
	_, err := s.Put(owner(), nil)
	require.NoError(t, err)
	require.NotEmpty(t, names(t, dir))
}

func TestNamesNeverLeadElsewhere(t *testing.T) {
	s, dir := opened(t)
	for _, bad := range []types.NamespacedName{
		{Namespace: "..", Name: "web"}, {Namespace: "team", Name: ".."}, {Namespace: "team", Name: "a/b"}, {Name: "web"},
		{Namespace: "team"}, {Namespace: "Team", Name: "web"}, {Namespace: "team", Name: strings.Repeat("a", 254)}, {Namespace: "a.b", Name: "web"},
	} {
		_, err := s.Put(bad, files("a"))
		require.ErrorIs(t, err, ErrName, bad)
		_, err = s.Retain(bad, nil, nil, time.Now())
		require.ErrorIs(t, err, ErrName, bad)
	}
	for _, bad := range []string{"", "sha256:", "sha256:../../x", "sha256:" + strings.Repeat("A", 64), strings.Repeat("a", 64), "sha512:" + strings.Repeat("a", 64)} {
		_, err := s.Files(t.Context(), owner(), bad)
		require.ErrorIs(t, err, ErrName, bad)
		_, err = s.Plan(owner(), bad)
		require.ErrorIs(t, err, ErrName, bad)
	}
	require.Empty(t, names(t, dir))
	long := types.NamespacedName{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("a", 253)}
	_, err := s.Put(long, files("a"))
	require.NoError(t, err, "the longest names that there are")
}

func TestASymlinkLeadsNowhere(t *testing.T) {
	s, dir := opened(t)
	outside := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "transform/team"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "transform/team/web")))
	_, err := s.Put(owner(), files("a"))
	require.Error(t, err)
	require.Empty(t, names(t, outside))

	require.NoError(t, os.Remove(filepath.Join(dir, "transform/team/web")))
	digest := put(t, s, "a")
	name := filepath.Join(dir, "transform/team/web", strings.TrimPrefix(digest, "sha256:")+".tar.gz")
	secret := filepath.Join(outside, "secret")
	require.NoError(t, os.Rename(name, secret))
	require.NoError(t, os.Symlink(secret, name))
	_, err = s.Files(t.Context(), owner(), digest)
	require.Error(t, err)
	_, err = s.Stat(owner(), digest)
	require.ErrorIs(t, err, delivery.ErrGone)
	require.Equal(t, digest, put(t, s, "a"), "it is made again in its place")
	_, err = s.Files(t.Context(), owner(), digest)
	require.NoError(t, err)
}

func TestWhatWasLeftHalfWrittenIsClearedAway(t *testing.T) {
	s, dir := opened(t)
	old, young := filepath.Join(dir, "incoming", "old"), filepath.Join(dir, "incoming", "young")
	for _, name := range []string{old, young} {
		require.NoError(t, os.WriteFile(name, []byte("half"), 0o600))
	}
	now := time.Now()
	require.NoError(t, os.Chtimes(old, now, now.Add(-halfWritten)))
	require.NoError(t, s.Clear(now))
	require.Equal(t, []string{"incoming/young"}, names(t, dir), "another process may be at it yet")
}

func TestOpeningNeedsAFolder(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Path: dir, URL: "http://artifacts.example/"})
	require.NoError(t, err)
	require.Equal(t, "http://artifacts.example", s.url)
	require.NoError(t, s.Close())
	_, err = Open(Options{Path: filepath.Join(dir, "none")})
	require.ErrorContains(t, err, "a folder that is there")
}

func TestAPlanIsReadBackOrGone(t *testing.T) {
	s, dir := opened(t)
	plan := Plan{
		Desired: delivery.Desired{Digest: put(t, s, "a"), Revision: "main@sha1:1", Layers: []delivery.Layer{{Name: "layer-01", Barrier: "layer-01"}}},
		Origins: map[string]Origin{"sha256:1": {Revision: "main@sha1:1"}},
	}
	_, err := s.Plan(owner(), plan.Desired.Digest)
	require.ErrorIs(t, err, delivery.ErrGone)
	require.ErrorContains(t, err, plan.Desired.Digest)
	require.NoError(t, s.PutPlan(owner(), plan))
	read, err := s.Plan(owner(), plan.Desired.Digest)
	require.NoError(t, err)
	require.Equal(t, plan, read)

	name := filepath.Join(dir, "transform/team/web", strings.TrimPrefix(plan.Desired.Digest, "sha256:")+".json")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(data), "layer-01", "layer-02", 1)), 0o600))
	_, err = s.Plan(owner(), plan.Desired.Digest)
	require.ErrorIs(t, err, delivery.ErrGone, "a plan that somebody changed is not delivered")
}

func TestWhatNobodyNeedsGoesAfterAWhile(t *testing.T) {
	s, dir := opened(t)
	now := time.Now()
	retain := func(complete, others []string) []string {
		t.Helper()
		removed, err := s.Retain(owner(), complete, others, now)
		require.NoError(t, err)
		return removed
	}
	old, layer, announced := put(t, s, "old"), put(t, s, "layer"), put(t, s, "announced")
	require.NoError(t, s.PutPlan(owner(), Plan{Desired: delivery.Desired{Digest: old, Layers: []delivery.Layer{{Digest: layer}}}}))

	require.Empty(t, retain([]string{old}, []string{announced}))
	now = now.Add(24 * time.Hour)
	require.Empty(t, retain([]string{old}, []string{announced}))
	require.Len(t, names(t, dir), 4, "what is needed stays, however old it is")

	require.Empty(t, retain(nil, []string{announced}))
	now = now.Add(time.Minute - time.Second)
	require.Empty(t, retain(nil, []string{announced}), "since a day, but not needed for less than the TTL")
	require.False(t, func() bool { stored, err := s.Put(owner(), files("layer")); require.NoError(t, err); return stored.New }())

	again, err := Open(Options{Path: dir, URL: "artifacts.example", TTL: time.Minute})
	require.NoError(t, err)
	defer again.Close()
	s, now = again, now.Add(time.Second)
	removed := retain(nil, []string{announced})
	hex := strings.TrimPrefix(old, "sha256:")
	require.Equal(t, []string{"transform/team/web/" + hex + ".tar.gz", "transform/team/web/" + hex + ".json"}, removed,
		"the time goes on over a restart, and began anew for what was published again")

	now = now.Add(time.Hour)
	require.Len(t, retain(nil, nil), 1)
	now = now.Add(time.Hour)
	require.Len(t, retain(nil, nil), 1)
	require.NoDirExists(t, filepath.Join(dir, "transform/team"))
	require.Empty(t, retain(nil, nil))
}

func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	s, dir := opened(t)
	put(t, s, "a")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "transform/team/web/notes.txt"), nil, 0o600))
	for range 3 {
		_, err := s.Retain(owner(), nil, nil, time.Now().Add(time.Hour))
		require.NoError(t, err)
	}
	require.Contains(t, names(t, dir), "transform/team/web/notes.txt")
}

func TestADamagedArchiveIsFoundAndRemoved(t *testing.T) {
	s, dir := opened(t)
	good, bad := put(t, s, "good"), put(t, s, "bad")
	name := filepath.Join(dir, "transform/team/web", strings.TrimPrefix(bad, "sha256:")+".tar.gz")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(name, data, 0o600))

	_, err = s.Files(t.Context(), owner(), bad)
	require.ErrorIs(t, err, delivery.ErrGone)
	found, err := s.Verify(t.Context(), owner())
	require.NoError(t, err)
	require.Equal(t, []string{bad}, found)
	require.NoFileExists(t, name)
	_, err = s.Stat(owner(), good)
	require.NoError(t, err)
	found, err = s.Verify(t.Context(), owner())
	require.NoError(t, err)
	require.Empty(t, found)
	put(t, s, "bad")
	_, err = s.Files(t.Context(), owner(), bad)
	require.NoError(t, err)
}

// TestPublishingAndClearingAwayMeet: whoever has published a file finds it, though
// another one is clearing it away.
func TestPublishingAndClearingAwayMeet(t *testing.T) {
	s, _ := opened(t)
	s.ttl = 0
	var wait sync.WaitGroup
	stop := make(chan struct{})
	wait.Go(func() {
		for now := time.Now(); ; now = now.Add(time.Hour) {
			select {
			case <-stop:
				return
			default:
				_, _ = s.Retain(owner(), nil, nil, now)
			}
		}
	})
	for range 200 {
		stored, err := s.Put(owner(), files("a"))
		if err != nil {
			require.ErrorIs(t, err, os.ErrNotExist, "it was cleared away again, at once")
			continue
		}
		require.NotEmpty(t, stored.Digest)
	}
	close(stop)
	wait.Wait()
	_, err := s.Files(t.Context(), owner(), put(t, s, "a"))
	require.NoError(t, err)
}
