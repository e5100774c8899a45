// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// TestWhatAnAccountMayNotApplyIsNotPublished renders what the account has no right to, and grants it.
func TestWhatAnAccountMayNotApplyIsNotPublished(t *testing.T) {
	n := newTenant(t, "--requeue-dependency=1s")
	n.Apply(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: deployer, namespace: "+n.namespace+"}\n")
	n.Kubectl(t, "-n", n.namespace, "create", "rolebinding", "delivery", "--clusterrole=ropewalk-delivery", "--serviceaccount="+n.namespace+":deployer")
	n.Kubectl(t, "-n", n.namespace, "create", "role", "texts", "--resource=configmaps", "--verb=get,create,patch,delete")
	n.Kubectl(t, "-n", n.namespace, "create", "rolebinding", "texts", "--role=texts", "--serviceaccount="+n.namespace+":deployer")

	// What it may apply is delivered.
	const account = "  serviceAccountName: deployer\n  retryInterval: 1s\n"
	n.transform("web", "{text: one}", account)
	before := n.ready("web").Status.Artifact.Digest

	// What it lacks is listed, and what was delivered stays.
	n.transform("web", "{text: two, replicas: 1}", account)
	refused := n.stalled("web")
	require.Equal(t, v1alpha1.AccessDeniedReason, refused.Reason)
	require.Equal(t, "system:serviceaccount:"+n.namespace+":deployer cannot apply what is rendered, so that nothing is published: grant it to\n"+
		"create, get, patch deployments.apps in "+n.namespace, refused.Message)
	now := n.get("web")
	require.Equal(t, before, now.Status.Artifact.Digest)
	require.Len(t, now.Status.History, 1)
	require.True(t, apimeta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ValidatedCondition))
	require.True(t, apimeta.IsStatusConditionFalse(now.Status.Conditions, v1alpha1.RenderedCondition))
	require.Equal(t, "one", n.text("web"))

	// No event tells that it is granted.
	n.Kubectl(t, "-n", n.namespace, "create", "rolebinding", "apply", "--clusterrole=admin", "--serviceaccount="+n.namespace+":deployer")
	n.ready("web")
	require.Equal(t, "two", n.text("web"))

	// The render may grant the account what it lacks: only Flux knows then.
	n.Kubectl(t, "-n", n.namespace, "delete", "rolebinding", "apply")
	n.Apply(t, `
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: own, namespace: `+n.namespace+`}
spec:
  serviceAccountName: deployer
  output: {oci: {repository: "oci://`+n.Registry+"/"+n.namespace+`/own", insecure: true}}
  cueRef:
    type: inline
    ref: |
      a: {
      	apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: {name: "own", namespace: "`+n.namespace+`"}
      	roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view"}
      	subjects: [{kind: "ServiceAccount", name: "deployer", namespace: "`+n.namespace+`"}]
      }
`)
	n.await("own", "is published", func(t *v1alpha1.Transform) bool { return t.Status.Artifact != nil })
}
