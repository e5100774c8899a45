// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/test/artifacts"
)

func TestPruneKeepsWhatIsLiveNewOrPartOfIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		var pushes []artifact.Pushed
		for i := range 5 {
			// The base layer stays the same, so that all wholes share it.
			set := artifacts.Layered(t, "base", fmt.Sprint(i), "")
			pushed, err := artifact.Push(ctx, open("shop"), set, []string{"v1", fmt.Sprintf("v1.%d", i%2*9)}, artifact.PushOptions{At: at.Add(time.Duration(i) * time.Hour)})
			require.NoError(t, err)
			pushes = append(pushes, pushed)
		}
		attach(t, open("shop"), artifacts.Layered(t, "base", "0", "").Complete.Descriptor, 1)
		// v1 and v1.0 lead to the last, v1.9 to the one before it.
		dry, err := artifact.Prune(ctx, open("shop"), artifact.PruneOptions{Keep: 3, DryRun: true})
		require.NoError(t, err)
		old := []string{pushes[0].Digest, pushes[1].Digest, pushes[0].Layers[1].Digest, pushes[1].Layers[1].Digest}
		slices.Sort(old)
		require.Equal(t, old, dry.Deleted)
		require.Len(t, dry.Kept, 3+3+1)
		byAge, err := artifact.Prune(ctx, open("shop"), artifact.PruneOptions{After: at.Add(30 * time.Minute), DryRun: true})
		require.NoError(t, err)
		require.Len(t, byAge.Deleted, 2)

		done, err := artifact.Prune(ctx, open("shop"), artifact.PruneOptions{Keep: 3})
		require.NoError(t, err)
		for i, p := range pushes {
			_, err := artifact.Pull(ctx, open("shop"), p.Digest, artifact.PullOptions{})
			if i < 2 && len(done.Refused) == 0 {
				require.ErrorIs(t, err, artifact.ErrNotFound)
				continue
			}
			require.NoError(t, err)
			for _, layer := range []string{"base", "apps"} {
				_, err := artifact.Pull(ctx, open("shop"), p.Digest, artifact.PullOptions{Layer: layer})
				require.NoError(t, err)
			}
		}
		if len(done.Refused) > 0 {
			require.Equal(t, old, done.Refused)
			require.Empty(t, done.Deleted)
			require.Contains(t, done.Reason, "the registry does not delete")
			return
		}
		require.Equal(t, old, done.Deleted)
		again, err := artifact.Prune(ctx, open("shop"), artifact.PruneOptions{Keep: 3})
		require.NoError(t, err)
		require.Empty(t, again.Deleted)
		all, err := artifact.Prune(ctx, open("shop"), artifact.PruneOptions{})
		require.NoError(t, err)
		require.Len(t, all.Deleted, 2)
		_, err = artifact.Pull(ctx, open("shop"), "v1.9", artifact.PullOptions{Layer: "base"})
		require.NoError(t, err)
	})
}

func TestAnotherPushOfAnOldTreeIsNew(t *testing.T) {
	t.Parallel()
	l := openLayout(t, t.TempDir())
	for i, content := range []string{"a", "b", "a", "c"} {
		_, err := artifact.Push(context.Background(), l, artifacts.Single(t, content, ""), []string{"v1"}, artifact.PushOptions{At: at.Add(time.Duration(i) * time.Minute)})
		require.NoError(t, err)
	}
	pruned, err := artifact.Prune(t.Context(), l, artifact.PruneOptions{Keep: 2})
	require.NoError(t, err)
	require.Equal(t, []string{artifacts.Single(t, "b", "").Complete.Descriptor.Digest.String()}, pruned.Deleted)
}

func TestWhereNothingIsNothingIsPruned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		pruned, err := artifact.Prune(t.Context(), open("none"), artifact.PruneOptions{})
		require.Empty(t, pruned)
		if _, is := open("none").(*layout.Layout); is {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, artifact.ErrNotFound)
	})
}

func TestInspect(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		set := artifacts.Layered(t, "kind: A\n", "kind: B\n", "main@sha1:1")
		artifacts.Push(t, open("shop"), set, "v1")
		attached := attach(t, open("shop"), set.Complete.Descriptor, 1)
		seen, err := artifact.Inspect(t.Context(), open("shop"), "v1", artifact.PullOptions{})
		require.NoError(t, err)
		require.Equal(t, set.Complete.Tree, seen.Tree)
		require.Equal(t, set.Complete.Descriptor.Digest.String(), seen.Digest)
		require.Equal(t, artifact.TypeConfig, seen.ConfigType)
		require.Len(t, seen.Layers, 2)
		require.Len(t, seen.Files, 2)
		require.EqualValues(t, 8, seen.Files[0].Size)
		require.Equal(t, []artifact.InspectedBlob{{MediaType: artifact.TypeLayer, Digest: set.Complete.Layer.Digest.String(), Size: set.Complete.Layer.Size}}, seen.Blobs)
		require.Len(t, seen.Referrers, 1)
		require.Equal(t, attached[0], seen.Referrers[0].Digest)
		require.Equal(t, typeGraph, seen.Referrers[0].ArtifactType)
		layer, err := artifact.Inspect(t.Context(), open("shop"), "v1", artifact.PullOptions{Layer: "base"})
		require.NoError(t, err)
		require.Len(t, layer.Files, 1)
		other, err := artifact.Inspect(t.Context(), open("shop"), attached[0], artifact.PullOptions{})
		require.NoError(t, err)
		require.Equal(t, `its layer is "application/vnd.example.graph+json": a render has "application/vnd.oci.image.layer.v1.tar+gzip"`, other.NotRender)
	})
}
