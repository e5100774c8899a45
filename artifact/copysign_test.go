// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
)

func TestSignaturesOfCosignV2OfBothSidesArePutTogether(t *testing.T) {
	t.Parallel()
	_, ours, oursKey, _ := keys(t)
	_, theirs, theirsKey, _ := keys(t)
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		set := single(t, "a", "")
		subject := set.Complete.Descriptor
		for side, key := range map[string][]byte{"from": oursKey, "to": theirsKey} {
			push(t, open(side), set, "v1")
			simple(t, open(side), subject, key, subject.Digest.String())
		}
		copyOver := func(from, to string) artifact.Copied {
			copied, err := artifact.Copy(ctx, open(from), open(to), "v1", artifact.CopyOptions{Referrers: true, Check: true})
			require.NoError(t, err)
			return copied
		}
		require.Equal(t, 1, copyOver("from", "to").Simple)
		require.NoError(t, artifact.Verify(ctx, open("to"), subject, theirs), "who signed at the destination")
		require.NoError(t, artifact.Verify(ctx, open("to"), subject, ours))
		require.False(t, copyOver("from", "to").Changed)

		tag := strings.Replace(subject.Digest.String(), ":", "-", 1) + ".sig"
		_, content, err := open("to").FetchReference(ctx, tag)
		require.NoError(t, err)
		var merged ocispec.Manifest
		require.NoError(t, json.NewDecoder(content).Decode(&merged))
		_, _ = io.Copy(io.Discard, content)
		require.NoError(t, content.Close())
		require.Len(t, merged.Layers, 2)
		config, err := open("to").Fetch(ctx, merged.Config)
		require.NoError(t, err)
		var image ocispec.Image
		require.NoError(t, json.NewDecoder(config).Decode(&image))
		require.NoError(t, config.Close())
		require.Len(t, image.RootFS.DiffIDs, 2, "cosign adds its next signature to them")

		// The way back takes the image as it is, and then both sides are the same.
		require.Equal(t, 1, copyOver("to", "from").Simple)
		back, err := open("from").Resolve(ctx, tag)
		require.NoError(t, err)
		there, err := open("to").Resolve(ctx, tag)
		require.NoError(t, err)
		require.Equal(t, there.Digest, back.Digest)
		require.False(t, copyOver("from", "to").Changed)
	})
}

func TestWhatHoldsNoSignaturesIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	_, _, private, _ := keys(t)
	set := single(t, "a", "")
	subject := set.Complete.Descriptor
	from, to := openLayout(t, t.TempDir()), openLayout(t, t.TempDir())
	push(t, from, set, "v1")
	push(t, to, set, "v1")
	simple(t, from, subject, private, subject.Digest.String())
	tag := strings.Replace(subject.Digest.String(), ":", "-", 1) + ".sig"
	raw(t, to, artifact.TypeLayer, []byte("something"), tag, nil)
	before, err := to.Resolve(t.Context(), tag)
	require.NoError(t, err)
	_, err = artifact.Copy(t.Context(), from, to, "v1", artifact.CopyOptions{Referrers: true, Check: true})
	require.ErrorIs(t, err, artifact.ErrShape)
	require.ErrorContains(t, err, "the destination has another image there")
	after, err := to.Resolve(t.Context(), tag)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
