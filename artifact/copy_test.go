// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// attach attaches n referrers and gives their digests.
func attach(t testing.TB, to artifact.Store, subject ocispec.Descriptor, n int) []string {
	t.Helper()
	var out []string
	for i := range n {
		d, err := artifact.Attach(t.Context(), to, subject, artifact.Referrer{ArtifactType: typeGraph, Data: []byte(fmt.Sprintf("%s %d", subject.Digest, i))})
		require.NoError(t, err)
		out = append(out, d.Digest.String())
	}
	return out
}

func digests(t testing.TB, from artifact.Store, subject ocispec.Descriptor) []string {
	t.Helper()
	list, err := artifact.Referrers(t.Context(), from, subject, "")
	require.NoError(t, err)
	var out []string
	for _, d := range list {
		out = append(out, d.Digest.String())
	}
	return out
}

func TestACopyHasTheSetAndWhatIsAttached(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		set := artifacts.Layered(t, "a", "b", "")
		pushed := artifacts.Push(t, open("from"), set, "v1")
		attached := attach(t, open("from"), set.Complete.Descriptor, 2)
		attached = append(attached, attach(t, open("from"), set.Layers[1].Descriptor, 1)...)
		list, err := artifact.Referrers(ctx, open("from"), set.Layers[1].Descriptor, "")
		require.NoError(t, err)
		nested := attach(t, open("from"), list[0], 1)

		copied, err := artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true, At: at, Tags: []string{"v1", "prod"}})
		require.NoError(t, err)
		require.True(t, copied.Changed)
		require.Equal(t, pushed.Digest, copied.Digest)
		require.Equal(t, pushed.Layers, copied.Layers)
		require.ElementsMatch(t, append(attached, nested...), copied.Referrers)
		for _, layer := range []string{"", "base", "apps"} {
			_, err := artifact.Pull(ctx, open("to"), "prod", artifact.PullOptions{Layer: layer})
			require.NoError(t, err)
		}
		require.Len(t, digests(t, open("to"), set.Complete.Descriptor), 2)
		require.Len(t, digests(t, open("to"), set.Layers[1].Descriptor), 1)
		require.Equal(t, nested, digests(t, open("to"), list[0]))

		again, err := artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true, Tags: []string{"v1", "prod"}})
		require.NoError(t, err)
		require.False(t, again.Changed)
		require.Zero(t, again.Bytes)

		late := attach(t, open("from"), set.Layers[0].Descriptor, 1)
		quick, err := artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true})
		require.NoError(t, err)
		require.False(t, quick.Changed)
		require.False(t, quick.Checked)
		full, err := artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true, Check: true})
		require.NoError(t, err)
		require.Equal(t, late, full.Referrers, "what was attached after the first copy")
		require.True(t, full.Checked)
		tagged, err := artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Tags: []string{"v1", "new"}})
		require.NoError(t, err)
		require.True(t, tagged.Changed)
		byDigest, err := artifact.Copy(ctx, open("from"), open("third"), pushed.Digest, artifact.CopyOptions{})
		require.NoError(t, err)
		require.Equal(t, pushed.Digest, byDigest.Digest)
		_, err = artifact.Pull(ctx, open("third"), pushed.Digest, artifact.PullOptions{})
		require.NoError(t, err)
		_, err = artifact.Copy(ctx, open("from"), open("third"), "none", artifact.CopyOptions{})
		require.ErrorIs(t, err, artifact.ErrNotFound)
	})
}

func TestRequestsOfACopy(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]*servers.OCI{
		"in process":                         {servers.InProcess(t), servers.InProcess(t)},
		"docker-registry":                    {servers.Registry(t), servers.Registry(t)},
		"without and with the referrers API": {servers.Registry(t), servers.InProcess(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := pair[0], pair[1]
			set := artifacts.Single(t, "a", "")
			artifacts.Push(t, repository(from, "shop"), set, "v1")
			attach(t, repository(from, "shop"), set.Complete.Descriptor, 2)
			count := func(f func() error) int {
				from.Reset()
				to.Reset()
				require.NoError(t, f())
				return len(from.Requests()) + len(to.Requests())
			}
			requests := func(name string, opts artifact.CopyOptions) int {
				return count(func() error {
					_, err := artifact.Copy(t.Context(), repository(from, "shop"), repository(to, name), "v1", opts)
					return err
				})
			}
			oras := count(func() error {
				_, err := oras.ExtendedCopy(t.Context(), repository(from, "shop"), "v1", repository(to, "oras"), "v1", oras.DefaultExtendedCopyOptions)
				return err
			})
			fresh := requests("shop", artifact.CopyOptions{Referrers: true, At: at})
			same := requests("shop", artifact.CopyOptions{Referrers: true})
			plain := requests("shop", artifact.CopyOptions{})
			checked := requests("shop", artifact.CopyOptions{Referrers: true, Check: true})
			// The everyday promotion: the tag leads to another artifact.
			next := artifacts.Single(t, "b", "")
			artifacts.Push(t, repository(from, "shop"), next, "v1")
			attach(t, repository(from, "shop"), next.Complete.Descriptor, 2)
			moved := requests("shop", artifact.CopyOptions{Referrers: true, At: at})
			t.Logf("a tag that moves %d, fresh with two referrers %d (oras %d), nothing to do %d (without referrers %d, checked %d)", moved, fresh, oras, same, plain, checked)
			require.LessOrEqual(t, fresh, oras)
			require.LessOrEqual(t, moved, oras)
			require.Equal(t, 2, same)
			require.Equal(t, 2, plain)
			require.LessOrEqual(t, checked, 18)
		})
	}
}

func TestBlobsAreMountedWhereTheRegistryLetsThem(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	set := artifacts.Single(t, strings.Repeat("a", 100), "")
	artifacts.Push(t, repository(o, "from"), set, "v1")
	o.Reset()
	_, err := artifact.Copy(t.Context(), repository(o, "from"), repository(o, "to"), "v1", artifact.CopyOptions{MountFrom: "from"})
	require.NoError(t, err)
	for _, r := range o.Requests() {
		require.False(t, r.Method == http.MethodPut && strings.Contains(r.Path, "/blobs/"), "%s", r)
	}
	// A registry that refuses gets the blob.
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(http.StatusForbidden, "DENIED", "no mounts here"), r.URL.Query().Has("mount")
	})
	_, err = artifact.Copy(t.Context(), repository(o, "from"), repository(o, "third"), "v1", artifact.CopyOptions{MountFrom: "from"})
	require.NoError(t, err)
	o.Fault(nil)
	_, err = artifact.Pull(t.Context(), repository(o, "third"), "v1", artifact.PullOptions{})
	require.NoError(t, err)
}

func TestACopyThatIsCutShortMovesNoTagAndIsMadeGoodByTheNext(t *testing.T) {
	t.Parallel()
	from, to := servers.InProcess(t), servers.InProcess(t, servers.NoReferrers())
	set := artifacts.Layered(t, "a", "b", "")
	artifacts.Push(t, repository(from, "shop"), set, "v1")
	attach(t, repository(from, "shop"), set.Complete.Descriptor, 2)
	requests := func() int {
		to.Reset()
		_, err := artifact.Copy(t.Context(), repository(from, "shop"), repository(to, "count"), "v1", artifact.CopyOptions{Referrers: true, At: time.Now()})
		require.NoError(t, err)
		return len(to.Requests())
	}()
	for n := range requests {
		name := fmt.Sprintf("cut%d", n)
		seen := make(chan struct{}, n)
		to.Fault(func(*http.Request) (http.Handler, bool) {
			select {
			case seen <- struct{}{}:
				return nil, false
			default:
				return servers.Reset(), true
			}
		})
		opts := artifact.CopyOptions{Referrers: true, At: time.Now()}
		_, err := artifact.Copy(t.Context(), repository(from, "shop"), repository(to, name), "v1", opts)
		to.Fault(nil)
		if err == nil {
			continue // in this run it got by with fewer requests
		}
		_, err = repository(to, name).Resolve(t.Context(), "v1")
		require.ErrorIs(t, err, artifact.ErrNotFound)
		_, err = artifact.Copy(t.Context(), repository(from, "shop"), repository(to, name), "v1", opts)
		require.NoError(t, err)
		require.Len(t, digests(t, repository(to, name), set.Complete.Descriptor), 2)
		_, err = artifact.Pull(t.Context(), repository(to, name), "v1", artifact.PullOptions{Layer: "apps"})
		require.NoError(t, err)
	}
}

func TestACopyTakesNothingThatWasAltered(t *testing.T) {
	t.Parallel()
	from := servers.InProcess(t)
	set := artifacts.Single(t, strings.Repeat("a", 5000), "")
	artifacts.Push(t, repository(from, "shop"), set, "v1")
	flip := func(b []byte) []byte {
		b = bytes.Clone(b)
		b[len(b)-1] ^= 1
		return b
	}
	dir := t.TempDir()
	to := openLayout(t, dir)
	for _, part := range []string{"/blobs/", "/manifests/"} {
		from.Fault(func(r *http.Request) (http.Handler, bool) {
			return servers.Alter(from.Server(), flip), r.Method == http.MethodGet && strings.Contains(r.URL.Path, part)
		})
		_, err := artifact.Copy(t.Context(), repository(from, "shop"), to, "v1", artifact.CopyOptions{})
		require.ErrorIs(t, err, artifact.ErrDigest)
		_, err = to.Resolve(t.Context(), "v1")
		require.ErrorIs(t, err, artifact.ErrNotFound)
	}
	require.NoError(t, artifacts.VerifyLayout(dir))
}

func TestLargeBlobsAreStreamed(t *testing.T) {
	t.Parallel()
	from, to := servers.InProcess(t), servers.InProcess(t)
	noise := make([]byte, 9<<20)
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	raw(t, repository(from, "big"), artifact.TypeLayer, noise, "v1", nil)
	_, err := artifact.Copy(t.Context(), repository(from, "big"), repository(to, "big"), "v1", artifact.CopyOptions{})
	require.NoError(t, err)
	from.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Alter(from.Server(), func(b []byte) []byte { b = bytes.Clone(b); b[len(b)-1] ^= 1; return b }), strings.Contains(r.URL.Path, "/blobs/")
	})
	_, err = artifact.Copy(t.Context(), repository(from, "big"), repository(to, "other"), "v1", artifact.CopyOptions{})
	require.ErrorIs(t, err, artifact.ErrDigest)
}

func TestAnIndexIsCopiedWithItsManifests(t *testing.T) {
	t.Parallel()
	from, to := servers.InProcess(t), servers.InProcess(t)
	ctx := t.Context()
	a, b := artifacts.Single(t, "a", ""), artifacts.Single(t, "b", "")
	artifacts.Push(t, repository(from, "x"), a, "a")
	artifacts.Push(t, repository(from, "x"), b, "b")
	index := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[` + text(a.Complete.Descriptor) + "," + text(b.Complete.Descriptor) + `]}`)
	require.NoError(t, repository(from, "x").PushReference(ctx, describe(ocispec.MediaTypeImageIndex, index), bytes.NewReader(index), "all"))
	_, err := artifact.Copy(ctx, repository(from, "x"), repository(to, "x"), "all", artifact.CopyOptions{})
	require.NoError(t, err)
	_, err = artifact.Pull(ctx, repository(to, "x"), b.Complete.Descriptor.Digest.String(), artifact.PullOptions{})
	require.NoError(t, err)
	_, err = artifact.Pull(ctx, repository(to, "x"), "all", artifact.PullOptions{})
	require.ErrorIs(t, err, artifact.ErrShape)
}

func TestAListOfReferrersThatLiesIsFoundOut(t *testing.T) {
	t.Parallel()
	from := servers.Registry(t)
	set, other := artifacts.Single(t, "a", ""), artifacts.Single(t, "b", "")
	artifacts.Push(t, repository(from, "shop"), set, "v1")
	artifacts.Push(t, repository(from, "shop"), other, "v2")
	index := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[` + text(other.Complete.Descriptor) + `]}`)
	require.NoError(t, repository(from, "shop").PushReference(t.Context(), describe(ocispec.MediaTypeImageIndex, index), bytes.NewReader(index),
		strings.Replace(set.Complete.Descriptor.Digest.String(), ":", "-", 1)))
	to := openLayout(t, t.TempDir())
	_, err := artifact.Copy(t.Context(), repository(from, "shop"), to, "v1", artifact.CopyOptions{Referrers: true})
	require.ErrorIs(t, err, artifact.ErrShape)
	require.ErrorContains(t, err, "is not a referrer of")
	_, err = to.Resolve(t.Context(), "v1")
	require.ErrorIs(t, err, artifact.ErrNotFound)
}

// lying is a store that gives another manifest than the one asked for.
type lying struct {
	artifact.Store
	gives string
}

func (l lying) FetchReference(ctx context.Context, _ string) (ocispec.Descriptor, io.ReadCloser, error) {
	return l.Store.FetchReference(ctx, l.gives)
}

func (l lying) Resolve(ctx context.Context, _ string) (ocispec.Descriptor, error) {
	return l.Store.Resolve(ctx, l.gives)
}

func TestAStoreThatGivesAnotherManifestForADigestIsFoundOut(t *testing.T) {
	t.Parallel()
	l := openLayout(t, t.TempDir())
	one := artifacts.Push(t, l, artifacts.Single(t, "a", ""), "v1")
	artifacts.Push(t, l, artifacts.Single(t, "b", ""), "v2")
	_, err := artifact.Pull(t.Context(), lying{l, "v2"}, one.Digest, artifact.PullOptions{})
	require.ErrorIs(t, err, artifact.ErrDigest)
	_, err = artifact.Copy(t.Context(), lying{l, "v2"}, openLayout(t, t.TempDir()), one.Digest, artifact.CopyOptions{})
	require.ErrorIs(t, err, artifact.ErrDigest)
}
