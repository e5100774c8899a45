// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// second starts a cluster beside the shared one for the time of a test: with nodes, and
// without Flux, a registry or a Git server.
func (c *Cluster) second(t *testing.T) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(t, err)
	s := &Cluster{
		Dir: dir, run: plane.NewRun(dir), modules: c.modules,
		logs: filepath.Join(dir, "logs"), built: map[string]string{}, told: map[testing.TB]bool{},
	}
	t.Cleanup(func() {
		s.run.End()
		_ = os.RemoveAll(dir) // it is a temporary folder
	})
	lacking(t, plane.Attempt(func() {
		for _, name := range []string{s.logs, filepath.Join(dir, "home")} {
			require.NoError(s.run, os.MkdirAll(name, 0o750))
		}
		s.startControlPlane()
		s.awaitNodes()
	}))
	s.tell(t)
	return s
}

// elsewhere is a tenant whose Transforms are applied in another cluster.
type elsewhere struct {
	*tenant
	there *Cluster
}

// newElsewhere starts both, and leaves a configuration for the other cluster in a Secret.
func newElsewhere(t *testing.T) elsewhere {
	t.Helper()
	n := newTenant(t)
	began := time.Now()
	there := n.second(t)
	t.Logf("the second cluster took %s to start", time.Since(began).Round(10*time.Millisecond))
	there.namespace(t, n.namespace)
	config, err := os.ReadFile(there.Kubeconfig)
	require.NoError(t, err)
	require.NoError(t, n.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "there"}, Data: map[string][]byte{"value": config},
	}))
	return elsewhere{n, there}
}

// deliver applies the Transform web; more is the rest of its spec.
func (e elsewhere) deliver(input, policy, more string) {
	e.t.Helper()
	e.transform("web", input, "  delivery:\n    deletionPolicy: "+policy+"\n"+
		"    flux: {kubeConfig: {secretRef: {name: there}}, retryInterval: 2s, timeout: 1m}\n"+more)
}

// holds are the objects of the module that a cluster has, by their names.
func (e elsewhere) holds(of *Cluster) []string {
	e.t.Helper()
	var out []string
	var maps corev1.ConfigMapList
	require.NoError(e.t, of.Client.List(e.t.Context(), &maps, client.InNamespace(e.namespace)))
	for _, m := range maps.Items {
		if m.Name != "kube-root-ca.crt" {
			out = append(out, m.Name+": "+m.Data["text"])
		}
	}
	var deployments appsv1.DeploymentList
	require.NoError(e.t, of.Client.List(e.t.Context(), &deployments, client.InNamespace(e.namespace)))
	for i := range deployments.Items {
		out = append(out, deployments.Items[i].Name)
	}
	return out
}

// gone waits until the Transform is gone, and says how long it took.
func (e elsewhere) gone() {
	e.t.Helper()
	began := time.Now()
	e.Await(e.t, soon, "the Transform is gone", func() bool {
		return apierrors.IsNotFound(e.Client.Get(e.t.Context(), client.ObjectKey{Namespace: e.namespace, Name: "web"}, &v1alpha1.Transform{}))
	})
	require.Empty(e.t, e.kustomizations("web"))
	e.t.Logf("gone after %s", time.Since(began).Round(10*time.Millisecond))
}

// TestAnotherClusterIsDeliveredTo by a configuration in a Secret: in order, and with what
// Flux says of it in the status. Nothing is made, and nothing is looked for, in this one.
func TestAnotherClusterIsDeliveredTo(t *testing.T) {
	e := newElsewhere(t)
	e.there.Scheduler.Kill() // so that no pod is ready
	began := time.Now()
	e.deliver("{text: one, replicas: 1}", "Delete", "")
	waiting := e.await("web", "waits for the first layer", func(t *v1alpha1.Transform) bool {
		return len(t.Status.Layers) == 2 && len(t.Status.Nodes) > 0
	})
	require.Equal(t, []string{v1alpha1.LayerApplying, v1alpha1.LayerWaiting}, []string{waiting.Status.Layers[0].State, waiting.Status.Layers[1].State})
	require.Equal(t, "web/first", waiting.Status.Nodes[0].ID)
	require.Equal(t, "InProgress", waiting.Status.Nodes[0].State)
	require.Equal(t, []string{"web-config: one", "web-first"}, e.holds(e.there), "the second layer waits for the first")
	t.Logf("the first layer is applied after %s: %s: %s", time.Since(began).Round(10*time.Millisecond), waiting.Status.Nodes[0].Object, messageOf(waiting))

	e.there.Scheduler.Restart(t)
	began = time.Now()
	ready := e.ready("web")
	t.Logf("Ready %s after pods can be", time.Since(began).Round(10*time.Millisecond))
	require.Empty(t, ready.Status.Nodes)
	require.Equal(t, []string{"web-config: one", "web-first", "web-second"}, e.holds(e.there))
	require.Empty(t, e.holds(e.Cluster))

	// What is not wanted any more is pruned there, and its layer is deleted.
	began = time.Now()
	e.deliver("{text: two}", "Delete", "")
	e.ready("web")
	require.Equal(t, []string{"web-config: two"}, e.holds(e.there))
	require.Len(t, e.kustomizations("web"), 1)
	t.Logf("less is wanted: Ready after %s", time.Since(began).Round(10*time.Millisecond))

	// Only Flux can look there, and it takes over what it finds.
	e.there.Apply(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-first, namespace: "+e.namespace+"}\n"+
		"spec: {replicas: 0, selector: {matchLabels: {app: web-first}}, template: {metadata: {labels: {app: web-first}}, spec: {containers: [{name: a, image: x}]}}}\n")
	e.deliver("{text: three, replicas: 1}", "Delete", "  adopt: Never\n")
	refused := e.stalled("web")
	require.Equal(t, v1alpha1.ForeignObjectsReason, refused.Reason)
	require.Contains(t, refused.Message, "set adopt: TakeOwnership")
	e.deliver("{text: three, replicas: 1}", "Delete", "  adopt: TakeOwnership\n")
	e.ready("web")
	require.Equal(t, []string{"web-config: three", "web-first", "web-second"}, e.holds(e.there))

	require.NoError(t, e.Client.Delete(t.Context(), e.get("web")))
	e.gone()
	require.Empty(t, e.holds(e.there))
	allowed(t, e.controller)
}

// TestAnotherClusterThatDoesNotAnswerIsNamed, what is wanted comes when it is there
// again, and one that never comes back does not keep a Transform that leaves all behind.
func TestAnotherClusterThatDoesNotAnswerIsNamed(t *testing.T) {
	e := newElsewhere(t)
	e.deliver("{text: one, replicas: 1}", "Delete", "")
	e.ready("web")
	server := strings.TrimPrefix(e.there.plane.Server, "https://")

	e.there.APIServer.Kill()
	began := time.Now()
	e.deliver("{text: two, replicas: 1}", "Delete", "")
	down := e.await("web", "says that the cluster does not answer", func(t *v1alpha1.Transform) bool {
		return strings.Contains(messageOf(t), server)
	})
	t.Logf("named after %s: %s: %s", time.Since(began).Round(10*time.Millisecond), reasonOf(down), messageOf(down))
	require.Equal(t, v1alpha1.LayerNotReadyReason, reasonOf(down))
	e.there.RestartAPIServer(t)
	began = time.Now()
	e.ready("web")
	require.Equal(t, []string{"web-config: two", "web-first", "web-second"}, e.holds(e.there))
	t.Logf("Ready %s after the cluster was there again", time.Since(began).Round(10*time.Millisecond))

	e.there.APIServer.Kill()
	require.NoError(t, e.Client.Delete(t.Context(), e.get("web")))
	kept := e.await("web", "waits for what is there", func(t *v1alpha1.Transform) bool { return reasonOf(t) == v1alpha1.DeletingReason })
	t.Logf("%s: %s", reasonOf(kept), messageOf(kept))
	require.Contains(t, messageOf(kept), "deletionPolicy: Orphan")
	e.Kubectl(t, "-n", e.namespace, "patch", "transform", "web", "--type=merge", "-p", `{"spec":{"delivery":{"deletionPolicy":"Orphan"}}}`)
	e.gone()
}
