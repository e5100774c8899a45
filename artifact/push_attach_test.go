// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// pushWith pushes a set with texts attached to it, as a process of its own does.
func pushWith(ctx context.Context, o *servers.OCI, to string, set artifact.Set, texts ...string) (artifact.Pushed, error) {
	return artifact.Push(ctx, repository(o, to), set, []string{"v1"}, artifact.PushOptions{At: time.Now(), Sealed: func(ctx context.Context, pushed artifact.Pushed) error {
		for _, text := range texts {
			r := artifact.Referrer{ArtifactType: "text/x-note", Data: []byte(text + " of " + pushed.Digest)}
			if _, err := artifact.Attach(ctx, repository(o, to), set.Complete.Descriptor, r); err != nil {
				return err
			}
		}
		return nil
	}})
}

// notes are what is attached to a set, by its text.
func notes(t *testing.T, o *servers.OCI, to string, set artifact.Set) map[string]bool {
	t.Helper()
	from, subject := repository(o, to), set.Complete.Descriptor
	list, err := artifact.Referrers(t.Context(), from, subject, "text/x-note")
	require.NoError(t, err)
	out := map[string]bool{}
	for _, d := range list {
		text, err := artifact.ReadReferrer(t.Context(), from, subject, d, 0)
		require.NoError(t, err)
		out[string(text)] = true
	}
	return out
}

func TestWhatIsAttachedToAPushIsThereBeforeItsTag(t *testing.T) {
	t.Parallel()
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			set := artifacts.Single(t, "cut", "")
			_, err := artifact.Push(t.Context(), repository(o, "cut"), set, []string{"v1"}, artifact.PushOptions{
				At: time.Now(), Sealed: func(context.Context, artifact.Pushed) error { return context.DeadlineExceeded },
			})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = repository(o, "cut").Resolve(t.Context(), "v1")
			require.ErrorIs(t, err, artifact.ErrNotFound)
			_, err = pushWith(t.Context(), o, "cut", set, "one")
			require.NoError(t, err)
			require.Len(t, notes(t, o, "cut", set), 1)
			// Once more changes nothing, and another render keeps its own.
			again, err := pushWith(t.Context(), o, "cut", set, "one")
			require.NoError(t, err)
			require.False(t, again.Changed)
			other := artifacts.Single(t, "other", "")
			_, err = pushWith(t.Context(), o, "cut", other, "one", "two")
			require.NoError(t, err)
			back, err := pushWith(t.Context(), o, "cut", set, "one", "new")
			require.NoError(t, err)
			require.True(t, back.Changed)
			require.Len(t, notes(t, o, "cut", set), 2, "what was attached already is not there twice")
			require.Len(t, notes(t, o, "cut", other), 2)
		})
	}
}
