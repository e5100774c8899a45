// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// rollBackByFlux and rollBackByArgoCD are deliveries that roll back by themselves.
const (
	rollBackByFlux   = "{rollbackAfter: 10s, flux: {timeout: 3s, retryInterval: 1s}}"
	rollBackByArgoCD = "{rollbackAfter: 10s, type: ArgoCD, argocd: {namespace: argocd}, deletionPolicy: Delete}"
)

// sized applies a Transform of a Deployment that asks for so much CPU.
func (n *tenant) sized(cpu, delivery string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: %[1]s}
spec:
  output: {oci: {repository: "oci://%[2]s/%[1]s/web", insecure: true}}
  history: 1
  delivery: %[4]s
  cueRef:
    type: inline
    ref: |
      a: {
      	apiVersion: "apps/v1", kind: "Deployment", metadata: {name: "web", namespace: "%[1]s"}
      	spec: {
      		selector: matchLabels: app: "web"
      		template: {metadata: labels: app: "web", spec: containers: [{
      			name: "a", image: "registry.example/a:1", resources: requests: cpu: %[3]q
      		}]}
      	}
      }
`, n.namespace, n.Registry, cpu, delivery))
}

// cpu returns what the Deployment in the cluster asks for.
func (n *tenant) cpu() string {
	var d appsv1.Deployment
	require.NoError(n.t, n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "web"}, &d))
	return d.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()
}

// rolledBack waits until the Transform is rolled back, and returns it and what its condition says.
func (n *tenant) rolledBack() (*v1alpha1.Transform, string) {
	n.t.Helper()
	back := n.await("web", "is rolled back", func(now *v1alpha1.Transform) bool {
		c := apimeta.FindStatusCondition(now.Status.Conditions, meta.ReadyCondition)
		return c != nil && c.Reason == v1alpha1.RolledBackReason
	})
	condition := apimeta.FindStatusCondition(back.Status.Conditions, v1alpha1.RolledBackCondition)
	n.t.Logf("%s", condition.Message)
	return back, condition.Message
}

// TestAnArtifactThatIsNotReadyInTimeIsTakenBack delivers a Deployment whose pods no node can run.
func TestAnArtifactThatIsNotReadyInTimeIsTakenBack(t *testing.T) {
	n := newTenant(t, "--requeue-dependency=1s")
	n.sized("10m", rollBackByFlux)
	good := n.ready("web").Status.Artifact.Digest
	n.sized("5k", rollBackByFlux)
	back, message := n.rolledBack()
	require.Contains(t, message, " was not Ready within 10s (web-layer-00: ")
	require.True(t, apimeta.IsStatusConditionFalse(back.Status.Conditions, meta.ReadyCondition))
	require.Equal(t, good, back.Status.Artifact.Digest)
	require.Equal(t, "1/1", back.Status.Progress)
	require.Equal(t, "10m", n.cpu())

	// Another render of the same is no reason to try again.
	requested := n.Kubectl(t, "-n", n.namespace, "annotate", "transform", "web", "reconcile.fluxcd.io/requestedAt=now")
	t.Log(requested)
	n.await("web", "has rendered again", func(now *v1alpha1.Transform) bool { return now.Status.LastHandledReconcileAt == "now" })
	require.Equal(t, good, n.get("web").Status.Artifact.Digest)
	require.Equal(t, "10m", n.cpu())
	require.Contains(t, n.Kubectl(t, "-n", n.namespace, "get", "events", "--field-selector", "involvedObject.name=web,reason=RolledBack", "-o", "name"), "event")

	// A change of the spec ends it.
	n.sized("20m", rollBackByFlux)
	last := n.ready("web")
	require.Equal(t, "20m", n.cpu())
	require.Nil(t, apimeta.FindStatusCondition(last.Status.Conditions, v1alpha1.RolledBackCondition))
	require.Nil(t, last.Status.Rendered)
	n.await("web", "has a history of one", func(now *v1alpha1.Transform) bool { return len(now.Status.History) == 1 })

	// A limit has to be one, and needs an engine.
	for patch, text := range map[string]string{
		`{"rollbackAfter":"5ms"}`: "rollbackAfter is at least 1s",
		`{"type":"None"}`:         "take rollbackAfter away",
	} {
		wrong := n.get("web")
		err := n.Client.Patch(t.Context(), wrong, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"delivery":`+patch+`}}`)))
		require.ErrorContains(t, err, text)
	}
}

// TestAnApplicationThatIsNotHealthyInTimeGoesBack: Argo CD gets the digest that was Ready last.
func TestAnApplicationThatIsNotHealthyInTimeGoesBack(t *testing.T) {
	n, argocd := newArgoTenant(t)
	n.sized("10m", rollBackByArgoCD)
	good := n.ready("web").Status.Artifact.Digest
	n.sized("5k", rollBackByArgoCD)
	back, message := n.rolledBack()
	require.Contains(t, message, " was not Ready within 10s (")
	require.Equal(t, good, back.Status.Artifact.Digest)
	app := argocd.AwaitHealthy(t, soon, n.namespace+".web")
	revision, _, _ := unstructured.NestedString(app.Object, "status", "sync", "revision")
	require.Equal(t, good, revision)
	require.Equal(t, "10m", n.cpu())
	n.sized("20m", rollBackByArgoCD)
	n.ready("web")
	require.Equal(t, "20m", n.cpu())
}
