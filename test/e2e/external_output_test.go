// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// served applies a Transform with the module whose artifacts the controller serves.
func (n *tenant) served(name, input, more string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s, annotations: {event.toolkit.fluxcd.io/change_request: "42"}}
spec:
  cueRef:
    type: inline
    ref: |
      %s
  input: %s
%s`, name, n.namespace, indented(module, 6), input, more))
}

// external is an ExternalArtifact that must be there.
func (n *tenant) external(name string) *sourcev1.ExternalArtifact {
	n.t.Helper()
	out := &sourcev1.ExternalArtifact{}
	require.NoError(n.t, n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, out))
	require.NotNil(n.t, out.Status.Artifact)
	return out
}

func status(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url) //nolint:gosec,noctx // the loopback
	if err != nil {
		return 0
	}
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// TestFluxAppliesWhatTheControllerServes: without a registry, from a gate that is off to
// a disk that was lost.
func TestFluxAppliesWhatTheControllerServes(t *testing.T) {
	data := t.TempDir()
	n := newTenant(t, "--storage-path="+data)
	n.served("web", `{text: one, replicas: 1}`, "")

	blocked := n.await("web", "says that the gate is off", func(tf *v1alpha1.Transform) bool {
		return reasonOf(tf) == v1alpha1.FeatureDisabledReason
	})
	require.Contains(t, messageOf(blocked), "--feature-gates=ExternalArtifact=true")
	n.Flags(t, n.KustomizeController, "--feature-gates=ExternalArtifact=true")
	first := n.ready("web")
	require.Equal(t, "one", n.text("web"))

	// The whole has the name of the Transform, and the rest that of its unit.
	whole := n.external("web")
	require.Equal(t, first.Status.Artifact.Digest, whole.Status.Artifact.Digest)
	require.Equal(t, "42", whole.Annotations["event.toolkit.fluxcd.io/change_request"])
	require.Equal(t, "Transform", whole.Spec.SourceRef.Kind)
	for _, l := range first.Status.Layers {
		require.Equal(t, l.Digest, n.external(l.Name).Status.Artifact.Digest)
	}
	require.Equal(t, http.StatusOK, status(t, whole.Status.Artifact.URL))
	require.Equal(t, http.StatusNotFound, status(t, "http://"+n.controller.storage+"/"))
	n.Await(t, soon, "an event is raised on the whole", func() bool {
		var events corev1.EventList
		require.NoError(t, n.Client.List(t.Context(), &events, client.InNamespace(n.namespace), client.MatchingFields{"involvedObject.kind": "ExternalArtifact", "involvedObject.name": "web"}))
		for _, e := range events.Items {
			if e.Annotations["event.toolkit.fluxcd.io/change_request"] == "42" {
				return true
			}
		}
		return false
	})

	began := time.Now()
	n.served("web", `{text: two, replicas: 1}`, "")
	n.Await(t, soon, "the change is there", func() bool { return n.text("web") == "two" })
	t.Logf("from a change of the input to what Flux applied: %s", time.Since(began).Round(10*time.Millisecond))
	second := n.ready("web")
	require.Equal(t, http.StatusOK, status(t, whole.Status.Artifact.URL), "who has read the object before still asks for that")

	// A new controller with an empty disk makes again what is delivered, at its own address.
	n.controller.Kill()
	require.NoError(t, os.RemoveAll(filepath.Join(data, "transform")))
	n.controller = startReplica(t, n.Cluster, "ropewalk-controller-2", "--storage-path="+data)
	n.Await(t, soon, "it is served again", func() bool {
		return status(t, n.external("web").Status.Artifact.URL) == http.StatusOK && status(t, n.external(second.Status.Layers[0].Name).Status.Artifact.URL) == http.StatusOK
	})
	require.Equal(t, second.Status.Artifact.Digest, n.ready("web").Status.Artifact.Digest)
	require.NotEqual(t, second.Status.Artifact.Digest, whole.Status.Artifact.Digest)

	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "web", "--timeout=2m")
	require.Empty(t, n.text("web"))
	var left sourcev1.ExternalArtifactList
	require.NoError(t, n.Client.List(t.Context(), &left, client.InNamespace(n.namespace)))
	require.Empty(t, left.Items)
	allowed(t, n.controller)
}

// TestAnExternalArtifactOfSomebodyElseIsNotTaken: that of a Transform or of a person.
func TestAnExternalArtifactOfSomebodyElseIsNotTaken(t *testing.T) {
	n := newTenant(t)
	n.Flags(t, n.KustomizeController, "--feature-gates=ExternalArtifact=true")
	n.Apply(t, "apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: web, namespace: "+n.namespace+"}\nspec: {sourceRef: {kind: Other, name: x}}\n")
	n.served("web", `{text: one}`, "")
	n.await("web", "says whose it is", func(tf *v1alpha1.Transform) bool {
		return reasonOf(tf) != "" && reasonOf(tf) != "Progressing" && messageOf(tf) != "" && contains(messageOf(tf), "has another owner")
	})
	require.Empty(t, n.text("web"))
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "web", "--timeout=2m")
	other := &sourcev1.ExternalArtifact{}
	require.NoError(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "web"}, other))
	require.Equal(t, "Other", other.Spec.SourceRef.Kind)
	require.False(t, apierrors.IsNotFound(n.Client.Delete(t.Context(), other)))
}
