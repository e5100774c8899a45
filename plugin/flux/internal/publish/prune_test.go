// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/test/servers"
)

// tagsOf are all tags of the repository of a rig.
func (r *rig) tagsOf() []string {
	r.t.Helper()
	to, err := r.open().connect(r.t.Context())
	require.NoError(r.t, err)
	var out []string
	require.NoError(r.t, to.Tags(r.t.Context(), "", func(page []string) error {
		out = append(out, page...)
		return nil
	}))
	return out
}

func recorded(p Published) v1alpha1.Artifact {
	a := v1alpha1.Artifact{Digest: p.Desired.Digest}
	for _, u := range p.Desired.Layers {
		a.Layers = append(a.Layers, v1alpha1.ArtifactLayer{Name: u.Name, Digest: u.Digest})
	}
	return a
}

// Without an interface for referrers a registry lists them under a tag of each digest.
func TestNoTagOfADeletedArtifactIsLeft(t *testing.T) {
	r := newRig(t, servers.Registry(t, servers.WithDelete()))
	first, second := r.release(twoLayers("", "1", "1")), r.release(twoLayers("", "2", "2"))
	require.Contains(t, r.tagsOf(), strings.Replace(first.Desired.Digest, ":", "-", 1))
	left, err := r.open().Prune(t.Context(), []v1alpha1.Artifact{recorded(second)}, []v1alpha1.Artifact{recorded(first)})
	require.NoError(t, err)
	require.Empty(t, left)
	for _, tag := range r.tagsOf() {
		for _, digest := range digestsOf([]v1alpha1.Artifact{recorded(first)}) {
			require.NotContains(t, tag, strings.TrimPrefix(digest, "sha256:"))
		}
	}
	require.Contains(t, r.tagsOf(), strings.Replace(second.Desired.Digest, ":", "-", 1))
}

func TestTheTagsOfADeletedTransformGoWhereItSaysSo(t *testing.T) {
	r := newRig(t, servers.Registry(t, servers.WithDelete()))
	r.transform.Spec.Output.OCI.Tags = []v1alpha1.OCITag{"latest", "moved"}
	first, second := r.release(twoLayers("", "1", "1")), r.release(twoLayers("", "2", "2"))
	r.transform.Status.History = []v1alpha1.Artifact{recorded(second), recorded(first)}
	to, err := r.open().connect(t.Context())
	require.NoError(t, err)
	other, err := artifact.Pack(mustFolder(t, twoLayers("", "3", "3").Files), artifact.Options{})
	require.NoError(t, err)
	_, err = artifact.Push(t.Context(), to, artifact.Set{Complete: other}, []string{"moved"}, artifact.PushOptions{})
	require.NoError(t, err)
	all := r.tagsOf()

	require.NoError(t, r.open().Remove(t.Context()))
	require.ElementsMatch(t, all, r.tagsOf(), "Keep is the default")

	r.transform.Spec.Output.OCI.DeletionPolicy = v1alpha1.DeletionDelete
	require.NoError(t, r.open().Remove(t.Context()))
	var left []string
	for _, tag := range r.tagsOf() {
		if !strings.Contains(tag, other.Descriptor.Digest.Encoded()) {
			left = append(left, tag)
		}
	}
	require.Equal(t, []string{"moved"}, left, "it leads to what another client has pushed")
	require.NoError(t, r.open().Remove(t.Context()), "twice is once")
}

func TestARegistryThatDoesNotDeleteSaysSo(t *testing.T) {
	r := newRig(t, servers.Registry(t))
	first, second := r.release(twoLayers("", "1", "1")), r.release(twoLayers("", "1", "2"))
	left, err := r.open().Prune(t.Context(), []v1alpha1.Artifact{{Digest: second.Desired.Digest}}, []v1alpha1.Artifact{{Digest: first.Desired.Digest}})
	require.NoError(t, err)
	require.Contains(t, left, "does not delete: allow it there")
	r.transform.Spec.Output.OCI.DeletionPolicy = v1alpha1.DeletionDelete
	r.transform.Status.History = []v1alpha1.Artifact{recorded(second), recorded(first)}
	require.ErrorContains(t, r.open().Remove(t.Context()), "does not delete: allow it there")
}
