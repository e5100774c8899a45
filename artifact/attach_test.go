// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

const typeGraph = "application/vnd.example.graph+json"

func TestWhatIsAttachedIsListedAndRead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		set := artifacts.Single(t, "a", "")
		artifacts.Push(t, open("shop"), set, "v1")
		subject := set.Complete.Descriptor
		list, err := artifact.Referrers(ctx, open("shop"), subject, "")
		require.NoError(t, err)
		require.Empty(t, list)
		want := map[string]string{}
		for i := range 3 {
			r := artifact.Referrer{ArtifactType: fmt.Sprintf("application/vnd.example.%d", i%2), MediaType: typeGraph, Data: []byte(fmt.Sprint(i)), Annotations: map[string]string{"n": fmt.Sprint(i)}}
			d, err := artifact.Attach(ctx, open("shop"), subject, r)
			require.NoError(t, err)
			want[d.Digest.String()] = fmt.Sprint(i)
			again, err := artifact.Attach(ctx, open("shop"), subject, r)
			require.NoError(t, err)
			require.Equal(t, d.Digest, again.Digest)
		}
		list, err = artifact.Referrers(ctx, open("shop"), subject, "")
		require.NoError(t, err)
		require.Len(t, list, 3)
		for _, d := range list {
			data, err := artifact.ReadReferrer(ctx, open("shop"), subject, d, 0)
			require.NoError(t, err)
			require.Equal(t, want[d.Digest.String()], string(data))
			require.Equal(t, string(data), d.Annotations["n"])
		}
		list, err = artifact.Referrers(ctx, open("shop"), subject, "application/vnd.example.1")
		require.NoError(t, err)
		require.Len(t, list, 1)
		_, err = artifact.ReadReferrer(ctx, open("shop"), list[0], list[0], 0)
		require.ErrorContains(t, err, "is not a referrer of")
	})
}

func TestAttachingTheSameAgainAsksAndWritesNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		o    *servers.OCI
		most int
	}{
		"in process": {servers.InProcess(t), 3}, // the list, the manifest and the content
		// That there is no API, the list, the manifest and the content: the list is
		// the word of whoever wrote it.
		"docker-registry": {servers.Registry(t), 4},
	} {
		t.Run(name, func(t *testing.T) {
			o := tt.o
			set := artifacts.Single(t, "a", "")
			artifacts.Push(t, repository(o, "shop"), set, "v1")
			r := artifact.Referrer{ArtifactType: typeGraph, Data: []byte("{}\n")}
			_, err := artifact.Attach(t.Context(), repository(o, "shop"), set.Complete.Descriptor, r)
			require.NoError(t, err)
			o.Reset()
			_, err = artifact.Attach(t.Context(), repository(o, "shop"), set.Complete.Descriptor, r)
			require.NoError(t, err)
			for _, request := range o.Requests() {
				require.Equal(t, "GET", request.Method)
			}
			require.LessOrEqual(t, len(o.Requests()), tt.most)
		})
	}
}

func TestWhatIsUnderTheTagOfReferrersAndNoListIsNoList(t *testing.T) {
	t.Parallel()
	o := servers.Registry(t)
	ctx := t.Context()
	set := artifacts.Single(t, "a", "")
	subject := set.Complete.Descriptor
	tag := strings.Replace(subject.Digest.String(), ":", "-", 1)
	artifacts.Push(t, repository(o, "shop"), set, "v1")
	for name, put := range map[string]func() error{
		"the subject itself": func() error {
			return repository(o, "shop").PushReference(ctx, subject, bytes.NewReader(set.Complete.Manifest), tag)
		},
		"an artifact": func() error {
			other := artifacts.Single(t, "b", "")
			artifacts.Push(t, repository(o, "shop"), other, "v2")
			return repository(o, "shop").PushReference(ctx, other.Complete.Descriptor, bytes.NewReader(other.Complete.Manifest), tag)
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, put())
			list, err := artifact.Referrers(ctx, repository(o, "shop"), subject, "")
			require.NoError(t, err)
			require.Empty(t, list)
			d, err := artifact.Attach(ctx, repository(o, "shop"), subject, artifact.Referrer{ArtifactType: typeGraph, Data: []byte(name)})
			require.NoError(t, err)
			list, err = artifact.Referrers(ctx, repository(o, "shop"), subject, "")
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, d.Digest, list[0].Digest)
		})
	}
}

func TestARegistryThatRefusesToDeleteOldListsDoesNoHarm(t *testing.T) {
	t.Parallel()
	o := servers.Registry(t)
	set := artifacts.Single(t, "a", "")
	artifacts.Push(t, repository(o, "shop"), set, "v1")
	for i := range 3 {
		repo := repository(o, "shop")
		repo.SkipReferrersGC = false // what oras-go does by itself
		_, err := artifact.Attach(t.Context(), repo, set.Complete.Descriptor, artifact.Referrer{ArtifactType: typeGraph, Data: []byte{byte(i)}})
		require.NoError(t, err)
	}
	list, err := artifact.Referrers(t.Context(), repository(o, "shop"), set.Complete.Descriptor, "")
	require.NoError(t, err)
	require.Len(t, list, 3)
}

func TestManyAttachAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		set := artifacts.Single(t, "a", "")
		artifacts.Push(t, open("shop"), set, "v1")
		// One connection: without a referrers API, two processes can lose a list that
		// is then written again, which no test can time.
		store := open("shop")
		var group errgroup.Group
		for i := range 8 {
			group.Go(func() error {
				_, err := artifact.Attach(t.Context(), store, set.Complete.Descriptor, artifact.Referrer{ArtifactType: typeGraph, Data: []byte{byte(i)}})
				return err
			})
		}
		require.NoError(t, group.Wait())
		list, err := artifact.Referrers(t.Context(), open("shop"), set.Complete.Descriptor, "")
		require.NoError(t, err)
		require.Len(t, list, 8)
	})
}

func TestWhatCannotBeAttached(t *testing.T) {
	t.Parallel()
	l := openLayout(t, t.TempDir())
	set := artifacts.Single(t, "a", "")
	_, err := artifact.Attach(t.Context(), l, ocispec.Descriptor{}, artifact.Referrer{ArtifactType: typeGraph})
	require.ErrorIs(t, err, artifact.ErrReference)
	_, err = artifact.Attach(t.Context(), l, set.Complete.Layer, artifact.Referrer{ArtifactType: typeGraph})
	require.ErrorIs(t, err, artifact.ErrReference)
	_, err = artifact.Attach(t.Context(), l, set.Complete.Descriptor, artifact.Referrer{})
	require.ErrorIs(t, err, artifact.ErrShape)
}
