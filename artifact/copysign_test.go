// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
)

// imageOf writes an image of cosign v2 with these signatures, and gives its digest.
func imageOf(t testing.TB, to artifact.Store, tag string, signatures ...string) string {
	t.Helper()
	payload := []byte("payload")
	layer := text(describe("application/vnd.dev.cosign.simplesigning.v1+json", payload))
	raw(t, to, "application/vnd.dev.cosign.simplesigning.v1+json", payload, tag, func(m string) string {
		var layers []string
		for _, s := range signatures {
			layers = append(layers, strings.TrimSuffix(layer, "}")+`,"annotations":{"dev.cosignproject.cosign/signature":"`+s+`"}}`)
		}
		return strings.Replace(m, layer, strings.Join(layers, ","), 1)
	})
	d, err := to.Resolve(t.Context(), tag)
	require.NoError(t, err)
	return d.Digest.String()
}

func TestSignaturesOfCosignV2AtTheDestinationAreNotLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		set := artifacts.Single(t, "a", "")
		tag := strings.Replace(set.Complete.Descriptor.Digest.String(), ":", "-", 1) + ".sig"
		artifacts.Push(t, open("from"), set, "v1")
		artifacts.Push(t, open("to"), set, "v1")
		at := func() string {
			d, err := open("to").Resolve(ctx, tag)
			require.NoError(t, err)
			return d.Digest.String()
		}
		copyOver := func() (artifact.Copied, error) {
			return artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true, Check: true})
		}
		done := func(added int) {
			copied, err := copyOver()
			require.NoError(t, err)
			require.Equal(t, added, copied.Simple)
			require.Equal(t, added > 0, copied.Changed)
		}
		one := imageOf(t, open("from"), tag, "one")
		done(1)
		require.Equal(t, one, at())
		done(0)

		more := imageOf(t, open("to"), tag, "one", "two")
		done(0)
		require.Equal(t, more, at(), "the destination has all and one more")

		all := imageOf(t, open("from"), tag, "one", "two", "three")
		done(1)
		require.Equal(t, all, at())
		done(0)

		imageOf(t, open("from"), tag, "four")
		_, err := copyOver()
		require.ErrorIs(t, err, artifact.ErrShape)
		require.ErrorContains(t, err, "the destination has 3 layers")
		require.Equal(t, all, at(), "both sides have signatures that the other one lacks")
	})
}

func TestWhatHoldsNoSignaturesIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	_, _, private, _ := keys(t)
	set := artifacts.Single(t, "a", "")
	subject := set.Complete.Descriptor
	from, to := openLayout(t, t.TempDir()), openLayout(t, t.TempDir())
	artifacts.Push(t, from, set, "v1")
	artifacts.Push(t, to, set, "v1")
	simple(t, from, subject, private, subject.Digest.String())
	tag := strings.Replace(subject.Digest.String(), ":", "-", 1) + ".sig"
	raw(t, to, artifact.TypeLayer, []byte("something"), tag, nil)
	before, err := to.Resolve(t.Context(), tag)
	require.NoError(t, err)
	_, err = artifact.Copy(t.Context(), from, to, "v1", artifact.CopyOptions{Referrers: true, Check: true})
	require.ErrorIs(t, err, artifact.ErrShape)
	require.ErrorContains(t, err, "the destination has 1 layers")
	after, err := to.Resolve(t.Context(), tag)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
