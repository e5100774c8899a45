// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// reasonOf and messageOf are those of the condition Ready.
func reasonOf(t *v1alpha1.Transform) string {
	if c := apimeta.FindStatusCondition(t.Status.Conditions, meta.ReadyCondition); c != nil {
		return c.Reason
	}
	return ""
}

func messageOf(t *v1alpha1.Transform) string {
	if c := apimeta.FindStatusCondition(t.Status.Conditions, meta.ReadyCondition); c != nil {
		return c.Message
	}
	return ""
}

func contains(text, part string) bool { return strings.Contains(text, part) }

// newArgoTenant is a tenant whose controller may put Applications into argocd.
func newArgoTenant(t *testing.T) (*tenant, *ArgoCD) {
	t.Helper()
	argocd := Shared(t).ArgoCD(t)
	n := newTenant(t, "--argocd-namespaces="+argocd.Namespace, "--argocd-projects=default")
	access, err := os.ReadFile("../../deploy/flux/argocd/access.yaml")
	require.NoError(t, err)
	n.Apply(t, string(access))
	return n, argocd
}

const byArgo = "  delivery: {type: ArgoCD, argocd: {namespace: argocd}, deletionPolicy: Delete}\n"

// TestArgoCDAppliesWhatTheControllerPushes: an Application from the first digest to its
// end, in the order of the waves.
func TestArgoCDAppliesWhatTheControllerPushes(t *testing.T) {
	n, argocd := newArgoTenant(t)
	name := n.namespace + ".web"
	began := time.Now()
	n.transform("web", `{text: one, replicas: 1}`, byArgo)
	first := n.ready("web")
	t.Logf("from nothing to Ready: %s", time.Since(began).Round(10*time.Millisecond))
	require.Equal(t, "one", n.text("web"))
	app := argocd.AwaitHealthy(t, soon, name)
	revision, _, _ := unstructured.NestedString(app.Object, "status", "sync", "revision")
	require.Equal(t, first.Status.Artifact.Digest, revision)
	require.Empty(t, app.GetFinalizers())
	require.Len(t, first.Status.Layers, 1)
	require.Equal(t, name, first.Status.Layers[0].Name)
	require.Equal(t, v1alpha1.LayerReady, first.Status.Layers[0].State)
	var before, after appsv1.Deployment
	require.NoError(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "web-first"}, &before))
	require.NoError(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "web-second"}, &after))
	require.True(t, before.CreationTimestamp.Before(&after.CreationTimestamp), "the second comes after the first is Ready")

	began = time.Now()
	n.transform("web", `{text: two}`, byArgo)
	second := n.await("web", "is Ready at its new digest", func(tf *v1alpha1.Transform) bool {
		return tf.Status.Artifact.Digest != first.Status.Artifact.Digest && reasonOf(tf) == v1alpha1.SucceededReason
	})
	t.Logf("a change and a prune: %s", time.Since(began).Round(10*time.Millisecond))
	require.Equal(t, "two", n.text("web"))
	require.True(t, apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKeyFromObject(&before), &before)), "what is not rendered any more is pruned")
	require.NotEqual(t, first.Status.Artifact.Digest, second.Status.Artifact.Digest)

	// Whoever deletes the Application by mistake loses nothing.
	var config, again corev1.ConfigMap
	key := client.ObjectKey{Namespace: n.namespace, Name: "web-config"}
	require.NoError(t, n.Client.Get(t.Context(), key, &config))
	n.Kubectl(t, "-n", "argocd", "delete", "application", name)
	n.Kubectl(t, "-n", n.namespace, "annotate", "transform", "web", "reconcile.fluxcd.io/requestedAt=now")
	n.Await(t, soon, "the Application is there again", func() bool {
		return n.Client.Get(t.Context(), client.ObjectKeyFromObject(app), app) == nil
	})
	argocd.AwaitHealthy(t, soon, name)
	require.NoError(t, n.Client.Get(t.Context(), key, &again))
	require.Equal(t, config.UID, again.UID)

	began = time.Now()
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "web", "--timeout=2m")
	t.Logf("deleted with what was applied: %s", time.Since(began).Round(10*time.Millisecond))
	require.True(t, apierrors.IsNotFound(n.Client.Get(t.Context(), key, &again)))
	require.True(t, apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKeyFromObject(app), app)))
	allowed(t, n.controller)
}

func TestAnApplicationMayGoAndLeaveItsObjects(t *testing.T) {
	n, _ := newArgoTenant(t)
	n.transform("web", `{text: one}`, strings.Replace(byArgo, "Delete", "Orphan", 1))
	n.ready("web")
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "web", "--timeout=2m")
	require.Equal(t, "one", n.text("web"))
	app := &unstructured.Unstructured{}
	app.SetAPIVersion("argoproj.io/v1alpha1")
	app.SetKind("Application")
	require.True(t, apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKey{Namespace: "argocd", Name: n.namespace + ".web"}, app)))
}

func TestApplicationsGoOnlyWhereTheControllerAllows(t *testing.T) {
	n, _ := newArgoTenant(t)
	n.transform("project", `{text: one}`, strings.Replace(byArgo, "namespace: argocd", "project: admin", 1))
	c := n.stalled("project")
	require.Equal(t, v1alpha1.AccessDeniedReason, c.Reason)
	require.Contains(t, c.Message, `project "admin"`)
	n.transform("namespace", `{text: one}`, strings.Replace(byArgo, "namespace: argocd", "namespace: kube-system", 1))
	c = n.stalled("namespace")
	require.Equal(t, v1alpha1.AccessDeniedReason, c.Reason)
	require.Contains(t, c.Message, `namespace "kube-system"`)
	require.Empty(t, n.text("project")+n.text("namespace"))
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "--all", "--timeout=2m")
}
