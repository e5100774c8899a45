// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// ArgoCD is the application-controller of Argo CD with a repo-server and redis,
// as its core installation has them. There is no API server and no web page: who
// wants something makes an Application.
type ArgoCD struct {
	// Namespace is where Applications live. Their project is default, which allows
	// everything, and their destination https://kubernetes.default.svc.
	Namespace string
	// Controller and those after it are its programs.
	Controller, RepoServer, Redis *Process

	cluster *Cluster
	dir     string
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

func (c *Cluster) startArgoCD() *ArgoCD {
	t := c.run
	a := &ArgoCD{Namespace: "argocd", cluster: c, dir: filepath.Join(c.Dir, "argocd")}
	for _, name := range []string{"plugins", "tools", "tmp"} {
		require.NoError(t, os.MkdirAll(filepath.Join(a.dir, name), 0o700))
	}
	// The name that it is called by is the role of the one program.
	for _, role := range []string{"argocd", "argocd-repo-server", "argocd-application-controller"} {
		require.NoError(t, os.Symlink(c.program(t, "argocd"), a.tool(role)))
	}
	a.install()
	redis := a.startRedis()
	server := a.startRepoServer(redis)
	a.startController(redis, server)
	return a
}

func (a *ArgoCD) tool(name string) string { return filepath.Join(a.dir, "tools", name) }

// install applies the core installation, but for what would run in pods, and what
// a user makes first: the project, and the registry.
func (a *ArgoCD) install() {
	c, t := a.cluster, a.cluster.run
	source, err := c.modules.Source(t.Context(), "argocd")
	require.NoError(t, err)
	require.NoError(t, c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}}))
	processes := []string{"Deployment", "StatefulSet", "Service", "NetworkPolicy"}
	c.applyFile(filepath.Join(source.Dir, "manifests", "core-install.yaml"), func(object *unstructured.Unstructured) bool {
		namespaced, err := c.Client.IsObjectNamespaced(object)
		require.NoError(t, err)
		if namespaced {
			object.SetNamespace(a.Namespace)
		}
		return !slices.Contains(processes, object.GetKind())
	})
	c.awaitDefinitions()
	c.Apply(t, `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{namespace: "*", server: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: argocd, labels: {argocd.argoproj.io/secret-type: repo-creds}}
stringData: {url: "oci://`+c.Registry+`", type: oci, insecureOCIForceHttp: "true"}
---
# The API server makes the key. Without it the controller takes no change of argocd-cm.
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd}
stringData: {server.secretkey: a-key-of-a-test}
`)
}

func (a *ArgoCD) startRedis() (address string) {
	c, t := a.cluster, a.cluster.run
	binary, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("ROPEWALK_SERVERS") == "required" {
		t.Fatal("redis-server is missing")
	} else if err != nil {
		t.Skip("redis-server is missing: install the package redis-server")
	}
	port := FreePort(t)
	address = net.JoinHostPort(loopback, port)
	a.Redis = c.launch("redis", []string{binary, "--bind", loopback, "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir()})
	a.Redis.Await(t, func() bool {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		return err == nil && connection.Close() == nil
	})
	return address
}

func (a *ArgoCD) startRepoServer(redis string) (address string) {
	c, t := a.cluster, a.cluster.run
	// It says whose signature a commit has: nobody's.
	require.NoError(t, os.WriteFile(a.tool("git-verify-wrapper.sh"), []byte("#!/bin/sh\nexit 0\n"), 0o700)) //nolint:gosec // a program
	port, metrics := FreePort(t), FreePort(t)
	a.RepoServer = c.launch("argocd-repo-server", []string{
		a.tool("argocd-repo-server"), "--disable-tls", "--redis=" + redis, "--logformat=text", "--address=" + loopback, "--port=" + port,
		"--metrics-address=" + loopback, "--metrics-port=" + metrics,
	}, "PATH="+filepath.Join(a.dir, "tools")+":"+os.Getenv("PATH"), "TMPDIR="+filepath.Join(a.dir, "tmp"),
		"ARGOCD_PLUGINSOCKFILEPATH="+a.sockets(), "ARGOCD_ASK_PASS_SOCK="+a.askPass(), "ARGOCD_GPG_ENABLED=false",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	a.RepoServer.Await(t, func() bool { return good("http://" + net.JoinHostPort(loopback, metrics) + "/healthz?full=true") })
	return net.JoinHostPort(loopback, port)
}

// startController starts the application-controller, which takes its own
// configuration for that of the cluster that it is in.
func (a *ArgoCD) startController(redis, server string) {
	c, t := a.cluster, a.cluster.run
	kubeconfig := c.KubeconfigFor(t, a.Namespace, "argocd-application-controller")
	metrics := FreePort(t)
	a.Controller = c.launch("argocd-application-controller", []string{
		a.tool("argocd-application-controller"), "--namespace=" + a.Namespace, "--repo-server=" + server, "--repo-server-plaintext",
		"--redis=" + redis, "--metrics-port=" + metrics, "--logformat=text",
	}, "KUBECONFIG="+kubeconfig, "ARGOCD_FAKE_IN_CLUSTER=true", "TMPDIR="+filepath.Join(a.dir, "tmp"))
	a.Controller.Await(t, func() bool { return good("http://" + net.JoinHostPort(loopback, metrics) + "/healthz") })
}

func (a *ArgoCD) sockets() string { return filepath.Join(a.dir, "plugins") }

func (a *ArgoCD) askPass() string { return filepath.Join(a.dir, "askpass.sock") }

// Plugin runs the plugin of this project beside the repo-server for the time of a
// test, with further arguments.
func (a *ArgoCD) Plugin(t testing.TB, args ...string) *Process {
	t.Helper()
	web := net.JoinHostPort(loopback, FreePort(t))
	p := a.cluster.Process(t, "ropewalk-plugin", append([]string{
		a.cluster.Program(t, "ropewalk"), "plugin", "argocd", "--socket-dir", a.sockets(), "--http", web,
		"--cache-dir", t.TempDir(), "--askpass-socket", a.askPass(),
	}, args...))
	p.Await(t, func() bool { return good("http://" + web + "/readyz") })
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
