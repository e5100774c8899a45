// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// restricted is what the kustomization of deploy/flux gives with its component for tenants.
const restricted = "../kustomize/testdata/flux-everything.yaml"

// restrict takes the rights of the controller down to those of the component for tenants.
func restrict(t *testing.T, c *Cluster) {
	t.Helper()
	data, err := os.ReadFile(restricted)
	require.NoError(t, err)
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		if strings.Contains(document, "\nkind: ClusterRole\n") {
			c.Apply(t, document)
		}
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "ropewalk-delivery"}}
	require.NoError(t, c.Client.Delete(t.Context(), binding))
}

// hello is the first Transform of the guide in another namespace.
func hello(t *testing.T, c *Cluster, namespace string) *v1alpha1.Transform {
	t.Helper()
	data, err := os.ReadFile("../../deploy/flux/examples/hello.yaml")
	require.NoError(t, err)
	c.Apply(t, strings.ReplaceAll(string(data), "namespace: hello", "namespace: "+namespace))
	return &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Name: "hello", Namespace: namespace}}
}

// awaitReason waits for the reason of the condition Ready.
func awaitReason(t *testing.T, c *Cluster, of *v1alpha1.Transform, reason string) {
	t.Helper()
	c.Await(t, startup, of.Namespace+" says "+reason, func() bool {
		require.NoError(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(of), of))
		ready := apimeta.FindStatusCondition(of.Status.Conditions, "Ready")
		return ready != nil && ready.Reason == reason
	})
}

// TestATenantActsAsItsAccountAndNobodyElse runs the controller with the rights and the
// flags of the component for tenants.
func TestATenantActsAsItsAccountAndNobodyElse(t *testing.T) {
	c := Shared(t)
	install(t, c)
	restrict(t, c)
	defer install(t, c)
	c.Flags(t, c.KustomizeController, "--feature-gates=ExternalArtifact=true", "--default-service-account=ropewalk", "--no-cross-namespace-refs")
	controller := startReplica(t, c, "controller-tenants", "--default-service-account=ropewalk", "--no-cross-namespace-refs")

	data, err := os.ReadFile("../../deploy/flux/examples/tenant.yaml")
	require.NoError(t, err)
	with, without, other := c.Namespace(t), c.Namespace(t), c.Namespace(t)
	tenant := strings.ReplaceAll(strings.ReplaceAll(string(data), "namespace: shop", "namespace: "+with), "name: shop", "name: "+with)
	for document := range strings.SplitSeq(tenant, "\n---\n") {
		c.Apply(t, document)
	}
	good := hello(t, c, with)
	awaitReason(t, c, good, "ReconciliationSucceeded")
	require.Contains(t, c.Kubectl(t, "-n", with, "get", "kustomizations", "-o", "jsonpath={.items[*].spec.serviceAccountName}"), "ropewalk")

	// No account, or one without rights: nothing is done in its name.
	refused := hello(t, c, without)
	awaitReason(t, c, refused, "AccessDenied")

	// An account that the controller may not act as, however much it may do.
	c.Apply(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: deployer, namespace: "+other+"}\n")
	c.Apply(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: deployer, namespace: "+other+"}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n"+
		"subjects: [{kind: ServiceAccount, name: deployer, namespace: "+other+"}]\n")
	taken := hello(t, c, other)
	c.Kubectl(t, "-n", other, "patch", "transform", "hello", "--type=merge", "-p", `{"spec":{"serviceAccountName":"deployer"}}`)
	c.Await(t, startup, "it may not impersonate", func() bool {
		require.NoError(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(taken), taken))
		ready := apimeta.FindStatusCondition(taken.Status.Conditions, "Ready")
		return ready != nil && ready.Reason == "AccessDenied" && strings.Contains(ready.Message, "deployer")
	})
	t.Logf("%s", apimeta.FindStatusCondition(taken.Status.Conditions, "Ready").Message)

	// Who has delivered nothing goes without rights.
	for _, namespace := range []string{without, other, with} {
		c.Kubectl(t, "-n", namespace, "delete", "transform", "hello", "--timeout="+soon.String())
	}
	require.True(t, controller.Running())
}
