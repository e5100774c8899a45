// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

func (w *world) lookup() (Tombstone, bool, error) { return w.gitops.Lookup(w.Context()) }

func policyRef() plane.Ref {
	policy, _ := policies()
	return plane.Ref{Group: policy.Group, Kind: policy.Kind, Name: Policy("blue")}
}

func TestLookupFindsATombstone(t *testing.T) {
	w := newWorldWith(t, servers.Registry(t, servers.WithDelete()))
	_, found, err := w.lookup()
	require.NoError(t, err)
	require.False(t, found, "the repository does not exist")
	require.NoError(t, w.tombstone())

	got, found, err := w.lookup()
	require.NoError(t, err)
	require.True(t, found)
	require.True(t, digests.Is(got.Artifact))
	digest := got.Artifact
	require.Equal(t, "child-uid", got.Target.UID)
	require.Equal(t, "sha256:moved", got.Digest)
	require.Equal(t, time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), got.At)

	// Another client reads it by its type.
	store, err := w.gitops.open(t.Context())
	require.NoError(t, err)
	top, err := store.Resolve(t.Context(), "tombstone-blue")
	require.NoError(t, err)
	m, _, err := manifest.Read(t.Context(), store, top)
	require.NoError(t, err)
	require.Equal(t, TypeTombstone, m.ArtifactType)
	require.Equal(t, "2026-03-04T05:06:07Z", m.Annotations["org.opencontainers.image.created"])

	// The registry has lost it: the policy is there.
	require.NoError(t, store.Delete(t.Context(), top))
	got, found, err = w.lookup()
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, got.Artifact)

	// The same again has the same bytes.
	require.NoError(t, w.tombstone())
	got, _, err = w.lookup()
	require.NoError(t, err)
	require.Equal(t, digest, got.Artifact)
	w.ended()
}

func TestAParentThatIsRebuiltFindsTheTombstone(t *testing.T) {
	old := newWorld(t)
	require.NoError(t, old.tombstone())
	w := newWorld(t)
	w.gitops.Cluster.UID = "pc-2"
	w.gitops.Cluster.Spec.Output = old.gitops.Cluster.Spec.Output
	w.server.Edit(plane.Ref{Kind: "Namespace", Name: "kube-system"}, "", func(o *unstructured.Unstructured) { o.SetUID("rebuilt") })
	found, ok, err := w.lookup()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "pc-1", found.UID)
	require.NoError(t, w.gitops.Forbid(t.Context(), found))
	require.NoError(t, w.gitops.Forbid(t.Context(), found))
	rules, _, _ := unstructured.NestedSlice(w.server.Object(policyRef()).Object, "spec", "validations")
	require.Contains(t, rules[0].(map[string]any)["message"], "Cluster rw-blue/blue is in charge of itself since 2026-03-04T05:06:07Z (pivot pivot-1, at https://blue.example:6443 with UID child-uid)")
	again, ok, err := w.lookup()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, found, again)
}

func TestNothingIsKnownWhereTheRegistryCannotBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		fault servers.Fault
		is    error
	}{
		"away":      {servers.Always(servers.Answer(http.StatusServiceUnavailable, "UNAVAILABLE", "down")), source.ErrUnavailable},
		"forbidden": {servers.Always(servers.Answer(http.StatusForbidden, "DENIED", "no")), source.ErrUnauthorized},
		"not you":   {servers.Always(servers.Answer(http.StatusUnauthorized, "UNAUTHORIZED", "who")), source.ErrUnauthorized},
		"cut":       {servers.Always(servers.Reset()), source.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			for _, there := range []bool{false, true} {
				w := newWorld(t)
				if there {
					require.NoError(t, w.tombstone())
				}
				w.registry.Fault(c.fault)
				_, found, err := w.lookup()
				require.ErrorIs(t, err, c.is)
				require.ErrorContains(t, err, "tombstone-blue")
				require.False(t, found)
				require.ErrorIs(t, w.tombstone(), c.is)
				w.registry.Fault(nil)
			}
		})
	}
	w := newWorld(t)
	w.gitops.Open = func(context.Context, *v1alpha1.Transform) (artifact.Store, error) { return nil, source.ErrUnauthorized }
	_, _, err := w.lookup()
	require.ErrorIs(t, err, source.ErrUnauthorized)
	require.ErrorIs(t, w.tombstone(), source.ErrUnauthorized)
	w.gitops.Cluster.Spec.Output.OCI = nil
	_, _, err = w.lookup()
	require.ErrorContains(t, err, "spec.output.oci")
	w = newWorld(t)
	w.server.Before = func(planetest.Request) error { return planetest.ErrKilled }
	_, _, err = w.lookup()
	require.ErrorIs(t, err, planetest.ErrKilled)
}

func TestATombstoneThatCannotBeReadIsNotNone(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.tombstone())
	store, err := w.gitops.open(t.Context())
	require.NoError(t, err)
	good, _, err := w.lookup()
	require.NoError(t, err)

	// Its content is gone.
	w.registry.Fault(func(r *http.Request) (http.Handler, bool) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			return servers.Answer(http.StatusNotFound, "BLOB_UNKNOWN", "gone"), true
		}
		return nil, false
	})
	_, _, err = w.lookup()
	require.Error(t, err)
	// Its manifest is gone between two requests.
	w.registry.Fault(func(r *http.Request) (http.Handler, bool) {
		if r.Method == http.MethodGet {
			return servers.Answer(http.StatusNotFound, "MANIFEST_UNKNOWN", "gone"), true
		}
		return nil, false
	})
	_, _, err = w.lookup()
	require.Error(t, err)
	w.registry.Fault(nil)

	put := func(kind, data string) {
		t.Helper()
		config, content := manifest.Describe("application/vnd.oci.empty.v1+json", []byte("{}")), manifest.Describe(TypeTombstone, []byte(data))
		require.NoError(t, store.Push(t.Context(), content, strings.NewReader(data)))
		top, err := manifest.Encode(manifest.Image{SchemaVersion: 2, MediaType: artifact.TypeManifest, ArtifactType: kind, Config: manifest.Plain(config), Layers: []manifest.Descriptor{manifest.Plain(content)}})
		require.NoError(t, err)
		require.NoError(t, store.PushReference(t.Context(), manifest.Describe(artifact.TypeManifest, top), bytes.NewReader(top), Tag("blue")))
	}
	put("application/vnd.example", "{}")
	_, _, err = w.lookup()
	require.ErrorContains(t, err, `is no tombstone, but of type "application/vnd.example"`)
	put(TypeTombstone, "{")
	_, _, err = w.lookup()
	require.ErrorContains(t, err, "it is no tombstone")
	put(TypeTombstone, strings.Repeat(" ", maxTombstone+1))
	_, _, err = w.lookup()
	require.ErrorContains(t, err, "at most")
	good.Cluster = "red"
	data, err := manifest.Encode(good)
	require.NoError(t, err)
	put(TypeTombstone, string(data))
	_, _, err = w.lookup()
	require.ErrorIs(t, err, ErrAnother)
	require.ErrorContains(t, err, `PivotCluster "red"`)
	require.ErrorIs(t, w.tombstone(), ErrAnother)
}

func TestATombstoneIsNotThatOfAnotherCluster(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.tombstone())
	kept, _, err := w.lookup()
	require.NoError(t, err)

	// The name is used again on the same parent.
	w.gitops.Cluster.UID = "pc-2"
	_, found, err := w.lookup()
	require.ErrorIs(t, err, ErrAnother)
	require.False(t, found)
	require.ErrorContains(t, err, "UID pc-1")
	require.ErrorContains(t, err, "UID pc-2")
	w.deliver()
	require.ErrorIs(t, w.tombstone(), ErrAnother)
	require.Len(t, w.specs(), 5, "nothing is ended")
	after, _, err := func() (Tombstone, bool, error) { w.gitops.Cluster.UID = "pc-1"; return w.lookup() }()
	require.NoError(t, err)
	require.Equal(t, kept, after, "it is not overwritten")

	// The registry and the policy do not agree.
	w.server.Edit(policyRef(), "", func(o *unstructured.Unstructured) {
		notes := o.GetAnnotations()
		notes[Annotation] = strings.Replace(notes[Annotation], "pivot-1", "pivot-0", 1)
		o.SetAnnotations(notes)
	})
	_, _, err = w.lookup()
	require.ErrorIs(t, err, ErrAnother)
	require.ErrorContains(t, err, "pivot-0")
	require.ErrorContains(t, err, "pivot-1")
	require.ErrorIs(t, w.tombstone(), ErrAnother)
	w.server.Edit(policyRef(), "", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	_, _, err = w.lookup()
	require.ErrorContains(t, err, "it is no tombstone")
	require.ErrorContains(t, w.tombstone(), "it is no tombstone")
}

func TestTheCallerWaitsUntilThePolicyIsInForce(t *testing.T) {
	w := newWorld(t)
	before, tries := w.server.Before, 0
	w.server.Before = func(r planetest.Request) error {
		if r.Ref.Name == probe {
			require.True(t, r.DryRun)
			if tries++; tries < 5 {
				return nil
			}
		}
		return before(r)
	}
	require.NoError(t, w.tombstone())
	require.Equal(t, 5, tries)
	w.ended()

	// Without its namespace there is nothing to try, and nothing to deny.
	w.server.Remove(plane.Ref{Kind: "Namespace", Name: namespace})
	w.server.Before = nil
	found, _, err := w.lookup()
	require.NoError(t, err)
	require.NoError(t, w.gitops.Forbid(t.Context(), found))
}

func TestAPushThatIsLostIsAnError(t *testing.T) {
	w := newWorld(t)
	w.registry.Fault(func(r *http.Request) (http.Handler, bool) {
		if strings.Contains(r.URL.Path, "/manifests/") && r.Method != http.MethodPut {
			return servers.Answer(http.StatusNotFound, "MANIFEST_UNKNOWN", "gone"), true
		}
		return nil, false
	})
	require.ErrorContains(t, w.tombstone(), "it was pushed, and is not there")
}
