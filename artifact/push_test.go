// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestAPushIsPulledAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		set := artifacts.Layered(t, "kind: A\n", "kind: B\n", "main@sha1:1")
		pushed := artifacts.Push(t, open("shop"), set, "v1", "stable")
		require.True(t, pushed.Changed)
		require.Empty(t, pushed.Previous)
		require.Equal(t, set.Complete.Descriptor.Digest.String(), pushed.Digest)
		for _, reference := range []string{"v1", "stable", pushed.Digest} {
			got, err := artifact.Pull(t.Context(), open("shop"), reference, artifact.PullOptions{})
			require.NoError(t, err)
			require.Equal(t, pushed.Digest, got.Digest)
			require.Equal(t, set.Complete.Tree, got.Tree)
			require.Equal(t, []artifact.File{{Path: "0.yaml", Data: []byte("kind: A\n")}, {Path: "1.yaml", Data: []byte("kind: B\n")}}, got.Files)
			require.Equal(t, pushed.Layers, got.Layers)
			require.Equal(t, "main@sha1:1", got.Annotations[artifact.AnnotationRevision])
			again, err := artifact.Pack(got.FS, artifact.Options{})
			require.NoError(t, err)
			require.Equal(t, got.Tree, again.Tree)
		}
		layer, err := artifact.Pull(t.Context(), open("shop"), "v1", artifact.PullOptions{Layer: "apps"})
		require.NoError(t, err)
		require.Equal(t, []artifact.File{{Path: "1.yaml", Data: []byte("kind: B\n")}}, layer.Files)
		_, err = artifact.Pull(t.Context(), open("shop"), "v1", artifact.PullOptions{Layer: "none"})
		require.ErrorIs(t, err, artifact.ErrNotFound)
		require.ErrorContains(t, err, `"v1" has no layer "none": it has ["base" "apps"]`)
		_, err = artifact.Pull(t.Context(), open("shop"), "v2", artifact.PullOptions{})
		require.ErrorIs(t, err, artifact.ErrNotFound)
	})
}

func TestAnUnchangedTreeIsNoPush(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		first := artifacts.Push(t, open("shop"), artifacts.Layered(t, "a", "b", "main@sha1:1"), "v1")
		same := artifacts.Push(t, open("shop"), artifacts.Layered(t, "a", "b", "main@sha1:1"), "v1")
		require.False(t, same.Changed)
		require.Equal(t, first.Digest, same.Digest)
		later := artifacts.Push(t, open("shop"), artifacts.Layered(t, "a", "b", "main@sha1:2"), "v1")
		require.False(t, later.Changed, "another revision of the same tree is no other render")
		require.Equal(t, first.Digest, later.Digest)
		require.Equal(t, first.Layers, later.Layers)
		require.Zero(t, later.Uploaded)

		changed := artifacts.Push(t, open("shop"), artifacts.Layered(t, "a", "c", "main@sha1:3"), "v1")
		require.True(t, changed.Changed)
		require.Equal(t, first.Digest, changed.Previous)
		require.Equal(t, first.Layers[0], changed.Layers[0], "the layer that is unchanged keeps its digest")
		require.NotEqual(t, first.Layers[1].Digest, changed.Layers[1].Digest)
		after := artifacts.Push(t, open("shop"), artifacts.Layered(t, "a", "c", "main@sha1:3"), "v1", "stable")
		require.False(t, after.Changed, "the kept layer counts as the same")
		got, err := artifact.Pull(t.Context(), open("shop"), "stable", artifact.PullOptions{})
		require.NoError(t, err)
		require.Equal(t, changed.Digest, got.Digest, "a further tag is set all the same")
		_, err = artifact.Tag(t.Context(), open("shop"), first.Digest, "stable")
		require.NoError(t, err)
		artifacts.Push(t, open("shop"), artifacts.Layered(t, "a", "c", "main@sha1:3"), "v1", "stable")
		moved, err := open("shop").Resolve(t.Context(), "stable")
		require.NoError(t, err)
		require.Equal(t, changed.Digest, moved.Digest.String(), "a further tag that leads elsewhere is moved")
		old, err := artifact.Pull(t.Context(), open("shop"), first.Digest, artifact.PullOptions{})
		require.NoError(t, err)
		require.Equal(t, first.Tree, old.Tree, "an older digest stays")
		split, err := artifact.PackSet(artifacts.Tree("0.yaml", "a", "1.yaml", "c"), nil, artifact.Options{})
		require.NoError(t, err)
		require.True(t, artifacts.Push(t, open("shop"), split, "v1").Changed, "other layers are another render")
	})
}

func TestOtherLabelsAreAPush(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		labelled := func(labels map[string]string) artifact.Set {
			set, err := artifact.PackSet(artifacts.Tree("0.yaml", "a"), []artifact.Layer{{Name: "base", FS: artifacts.Tree("0.yaml", "a")}}, artifact.Options{Labels: labels})
			require.NoError(t, err)
			return set
		}
		first := artifacts.Push(t, open("shop"), labelled(nil), "v1")
		second := artifacts.Push(t, open("shop"), labelled(map[string]string{"component": "shop"}), "v1")
		require.True(t, second.Changed)
		require.Equal(t, first.Tree, second.Tree)
		require.Equal(t, first.Layers, second.Layers, "layers have no labels")
		require.False(t, artifacts.Push(t, open("shop"), labelled(map[string]string{"component": "shop"}), "v1").Changed)
		got, err := artifact.Pull(t.Context(), open("shop"), "v1", artifact.PullOptions{})
		require.NoError(t, err)
		require.Equal(t, "shop", got.Annotations["component"])
	})
}

func TestRequestsOfAPush(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*servers.OCI{"in process": servers.InProcess(t), "docker-registry": servers.Registry(t)} {
		t.Run(name, func(t *testing.T) {
			set := artifacts.Single(t, "kind: A\n", "main@sha1:1")
			d := strings.TrimPrefix(set.Complete.Descriptor.Digest.String(), "sha256:")
			requests := func(f func()) []string {
				o.Reset()
				f()
				return o.Lines()
			}
			fresh := requests(func() { artifacts.Push(t, repository(o, "shop"), set, "v1") })
			require.Len(t, fresh, 7, "%s", fresh)
			require.Equal(t, "GET /v2/shop/manifests/v1 404", fresh[0])
			require.Equal(t, []string{"PUT /v2/shop/manifests/rw-20261121T131500Z-" + d + " 201", "PUT /v2/shop/manifests/v1 201"}, fresh[5:])
			// What is there is asked for, and whether its content still is.
			noop := []string{"GET /v2/shop/manifests/v1 200", "HEAD /v2/shop/blobs/" + set.Complete.Layer.Digest.String() + " 200"}
			require.Equal(t, noop, requests(func() { artifacts.Push(t, repository(o, "shop"), set, "v1") }))
			require.Equal(t, noop, requests(func() {
				artifacts.Push(t, repository(o, "shop"), artifacts.Single(t, "kind: A\n", "main@sha1:2"), "v1")
			}))
			changed := requests(func() {
				artifacts.Push(t, repository(o, "shop"), artifacts.Single(t, "kind: B\n", "main@sha1:2"), "v1")
			})
			require.Len(t, changed, 7, "one for what is there, two to ask for blobs, two to send the one that is new, and two tags: %s", changed)
		})
	}
}

func TestAPushThatFailsLeavesTheTag(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	first := artifacts.Push(t, repository(o, "shop"), artifacts.Single(t, "a", ""), "v1")
	for _, broken := range []string{"/blobs/uploads/", "/manifests/rw-"} {
		o.Fault(func(r *http.Request) (http.Handler, bool) {
			return servers.Answer(http.StatusInsufficientStorage, "UNKNOWN", "the disk is full"), r.Method != http.MethodHead && r.Method != http.MethodGet && strings.Contains(r.URL.Path, broken)
		})
		_, err := artifact.Push(t.Context(), repository(o, "shop"), artifacts.Single(t, "b", ""), []string{"v1"}, artifact.PushOptions{})
		require.ErrorContains(t, err, "the disk is full")
		o.Fault(nil)
		got, err := artifact.Pull(t.Context(), repository(o, "shop"), "v1", artifact.PullOptions{})
		require.NoError(t, err)
		require.Equal(t, first.Digest, got.Digest)
	}
	require.True(t, artifacts.Push(t, repository(o, "shop"), artifacts.Single(t, "b", ""), "v1").Changed, "the next one succeeds")
}

func TestAPushReplacesWhatIsNoRender(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	ctx := t.Context()
	repo := repository(o, "shop")
	index := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)
	require.NoError(t, repo.PushReference(ctx, describe(ocispec.MediaTypeImageIndex, index), bytes.NewReader(index), "v1"))
	require.True(t, artifacts.Push(t, repo, artifacts.Single(t, "a", ""), "v1").Changed)
}

func TestTagsThatAreNotOursToGive(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"", "-a", ".a", "a b", "a/b", strings.Repeat("a", 129), "rw-1", "rwl-1", "sha256-1"} {
		_, err := artifact.Push(t.Context(), nil, artifacts.Single(t, "a", ""), []string{tag}, artifact.PushOptions{})
		require.ErrorIs(t, err, artifact.ErrReference, tag)
	}
}

func TestTagMovesATag(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		one := artifacts.Push(t, open("shop"), artifacts.Single(t, "a", ""), "v1")
		artifacts.Push(t, open("shop"), artifacts.Single(t, "b", ""), "v1")
		digest, err := artifact.Tag(t.Context(), open("shop"), one.Digest, "v1", "rollback")
		require.NoError(t, err)
		require.Equal(t, one.Digest, digest)
		for _, tag := range []string{"v1", "rollback"} {
			d, err := open("shop").Resolve(t.Context(), tag)
			require.NoError(t, err)
			require.Equal(t, one.Digest, d.Digest.String())
		}
		_, err = artifact.Tag(t.Context(), open("shop"), "none", "v3")
		require.ErrorIs(t, err, artifact.ErrNotFound)
	})
}

// raw pushes a manifest with one layer, as it is given.
func raw(t testing.TB, to artifact.Store, mediaType string, layer []byte, tag string, change func(manifest string) string) {
	t.Helper()
	ctx := context.Background()
	send := func(d ocispec.Descriptor, data []byte) {
		require.NoError(t, to.Push(ctx, d, bytes.NewReader(data)))
	}
	config, l := describe(artifact.TypeConfig, []byte("{}")), describe(mediaType, layer)
	send(config, []byte("{}"))
	send(l, layer)
	text := `{"schemaVersion":2,"mediaType":"` + artifact.TypeManifest + `","config":` + text(config) + `,"layers":[` + text(l) + `]}`
	if change != nil {
		text = change(text)
	}
	require.NoError(t, to.PushReference(ctx, describe(artifact.TypeManifest, []byte(text)), strings.NewReader(text), tag))
}

func drain(t testing.TB, r io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	return data
}
