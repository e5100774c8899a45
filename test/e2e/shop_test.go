// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shop is the example, whose objects get a namespace that no other test has.
type shop struct{ dir, namespace string }

// theShop is a copy of it, with the modules locked.
func theShop(t testing.TB, c *Cluster, namespace string) shop {
	t.Helper()
	s := shop{dir: filepath.Join(t.TempDir(), "shop"), namespace: namespace}
	require.NoError(t, os.CopyFS(s.dir, os.DirFS(filepath.Join(c.modules.Root, "..", "..", "cue", "examples", "shop"))))
	c.Ropewalk(t, "lock", s.dir)
	t.Cleanup(func() {
		_ = c.Client.Delete(c.run.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
		}}) // who applied it may have deleted it
	})
	return s
}

// build pushes the shop for an engine and gives the digest.
func (s shop) build(t testing.TB, c *Cluster, dialect, tag string, args ...string) (digest string) {
	t.Helper()
	out := c.Ropewalk(t, append([]string{
		"build", s.dir, "--dialect", dialect, "-n", s.namespace, "--plain-http", c.Registry,
		"--to", fmt.Sprintf("oci://%s/%s:%s", c.Registry, s.namespace, tag), "--format", "json",
	}, args...)...)
	var answer struct{ Digest string }
	require.NoError(t, json.Unmarshal([]byte(out), &answer), out)
	return answer.Digest
}

// ready waits until every workload of the shop has all its replicas: an engine does
// not, for those that come last.
func (s shop) ready(t testing.TB, c *Cluster) {
	t.Helper()
	c.Await(t, soon, "every workload has its replicas", func() bool {
		var deployments appsv1.DeploymentList
		require.NoError(t, c.Client.List(t.Context(), &deployments, client.InNamespace(s.namespace)))
		var sets appsv1.StatefulSetList
		require.NoError(t, c.Client.List(t.Context(), &sets, client.InNamespace(s.namespace)))
		return len(deployments.Items) == 5 && len(sets.Items) == 2 &&
			!slices.ContainsFunc(deployments.Items, func(d appsv1.Deployment) bool { return d.Status.AvailableReplicas < *d.Spec.Replicas }) &&
			!slices.ContainsFunc(sets.Items, func(s appsv1.StatefulSet) bool { return s.Status.ReadyReplicas < *s.Spec.Replicas })
	})
}

func TestFluxAppliesWhatRopewalkBuilds(t *testing.T) {
	c := Shared(t)
	c.Flags(t, c.KustomizeController, "--requeue-dependency=1s")
	s := theShop(t, c, "shop-flux")
	s.build(t, c, "flux", "v1", "--folders")
	out := filepath.Join(t.TempDir(), "out")
	c.Ropewalk(t, "render", s.dir, "--dialect", "flux", "-n", s.namespace, "-o", out,
		"--repository", fmt.Sprintf("oci://%s/%s:v1", c.Registry, s.namespace), "--plain-http", c.Registry)
	start := time.Now()
	c.deliver(t, out)
	for layer := range 4 {
		k := &kustomizev1.Kustomization{}
		k.Name, k.Namespace = fmt.Sprintf("shop-%02d", layer), FluxNamespace
		c.AwaitReady(t, 2*time.Minute, k)
		t.Logf("layer %d is ready after %s", layer, time.Since(start).Round(10*time.Millisecond))
	}
	s.ready(t, c)
}

func TestArgoCDAppliesWhatRopewalkBuilds(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	s := theShop(t, c, "shop-argocd")
	s.build(t, c, "argocd", "v1")
	start := time.Now()
	a.Application(t, "shop-oci", fmt.Sprintf(`
project: default
source: {repoURL: "oci://%s/%s", targetRevision: v1, path: .}
destination: {server: "https://kubernetes.default.svc", namespace: %s}
syncPolicy: {automated: {prune: true, selfHeal: true}}
`, c.Registry, s.namespace, s.namespace))
	a.AwaitHealthy(t, 2*time.Minute, "shop-oci")
	t.Logf("healthy after %s", time.Since(start).Round(10*time.Millisecond))
	s.ready(t, c)
}

// TestArgoCDRendersByThePlugin: a project in Git, without any artifact.
func TestArgoCDRendersByThePlugin(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	a.Plugin(t)
	namespace := c.Namespace(t)
	repository := c.Git(t)
	repository.Commit(project("one"))
	a.Application(t, "project-plugin", fmt.Sprintf(`
project: default
source: {repoURL: %q, targetRevision: main, path: app, plugin: {name: ropewalk}}
destination: {server: "https://kubernetes.default.svc", namespace: %s}
syncPolicy: {automated: {prune: true, selfHeal: true}}
`, repository.URL, namespace))
	text := func() string {
		var m corev1.ConfigMap
		_ = c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "greeting"}, &m) // it may not be there yet
		return m.Data["text"]
	}
	a.AwaitHealthy(t, soon, "project-plugin")
	require.Equal(t, "one", text())

	repository.Commit(project("two"))
	a.Refresh(t, "project-plugin")
	c.Await(t, soon, "the change is applied", func() bool { return text() == "two" })
}

// project is one with a spec that makes a ConfigMap with a text.
func project(text string) map[string]string {
	return map[string]string{
		"app/greeting.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: greeting}
spec:
  input: {text: ` + text + `}
  cueRef: {type: path, ref: ./module}
`,
		"app/module/cue.mod/module.cue": "module: \"example.com/greeting@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"app/module/greeting.cue": `package greeting

ropewalk: apiVersion: "v1alpha1"
#Input: text: string
input: #Input
graph: nodes: greeting: object: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: "greeting"
	data: text: input.text
}
`,
	}
}
