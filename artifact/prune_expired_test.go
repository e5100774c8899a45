// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// expiring is a set with two barrier layers that expires then.
func expiring(t *testing.T, first, second string, expires time.Time) artifact.Set {
	t.Helper()
	set, err := artifact.PackSet(artifacts.Tree("0.yaml", first, "1.yaml", second), []artifact.Layer{
		{Name: "base", FS: artifacts.Tree("0.yaml", first)}, {Name: "apps", FS: artifacts.Tree("1.yaml", second)},
	}, artifact.Options{Expires: expires})
	require.NoError(t, err)
	return set
}

func TestPruneOfTheExpiredKeepsAllElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		push := func(set artifact.Set, tags ...string) artifact.Pushed {
			return artifacts.Push(t, open("shop"), set, tags...)
		}
		// Two are over, one of them with a tag of its own and one under two tags. The layer
		// base of the first is that of one that stays.
		over := push(expiring(t, "base", "1", at.Add(time.Hour)), "pr-1")
		over2 := push(expiring(t, "other", "2", at.Add(90*time.Minute)), "pr-2", "pr-2-again")
		young := push(expiring(t, "base", "3", at.Add(2*time.Hour)), "pr-3")
		forever := push(artifacts.Layered(t, "base", "4", ""), "v1")
		untagged := push(artifacts.Layered(t, "base", "5", ""), "v2")
		push(artifacts.Layered(t, "base", "6", ""), "v2")
		odd, err := artifact.PackSet(artifacts.Tree("0.yaml", "7"), nil, artifact.Options{Expires: at})
		require.NoError(t, err)
		odd = withExpiry(t, odd, "tomorrow")
		empty, err := artifact.PackSet(artifacts.Tree("0.yaml", "8"), nil, artifact.Options{Expires: at})
		require.NoError(t, err)
		none := push(withExpiry(t, empty, ""), "pr-5")
		bad := push(odd, "pr-4")
		attached := attach(t, open("shop"), expiring(t, "other", "2", at.Add(90*time.Minute)).Complete.Descriptor, 1)

		opts := artifact.PruneOptions{Keep: 100, After: at.Add(-time.Hour), Expired: at.Add(90 * time.Minute)}
		early, err := artifact.Prune(t.Context(), open("shop"), artifact.PruneOptions{Expired: at.Add(time.Hour - time.Second)})
		require.NoError(t, err)
		require.Empty(t, append(early.Deleted, early.Refused...))
		dry := opts
		dry.DryRun = true
		planned, err := artifact.Prune(t.Context(), open("shop"), dry)
		require.NoError(t, err)
		want := []string{over.Digest, over.Layers[1].Digest, over2.Digest, over2.Layers[0].Digest, over2.Layers[1].Digest}
		slices.Sort(want)
		require.Equal(t, want, planned.Deleted)
		require.ElementsMatch(t, []string{
			bad.Digest + `: annotation dev.ropewalk.expires: "tomorrow" is not an instant such as 2026-01-31T12:00:00Z`,
			none.Digest + `: annotation dev.ropewalk.expires: "" is not an instant such as 2026-01-31T12:00:00Z`,
		}, planned.Problems)

		done, err := artifact.Prune(t.Context(), open("shop"), opts)
		require.NoError(t, err)
		require.Equal(t, planned.Problems, done.Problems)
		for _, kept := range []artifact.Pushed{young, forever, untagged, bad, none} {
			require.Contains(t, done.Kept, kept.Digest)
			for _, layer := range append([]artifact.LayerRef{{}}, kept.Layers...) {
				_, err := artifact.Pull(t.Context(), open("shop"), kept.Digest, artifact.PullOptions{Layer: layer.Name})
				require.NoError(t, err, layer.Name)
			}
		}
		if len(done.Refused) > 0 {
			require.Equal(t, want, done.Refused)
			return
		}
		require.Equal(t, want, done.Deleted)
		for _, gone := range []string{"pr-1", "pr-2", "pr-2-again", over2.Digest, over2.Layers[0].Digest, attached[0]} {
			_, err := artifact.Inspect(t.Context(), open("shop"), gone, artifact.PullOptions{})
			require.ErrorIs(t, err, artifact.ErrNotFound, gone)
		}
	})
}

// withExpiry is a set whose expiry is another text, as another program may write it.
func withExpiry(t *testing.T, set artifact.Set, text string) artifact.Set {
	t.Helper()
	out := *set.Complete
	out.Manifest = regexp.MustCompile(`("dev.ropewalk.expires": ?)"[^"]*"`).ReplaceAll(out.Manifest, []byte(`${1}"`+text+`"`))
	require.Contains(t, string(out.Manifest), text)
	out.Descriptor = manifest.Describe(artifact.TypeManifest, out.Manifest)
	return artifact.Set{Complete: &out}
}

func TestAPushBeginsTheExpiryAnew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		expiry := func() string {
			seen, err := artifact.Inspect(t.Context(), open("shop"), "pr-1", artifact.PullOptions{})
			require.NoError(t, err)
			return seen.Annotations[artifact.AnnotationExpires]
		}
		first := artifacts.Push(t, open("shop"), expiring(t, "a", "b", at.Add(time.Hour)), "pr-1")
		require.Equal(t, "2026-11-21T14:15:00Z", expiry())
		again := artifacts.Push(t, open("shop"), expiring(t, "a", "b", at.Add(time.Hour+time.Millisecond).In(time.FixedZone("", 3600))), "pr-1")
		require.False(t, again.Changed, "it is the same second")
		later := artifacts.Push(t, open("shop"), expiring(t, "a", "b", at.Add(2*time.Hour)), "pr-1")
		require.True(t, later.Changed)
		require.NotEqual(t, first.Digest, later.Digest)
		require.Equal(t, first.Layers, later.Layers, "layers have no expiry")
		require.Equal(t, "2026-11-21T15:15:00Z", expiry())

		pruned, err := artifact.Prune(t.Context(), open("shop"), artifact.PruneOptions{Expired: at.Add(time.Hour), DryRun: true})
		require.NoError(t, err)
		require.Equal(t, []string{first.Digest}, pruned.Deleted, "what was under the tag before")

		kept := artifacts.Push(t, open("shop"), artifacts.Layered(t, "a", "b", ""), "pr-1")
		require.True(t, kept.Changed)
		require.Empty(t, expiry())
	})
}

func TestAPruneThatIsCutShortGoesOn(t *testing.T) {
	t.Parallel()
	server := servers.InProcess(t)
	push := artifacts.Push(t, repository(server, "shop"), expiring(t, "a", "b", at), "pr-1")
	deleted := 0
	server.Fault(func(r *http.Request) (http.Handler, bool) {
		if r.Method == http.MethodDelete {
			deleted++
		}
		return servers.Answer(http.StatusForbidden, "DENIED", "not now"), deleted == 2
	})
	opts := artifact.PruneOptions{Expired: at}
	_, err := artifact.Prune(t.Context(), repository(server, "shop"), opts)
	require.Error(t, err)
	server.Fault(nil)
	_, err = artifact.Prune(t.Context(), repository(server, "shop"), opts)
	require.NoError(t, err)
	for _, digest := range []string{push.Digest, push.Layers[0].Digest, push.Layers[1].Digest} {
		_, err := artifact.Inspect(t.Context(), repository(server, "shop"), digest, artifact.PullOptions{})
		require.ErrorIs(t, err, artifact.ErrNotFound)
	}
}

func TestTheExpiryIsWrittenByThePackerOnly(t *testing.T) {
	t.Parallel()
	_, err := artifact.Pack(artifacts.Tree("a.yaml", "a"), artifact.Options{Annotations: map[string]string{artifact.AnnotationExpires: "x"}})
	require.ErrorIs(t, err, artifact.ErrShape)
}
