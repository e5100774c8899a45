// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/install"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

const admin = `apiVersion: v1
kind: Config
current-context: blue
contexts: [{name: blue, context: {cluster: blue, user: blue}}]
clusters: [{name: blue, cluster: {server: "https://192.0.2.7:6443", certificate-authority-data: Y2E=}}]
users: [{name: blue, user: {token: canary-2b8e41, tokenFile: /etc/passwd, client-key: /etc/shadow, client-certificate: /etc/shadow}}]
`

// installing is a world whose PivotCluster is installed.
func installing(t *testing.T) (w *world, dialed *[]*rest.Config) {
	t.Helper()
	w, dialed = newWorld(t), &[]*rest.Config{}
	w.controller.ChildManifest = func() ([]byte, error) { return nil, fs.ErrNotExist } // It has no children.
	w.edit(func(c *v1alpha1.PivotCluster) { c.Annotations = map[string]string{install.Annotation: "now"} })
	w.controller.dial = func(c *rest.Config) (*target, error) {
		*dialed = append(*dialed, c)
		return &target{w.child, w.to.Plane()}, nil
	}
	return w, dialed
}

// resources is the ClusterResourceSet, with its condition.
func (w *world) resources(status, message string) {
	w.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": planetest.Addons + "/v1beta2", "kind": "ClusterResourceSet"}}
	o.SetNamespace("rw-" + name)
	o.SetName(install.Name)
	live := o.DeepCopy()
	there := w.parent.Get(w.Context(), types.NamespacedName{Namespace: "rw-" + name, Name: install.Name}, live) == nil
	live.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{"type": "ResourcesApplied", "status": status}},
		"deprecated": map[string]any{"v1beta1": map[string]any{"conditions": []any{map[string]any{"type": "ResourcesApplied", "status": status, "message": message}}}},
	}
	if there {
		require.NoError(w, w.parent.Update(w.Context(), live))
		return
	}
	require.NoError(w, w.parent.Create(w.Context(), live))
}

func (w *world) says(message string) *v1alpha1.PivotCluster {
	w.Helper()
	return w.until(w.controller, message, func(c *v1alpha1.PivotCluster) bool { return strings.Contains(ready(c), message) })
}

// TestAnInstalledClusterBecomesItsOwn: no endpoint is served, and no agent calls.
func TestAnInstalledClusterBecomesItsOwn(t *testing.T) {
	w, dialed := installing(t)
	w.observe()
	w.resources("False", "creating object v1 Namespace")
	w.until(w.controller, "a Transform", func(*v1alpha1.PivotCluster) bool { return w.there(&v1alpha1.Transform{}, "rw-blue", name) })
	var files corev1.Secret
	require.True(t, w.there(&files, "rw-blue", EnrolSecret(name)))
	require.Equal(t, map[string][]byte{"token": {}, "endpoint": {}, "ca.crt": {}}, files.Data)
	w.provision()
	c := w.says("there is no kubeconfig of the cluster yet")
	require.Nil(t, c.Status.Enrolment)

	secret := &corev1.Secret{ObjectMeta: named("rw-blue", "blue-kubeconfig"), Data: map[string][]byte{"value": []byte(admin)}}
	require.NoError(t, w.parent.Create(t.Context(), secret))
	w.says("the ClusterResourceSet has not applied the manifest yet: creating object v1 Namespace")
	var kept corev1.Secret
	require.True(t, w.there(&kept, "rw-blue", install.AdminSecret))
	require.Equal(t, admin, string(kept.Data[install.AdminKey]))
	require.Equal(t, []string{"https://192.0.2.7:6443", "canary-2b8e41"}, []string{(*dialed)[0].Host, (*dialed)[0].BearerToken})
	require.Empty(t, (*dialed)[0].BearerTokenFile+(*dialed)[0].KeyFile+(*dialed)[0].CertFile+(*dialed)[0].CAFile, "no file of this plane is read")

	w.resources("True", "")
	w.until(w.controller, "the child has its PivotCluster", func(*v1alpha1.PivotCluster) bool {
		return w.child.Get(t.Context(), types.NamespacedName{Name: name}, &v1alpha1.PivotCluster{}) == nil
	})
	crs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": planetest.Addons + "/v1beta2", "kind": "ClusterResourceSet"}}
	require.False(t, w.there(crs, "rw-blue", install.Name), "it must not move with the cluster")
	w.begins()
	w.says("its own controller has not looked at its PivotCluster yet")
	w.until(w.itself, "the child waits", phase(v1alpha1.PhasePivoting))

	c = w.until(w.controller, "in charge of itself", pivoted)
	require.Equal(t, "Done", c.Status.Pivot.Step)
	// The Secret of Cluster API has moved, and the copy stays.
	require.NoError(t, w.parent.Delete(t.Context(), secret))
	c = w.says("in charge of itself; it says of itself: Pivoting: ")
	require.Equal(t, v1alpha1.PhasePivoting, c.Status.Phase)
	require.NoError(t, w.child.Create(t.Context(), available(1)))
	w.until(w.itself, "ready", phase(v1alpha1.PhaseReady))
	c = w.until(w.controller, "ready", phase(v1alpha1.PhaseReady))
	require.Equal(t, "in charge of itself, and the bootstrap cluster is not needed any more: change it there", ready(c))
	require.Equal(t, int32(2), c.Status.Nodes.Ready)
	require.Nil(t, c.Status.Enrolment)
	for len(w.events.Events) > 0 {
		require.NotContains(t, <-w.events.Events, "canary-2b8e41")
	}
	require.NotContains(t, yamlOf(t, c), "canary-2b8e41")

	own := &v1alpha1.PivotCluster{}
	require.NoError(t, w.child.Get(t.Context(), types.NamespacedName{Name: name}, own))
	own.Status.Phase = v1alpha1.PhaseDegraded
	require.NoError(t, w.child.Status().Update(t.Context(), own))
	w.until(w.controller, "degraded", phase(v1alpha1.PhaseDegraded))

	// Another bootstrap cluster finds the tombstone, and has no kubeconfig.
	require.NoError(t, w.parent.Delete(t.Context(), &kept))
	c = w.until(w.controller, "failed", phase(v1alpha1.PhaseFailed))
	require.Contains(t, ready(c), "and was not made from here: nothing is provisioned")
}

func TestAKubeconfigThatCannotBeReadIsNotQuoted(t *testing.T) {
	w, _ := installing(t)
	w.settle()
	require.NoError(t, w.parent.Create(t.Context(), &corev1.Secret{ObjectMeta: named("rw-blue", "blue-kubeconfig"), Data: map[string][]byte{"value": []byte("users: canary-2b8e41")}}))
	w.provision()
	c, err := w.reconcile()
	require.EqualError(t, err, "the kubeconfig in Secret rw-blue/blue-kubeconfig cannot be read")
	require.NotContains(t, yamlOf(t, c), "canary-2b8e41")
}

// TestAnInstallationIsDeletedBeforeItsPivot: what waits for the cluster ends.
func TestAnInstallationIsDeletedBeforeItsPivot(t *testing.T) {
	w, _ := installing(t)
	w.settle()
	w.deleted()
	w.untilGone()
	require.False(t, w.there(&corev1.Namespace{}, "", "rw-blue"))
}
