// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// ArgoCD is that of the cluster: who wants something makes an Application.
type ArgoCD struct {
	*plane.ArgoCD

	// Namespace is where Applications live. Their project is default, which allows
	// everything, and their destination https://kubernetes.default.svc.
	Namespace string

	cluster *Cluster
}

// ArgoCD starts Argo CD at the first call of a run, and is the same one later. It
// has the registry of the cluster as a source of artifacts, over plain http.
func (c *Cluster) ArgoCD(t testing.TB) *ArgoCD {
	t.Helper()
	c.argocdOnce.Do(func() {
		c.argocdErr = plane.Attempt(func() { c.argocd = c.startArgoCD() })
	})
	lacking(t, c.argocdErr)
	return c.argocd
}

// startArgoCD applies the core installation, but for what would run in pods, and what a user
// makes first, and starts it.
func (c *Cluster) startArgoCD() *ArgoCD {
	t := c.run
	a := &ArgoCD{Namespace: plane.ArgoCDNamespace, cluster: c}
	source, err := c.modules.Source(t.Context(), "argocd")
	require.NoError(t, err)
	require.NoError(t, c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}}))
	c.applyFile(plane.ArgoCDManifest(source.Dir), plane.InstallsArgoCD)
	c.awaitDefinitions()
	c.Apply(t, plane.ArgoCDSettings+`
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: argocd, labels: {argocd.argoproj.io/secret-type: repo-creds}}
stringData: {url: "oci://`+c.Registry+`", type: oci, insecureOCIForceHttp: "true"}
`)
	a.ArgoCD = plane.StartArgoCD(t, filepath.Join(c.Dir, "argocd"), c.program(t, "argocd"), c.KubeconfigFor(t, a.Namespace, "argocd-application-controller"), c.launch)
	return a
}

// Plugin runs the plugin of this project beside the repo-server for the time of a
// test, with further arguments.
func (a *ArgoCD) Plugin(t testing.TB, args ...string) *Process {
	t.Helper()
	web := net.JoinHostPort(loopback, FreePort(t))
	p := a.cluster.Process(t, "ropewalk-plugin", append([]string{
		a.cluster.Program(t, "ropewalk"), "plugin", "argocd", "--socket-dir", a.Sockets(), "--http", web,
		"--cache-dir", t.TempDir(), "--askpass-socket", a.AskPass(),
	}, args...))
	p.Await(t, func() bool { return plane.Good("http://" + web + "/readyz") })
	return p
}

// Application makes an Application of a spec in YAML, and deletes it after the
// test with all that it has made.
func (a *ArgoCD) Application(t testing.TB, name, spec string) {
	t.Helper()
	object := a.object(name)
	object.SetFinalizers([]string{"resources-finalizer.argocd.argoproj.io"})
	parsed := decode(t, []byte(spec))
	require.Len(t, parsed, 1)
	object.Object["spec"] = parsed[0].Object
	a.cluster.apply(t, object)
	t.Cleanup(func() {
		_ = a.cluster.Client.Delete(a.cluster.run.Context(), a.object(name)) // the test may have deleted it
	})
}

// object is an Application without a spec.
func (a *ArgoCD) object(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"})
	object.SetName(name)
	object.SetNamespace(a.Namespace)
	return object
}

// Get reads an Application.
func (a *ArgoCD) Get(t testing.TB, name string) *unstructured.Unstructured {
	t.Helper()
	object := a.object(name)
	require.NoError(t, a.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	return object
}

// Refresh has the controller compare an Application anew, without its cache.
func (a *ArgoCD) Refresh(t testing.TB, name string) {
	t.Helper()
	patch := []byte(`{"metadata": {"annotations": {"argocd.argoproj.io/refresh": "hard"}}}`)
	require.NoError(t, a.cluster.Client.Patch(t.Context(), a.object(name), client.RawPatch("application/merge-patch+json", patch)))
}

// AwaitHealthy waits until an Application is Synced and Healthy, and gives it. A
// failure names the resources that are not.
func (a *ArgoCD) AwaitHealthy(t testing.TB, within time.Duration, name string) *unstructured.Unstructured {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(25 * time.Millisecond) {
		object := a.Get(t, name)
		sync, _, _ := unstructured.NestedString(object.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(object.Object, "status", "health", "status")
		if sync == "Synced" && health == "Healthy" {
			return object
		}
		require.True(t, time.Now().Before(deadline), "%s and %s after %s: %s\n%v", sync, health, within, ailing(object), object.Object["status"])
	}
}

// ailing are the resources of an Application that are not healthy.
func ailing(application *unstructured.Unstructured) string {
	resources, _, _ := unstructured.NestedSlice(application.Object, "status", "resources")
	var out strings.Builder
	for _, one := range resources {
		resource, _ := one.(map[string]any)
		if health, found := resource["health"]; found {
			if status, _, _ := unstructured.NestedString(resource, "health", "status"); status != "Healthy" {
				fmt.Fprintf(&out, "\n  %v %v: %v", resource["kind"], resource["name"], health)
			}
		}
	}
	return out.String()
}
