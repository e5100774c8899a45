// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// deployer makes the account of a namespace that may apply everything.
func (n *tenant) deployer() {
	n.t.Helper()
	name := "deployer-" + n.namespace
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: deployer, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: deployer, namespace: %[1]s}]
`, n.namespace, name))
	n.t.Cleanup(func() {
		_ = n.Client.Delete(n.run.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}) // its subject is gone then
	})
}

// shopOf applies the Transform called shop of the project in a GitRepository called shop;
// more is the rest of its spec.
func (n *tenant) shopOf(more string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: shop, namespace: %[1]s}
spec:
  serviceAccountName: deployer
  sourceRef: {kind: GitRepository, name: shop, path: shop}
  output: {oci: {repository: "oci://%[2]s/%[1]s/shop", insecure: true}}
%[3]s`, n.namespace, n.Registry, more))
}

// source applies the GitRepository called shop.
func (n *tenant) source(url string) {
	n.t.Helper()
	n.gitRepository(n.t, n.namespace, "shop", url)
}

// settled waits for a reason of the condition Ready, for as long as a shop takes.
func (n *tenant) settled(name, reason string, also func(*v1alpha1.Transform) bool) *v1alpha1.Transform {
	n.t.Helper()
	var now *v1alpha1.Transform
	defer func() {
		if n.t.Failed() && now != nil {
			n.t.Logf("%s: %+v", name, now.Status)
		}
	}()
	n.Await(n.t, 3*time.Minute, name+" says "+reason, func() bool {
		now = n.get(name)
		return now.Status.ObservedGeneration == now.Generation && reasonOf(now) == reason && (also == nil || also(now))
	})
	return now
}

// TestALiveKustomizationMovesToATransform is the last step of the ladder for Flux, from
// plain manifests in Git at once: what would be taken is told before anything is taken.
func TestALiveKustomizationMovesToATransform(t *testing.T) {
	n := newTenant(t)
	n.deployer()
	l := newLadder(t, n.Cluster, "ladder-transform")
	l.byFlux(t, n.namespace)
	hash := l.withProject(t)
	n.fetch(t, n.namespace, "shop", hash)
	l.awaitRevision(t, n.namespace, hash)

	began := time.Now()
	n.shopOf("  adopt: Never\n")
	asks := n.settled("shop", v1alpha1.ForeignObjectsReason, nil)
	t.Logf("with Never: %s", messageOf(asks))
	require.Len(t, asks.Status.Nodes, 33, "those of all layers")
	for _, node := range asks.Status.Nodes {
		require.Equal(t, "Foreign", node.State)
		require.Equal(t, "applied by Kustomization "+n.namespace+"/shop", node.Message)
		t.Logf("would be taken: %-50s %-30s %s", node.Object, node.ID, node.Message)
	}
	require.Empty(t, n.kustomizations("shop"), "nothing is written")
	l.stands(t, "what would be taken", began)

	began = time.Now()
	n.Kubectl(t, "-n", n.namespace, "patch", "kustomization", "shop", "--type", "merge", "-p", `{"spec": {"suspend": true}}`)
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "shop", "--type", "merge", "-p", `{"spec": {"adopt": "TakeOwnership"}}`)
	n.settled("shop", v1alpha1.SucceededReason, nil)
	l.stands(t, "controller", began)
	old := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "shop"}}
	n.Kubectl(t, "-n", n.namespace, "delete", "kustomization", "shop", "--timeout=2m")
	require.True(t, apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKeyFromObject(old), old)))
	l.staysSo(t)
	for _, line := range strings.Split(n.Kubectl(t, "-n", n.namespace, "get", "events", "--field-selector=involvedObject.kind=Transform",
		"-o", "jsonpath={range .items[*]}{.reason}: {.message}{\"\\n\"}{end}"), "\n") {
		t.Logf("event: %s", line)
	}
	t.Logf("\n%s", n.Kubectl(t, "-n", n.namespace, "get", "transforms,kustomizations,ocirepositories"))

	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "shop", "--type", "merge", "-p", `{"spec": {"delivery": {"deletionPolicy": "Orphan"}}}`)
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "shop", "--timeout=2m")
	l.staysSo(t)
	allowed(t, n.controller)
}

// TestALiveApplicationMovesToATransform is that of Argo CD: an Application of the
// controller takes over from one that goes without its objects.
func TestALiveApplicationMovesToATransform(t *testing.T) {
	n, argocd := newArgoTenant(t)
	n.deployer()
	l := newLadder(t, n.Cluster, "ladder-transform-argocd")
	old := l.shop.namespace
	l.byArgoCD(t, argocd, l.withProject(t))

	// With Never the new one applies nothing as long as the old one has the objects.
	began := time.Now()
	n.source(l.url)
	n.shopOf("  adopt: Never\n  delivery: {type: ArgoCD, argocd: {}, deletionPolicy: Orphan}\n")
	n.Await(t, 3*time.Minute, "it says whose the objects are", func() bool { return contains(messageOf(n.get("shop")), old) })
	asks := n.get("shop")
	t.Logf("with Never: %s: %s", reasonOf(asks), messageOf(asks))
	require.Len(t, asks.Status.Nodes, 33)
	for _, node := range asks.Status.Nodes {
		require.NotEmpty(t, node.ID, node.Object)
	}
	l.stands(t, "what would be taken", began)

	began = time.Now()
	n.Kubectl(t, "-n", argocd.Namespace, "patch", "application", old, "--type", "merge", "-p", `{"metadata": {"finalizers": null}}`)
	n.Kubectl(t, "-n", argocd.Namespace, "delete", "application", old, "--timeout=2m")
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "shop", "--type", "merge", "-p", `{"spec": {"adopt": "TakeOwnership"}}`)
	now := n.settled("shop", v1alpha1.SucceededReason, nil)
	argocd.awaitRevision(t, n.namespace+".shop", now.Status.Artifact.Digest, "oci://"+n.Registry+"/"+n.namespace+"/shop", ".")
	l.stands(t, "controller", began)
	l.staysSo(t)
	t.Logf("\n%s", n.Kubectl(t, "get", "transforms,applications", "-A"))
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "shop", "--timeout=2m")
	l.staysSo(t)
	allowed(t, n.controller)
}
