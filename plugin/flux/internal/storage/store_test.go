// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
)

// rig is a storage with a store of objects beside it, which test/e2e has for real
// with Flux behind it.
type rig struct {
	t         *testing.T
	storage   *Storage
	dir       string
	client    client.Client
	transform *v1alpha1.Transform
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, sourcev1.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	r := &rig{t: t}
	r.storage, r.dir = opened(t)
	r.transform = &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	r.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, r.transform)...).
		WithStatusSubresource(&sourcev1.ExternalArtifact{}, &v1alpha1.Transform{}).Build()
	return r
}

// store is that of a reconciliation.
func (r *rig) store() *Store { return r.storage.For(r.client, r.transform) }

// release publishes a render with a layer for each value, and has the status say so.
func (r *rig) release(revision string, values ...string) publish.Published {
	r.t.Helper()
	render := publish.Render{Files: files(values...), Source: "https://git.example/shop", Revision: revision}
	for i, file := range render.Files {
		render.Layers = append(render.Layers, delivery.Layer{Name: "layer-0" + string(rune('1'+i)), Files: files(values...)[i : i+1]})
		require.NotEmpty(r.t, file.Data)
	}
	published, err := r.store().Release(r.t.Context(), render)
	require.NoError(r.t, err)
	r.transform.Status.Artifact = &v1alpha1.Artifact{Digest: published.Desired.Digest}
	require.NoError(r.t, r.client.Status().Update(r.t.Context(), r.transform))
	return published
}

func (r *rig) external(name string) *sourcev1.ExternalArtifact {
	r.t.Helper()
	live := &sourcev1.ExternalArtifact{}
	require.NoError(r.t, r.client.Get(r.t.Context(), client.ObjectKey{Namespace: "team", Name: name}, live))
	return live
}

func TestARenderIsReleased(t *testing.T) {
	r := newRig(t)
	r.transform.Annotations = map[string]string{"event.toolkit.fluxcd.io/change_request": "42", "example.com/other": "x"}
	require.NoError(t, r.client.Update(t.Context(), r.transform))
	first := r.release("main@sha1:1", "a", "b")
	require.True(t, first.Changed)
	require.Equal(t, "main@sha1:1", first.Desired.Revision)
	require.Len(t, first.Desired.Layers, 2)
	require.Nil(t, first.Desired.Layers[0].Files)
	require.NotEqual(t, first.Desired.Layers[0].Digest, first.Desired.Layers[1].Digest)

	live := r.external("web")
	require.Equal(t, "42", live.Annotations["event.toolkit.fluxcd.io/change_request"])
	require.NotContains(t, live.Annotations, "example.com/other")
	require.Equal(t, &meta.NamespacedObjectKindReference{APIVersion: "ropewalk.dev/v1alpha1", Kind: "Transform", Namespace: "team", Name: "web"}, live.Spec.SourceRef)
	a := live.Status.Artifact
	hex := strings.TrimPrefix(first.Desired.Digest, "sha256:")
	require.Equal(t, first.Desired.Digest, a.Digest)
	require.Equal(t, "transform/team/web/"+hex+".tar.gz", a.Path)
	require.Equal(t, "http://artifacts.example:9090/"+a.Path, a.URL)
	require.Equal(t, a.URL, first.Location)
	require.Equal(t, "web@"+a.Digest, a.Revision)
	require.Equal(t, map[string]string{"org.opencontainers.image.source": "https://git.example/shop", "org.opencontainers.image.revision": "main@sha1:1"}, a.Metadata)
	require.Positive(t, *a.Size)
	require.False(t, a.LastUpdateTime.IsZero())
	require.Equal(t, metav1.ConditionTrue, live.Status.Conditions[0].Status)

	again := r.release("main@sha1:2", "a", "b")
	require.False(t, again.Changed)
	require.Equal(t, first.Desired.Layers, again.Desired.Layers)
	require.Equal(t, "main@sha1:2", again.Desired.Revision)
	require.Equal(t, live.ResourceVersion, r.external("web").ResourceVersion, "what does not change is not written")

	r.transform.Annotations = nil
	require.NoError(t, r.client.Update(t.Context(), r.transform))
	changed := r.release("main@sha1:3", "a", "c")
	require.True(t, changed.Changed)
	require.Equal(t, first.Desired.Layers[0].Digest, changed.Desired.Layers[0].Digest)
	live = r.external("web")
	require.Equal(t, changed.Desired.Digest, live.Status.Artifact.Digest)
	require.NotContains(t, live.Annotations, "event.toolkit.fluxcd.io/change_request")

	// The layer that did not change says from where it was published first.
	for i, revision := range []string{"main@sha1:1", "main@sha1:3"} {
		source, applied, err := r.store().Source(r.transform, changed.Desired.Layers[i].Name, changed.Desired.Layers[i].Digest)
		require.NoError(t, err)
		object := source.(*sourcev1.ExternalArtifact)
		require.Equal(t, "web-"+changed.Desired.Layers[i].Name, object.Name)
		require.Equal(t, "ExternalArtifact", object.Kind)
		require.Empty(t, object.Labels, "which the engine sets")
		require.Equal(t, applied, object.Status.Artifact.Revision)
		require.Equal(t, changed.Desired.Layers[i].Name+"@"+changed.Desired.Layers[i].Digest, applied)
		require.Equal(t, revision, object.Status.Artifact.Metadata["org.opencontainers.image.revision"])
	}
}

func TestWhatWouldBeReleasedHasTheSameDigests(t *testing.T) {
	r := newRig(t)
	render := publish.Render{Files: files("a"), Layers: []delivery.Layer{{Name: "layer-01", Files: files("a")}}, Revision: "1"}
	packed, err := r.store().Pack(t.Context(), render)
	require.NoError(t, err)
	require.Empty(t, names(t, r.dir))
	published, err := r.store().Release(t.Context(), render)
	require.NoError(t, err)
	packed.Changed = true
	require.Equal(t, published, packed)
	require.Len(t, names(t, r.dir), 2, "a whole with one layer is stored once, with its plan")
}

func TestADesiredIsGoneWithAnyOfItsArchives(t *testing.T) {
	r := newRig(t)
	published := r.release("1", "a", "b")
	desired, err := r.store().Desired(t.Context(), published.Desired.Digest)
	require.NoError(t, err)
	require.Equal(t, published.Desired, desired)

	layer := desired.Layers[1].Digest
	require.NoError(t, os.Remove(filepath.Join(r.dir, "transform/team/web", strings.TrimPrefix(layer, "sha256:")+".tar.gz")))
	_, err = r.store().Desired(t.Context(), published.Desired.Digest)
	require.ErrorIs(t, err, delivery.ErrGone)
	_, _, err = r.store().Source(r.transform, "layer-02", layer)
	require.ErrorIs(t, err, delivery.ErrGone)
	require.True(t, r.release("1", "a", "b").Changed)
	_, err = r.store().Desired(t.Context(), published.Desired.Digest)
	require.NoError(t, err)
}

func TestARollbackIsPointedTo(t *testing.T) {
	r := newRig(t)
	old, now := r.release("1", "a"), r.release("2", "b")
	require.Equal(t, now.Desired.Digest, r.external("web").Status.Artifact.Digest)
	require.NoError(t, r.store().Point(t.Context(), old.Desired.Digest))
	require.Equal(t, old.Desired.Digest, r.external("web").Status.Artifact.Digest)
	require.ErrorIs(t, r.store().Point(t.Context(), "sha256:"+strings.Repeat("0", 64)), delivery.ErrGone)
}

func TestAnExternalArtifactOfSomebodyElseIsLeftAlone(t *testing.T) {
	other := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	layer := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Labels: map[string]string{
		v1alpha1.LabelTransform: "web", v1alpha1.LabelNamespace: "team", v1alpha1.LabelLayer: "layer-01",
	}}}
	for _, taken := range []*sourcev1.ExternalArtifact{other, layer} {
		r := newRig(t, taken)
		_, err := r.store().Release(t.Context(), publish.Render{Files: files("a")})
		require.ErrorIs(t, err, ErrForeign)
		require.ErrorContains(t, err, "team/web")
		require.Empty(t, names(t, r.dir))
		require.NoError(t, r.store().Remove(t.Context()))
		require.Nil(t, r.external("web").Status.Artifact)
	}
}

func TestPruningKeepsWhatMayStillBeAskedFor(t *testing.T) {
	r := newRig(t)
	first, second, third := r.release("1", "a", "x"), r.release("2", "b", "x"), r.release("3", "c", "x")
	interim, err := r.store().Publish(t.Context(), "layer-01", files("interim"))
	require.NoError(t, err)
	// Flux still applies the first digest of a layer.
	source, _, err := r.store().Source(r.transform, "layer-01", first.Desired.Layers[0].Digest)
	require.NoError(t, err)
	object := source.(*sourcev1.ExternalArtifact)
	object.Labels = map[string]string{v1alpha1.LabelTransform: "web", v1alpha1.LabelNamespace: "team", v1alpha1.LabelLayer: "layer-01"}
	require.NoError(t, Announce(t.Context(), r.client, object))

	r.transform.Status.History = []v1alpha1.Artifact{{Digest: third.Desired.Digest}, {Digest: second.Desired.Digest}}
	require.NoError(t, r.client.Status().Update(t.Context(), r.transform))
	sweeper := &Sweeper{Storage: r.storage, Reader: r.client}
	for now := time.Now(); now.Before(time.Now().Add(3 * time.Minute)); now = now.Add(2 * time.Minute) {
		_, err := sweeper.Sweep(t.Context(), now, false)
		require.NoError(t, err)
	}
	for digest, stays := range map[string]bool{
		first.Desired.Digest: false, first.Desired.Layers[0].Digest: true, second.Desired.Digest: true, second.Desired.Layers[0].Digest: true,
		third.Desired.Digest: true, third.Desired.Layers[1].Digest: true, interim: false,
	} {
		_, err := r.storage.Stat(owner(), digest)
		require.Equal(t, stays, err == nil, digest)
	}
}

func TestRemovingTakesTheObjectAndThenTheFiles(t *testing.T) {
	r := newRig(t)
	r.release("1", "a")
	require.NoError(t, r.store().Remove(t.Context()))
	require.True(t, apierrors.IsNotFound(r.client.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "web"}, &sourcev1.ExternalArtifact{})))
	require.NoError(t, r.store().Remove(t.Context()))
	require.NoError(t, r.client.Delete(t.Context(), r.transform))
	sweeper := &Sweeper{Storage: r.storage, Reader: r.client}
	require.True(t, sweeper.NeedLeaderElection())
	swept, err := sweeper.Sweep(t.Context(), time.Now(), true)
	require.NoError(t, err)
	require.Empty(t, swept, "a client may still request it")
	swept, err = sweeper.Sweep(t.Context(), time.Now().Add(time.Hour), true)
	require.NoError(t, err)
	require.Len(t, swept.Removed, 2)
	require.Empty(t, names(t, r.dir))
	swept, err = sweeper.Sweep(t.Context(), time.Now(), true)
	require.NoError(t, err)
	require.Empty(t, swept)
}

func TestASweepFindsWhatIsDamagedAndSaysWhose(t *testing.T) {
	r := newRig(t)
	published := r.release("1", "a", "b")
	var told []types.NamespacedName
	sweeper := &Sweeper{Storage: r.storage, Reader: r.client, Lost: func(t *v1alpha1.Transform) { told = append(told, client.ObjectKeyFromObject(t)) }}
	swept, err := sweeper.Sweep(t.Context(), time.Now().Add(24*time.Hour), true)
	require.NoError(t, err)
	require.Empty(t, swept)

	name := filepath.Join(r.dir, r.external("web").Status.Artifact.Path)
	require.NoError(t, os.WriteFile(name, []byte("bad"), 0o600))
	swept, err = sweeper.Sweep(t.Context(), time.Now(), false)
	require.NoError(t, err)
	require.Empty(t, swept, "not all is read each time")
	swept, err = sweeper.Sweep(t.Context(), time.Now(), true)
	require.NoError(t, err)
	require.Equal(t, Swept{Damaged: []string{"team/web " + published.Desired.Digest}, Lost: []types.NamespacedName{owner()}}, swept)
	require.Equal(t, swept.Lost, told)

	r.transform.Spec.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{Repository: "oci://registry.example/web"}}
	require.NoError(t, r.client.Update(t.Context(), r.transform))
	swept, err = sweeper.Sweep(t.Context(), time.Now(), false)
	require.NoError(t, err)
	require.Empty(t, swept.Lost, "who pushes to a registry needs nothing here")
}

// TestASwitchedOffGateIsRecognised: in the words of kustomize-controller v1.9.5.
func TestASwitchedOffGateIsRecognised(t *testing.T) {
	off := metav1.Condition{
		Type: meta.StalledCondition, Status: metav1.ConditionTrue, Reason: acl.AccessDeniedReason,
		Message: "can't access 'ExternalArtifact/team/web-layer-01', ExternalArtifact feature gate is disabled",
	}
	require.True(t, GateMessage(off.Message))
	require.Contains(t, GateAdvice, "--feature-gates=ExternalArtifact=true")
	other := off
	other.Message = "can't access 'ExternalArtifact/team/web', cross-namespace references have been blocked"
	require.False(t, GateMessage(other.Message))
}
