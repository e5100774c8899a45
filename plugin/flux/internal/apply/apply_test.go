// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestWhatWasAppliedIsTheSameUntilItIsChanged(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, sourcev1.AddToScheme(scheme))
	require.NoError(t, kustomizev1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&sourcev1.ExternalArtifact{}).Build()

	k := &kustomizev1.Kustomization{
		TypeMeta:   metav1.TypeMeta{APIVersion: kustomizev1.GroupVersion.String(), Kind: kustomizev1.KustomizationKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", Labels: map[string]string{"l": "1"}},
		Spec:       kustomizev1.KustomizationSpec{Prune: true, TargetNamespace: "x", SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "b"}},
	}
	require.NoError(t, Write(t.Context(), c, k))
	require.Empty(t, k.Annotations, "what is given is not changed")
	live := &kustomizev1.Kustomization{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(k), live))
	live.Status.LastAppliedRevision = "1"
	require.True(t, Same(k, live), "the status of a Kustomization is that of Flux")
	less := k.DeepCopy()
	less.Spec.TargetNamespace = ""
	require.False(t, Same(less, live), "a field that is not desired any more")
	live.Spec.Prune = false
	require.False(t, Same(k, live))

	e := &sourcev1.ExternalArtifact{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.ExternalArtifactKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "e"},
	}
	e.Status.Artifact = &meta.Artifact{Digest: "sha256:1", Revision: "1", URL: "http://a/b", Path: "b"}
	require.NoError(t, Write(t.Context(), c, e))
	stored := &sourcev1.ExternalArtifact{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(e), stored))
	require.Equal(t, "sha256:1", stored.Status.Artifact.Digest)
	require.True(t, Same(e, stored))
	stored.Status.Artifact.Metadata = map[string]string{"a": "b"}
	require.False(t, Same(e, stored))
}
