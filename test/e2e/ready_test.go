// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// engineKind is a kind that no engine knows, and whose status nobody writes but the
// test. Its members and its phase say when it is ready, and no condition does.
var engineKind = schema.GroupVersionKind{Group: "e2e.ropewalk.dev", Version: "v1", Kind: "Engine"} //nolint:gochecknoglobals // a constant

const engineDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: engines.e2e.ropewalk.dev}
spec:
  group: e2e.ropewalk.dev
  scope: Namespaced
  names: {kind: Engine, listKind: EngineList, plural: engines, singular: engine}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// engineProject writes a project in which a ConfigMap waits for an Engine.
func engineProject(t testing.TB, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "engine")
	for file, text := range map[string]string{
		"ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: " + name + "}\n",
		"engine.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: engine}
spec: {cueRef: {type: path, ref: ./module}}
`,
		"module/cue.mod/module.cue": "module: \"example.com/engine@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"module/engine.cue": `package engine

ropewalk: apiVersion: "v1alpha1"
context: {...}
graph: nodes: {
	engine: {
		object: {
			apiVersion: "e2e.ropewalk.dev/v1"
			kind:       "Engine"
			metadata: {name: "main", namespace: context.namespace}
			spec: members: 3
		}
		readyWhen: [{type: "CEL", expr: "object.status.phase == 'Running' && object.status.members >= object.spec.members"}]
	}
	user: {
		object: {
			apiVersion: "v1"
			kind:       "ConfigMap"
			metadata: {name: "user", namespace: context.namespace}
			data: engine: "main"
		}
		dependsOn: ["engine"]
	}
}
`,
	} {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// gated goes through the states of an Engine, and requires that what waits for it is
// made after the one in which its rule holds, and not before.
func gated(t *testing.T, c *Cluster, namespace string, j *journal) {
	t.Helper()
	engine := identity{engineKind.Group, engineKind.Kind, namespace, "main"}
	user := identity{"", "ConfigMap", namespace, "user"}
	there := func(of identity) bool {
		return j.first(t, of, func(*unstructured.Unstructured) bool { return true }) != nil
	}
	start := time.Now()
	c.Await(t, soon, "the Engine is made", func() bool { return there(engine) })
	t.Logf("%6.2f s: the Engine is made", time.Since(start).Seconds())
	for _, status := range []string{"", `{"phase": "Starting"}`, `{"phase": "Running"}`, `{"phase": "Running", "members": 2}`} {
		if status != "" {
			setStatus(t, c, engine, status)
		}
		time.Sleep(3 * time.Second) // which is how long an engine needs to go on, and more
		require.False(t, there(user), "it is made although the Engine has the status %q", status)
		t.Logf("%6.2f s: with the status %q nothing follows", time.Since(start).Seconds(), status)
	}
	setStatus(t, c, engine, `{"phase": "Running", "members": 3}`)
	right := time.Now()
	c.Await(t, soon, "what waits for the Engine is made", func() bool { return there(user) })
	t.Logf("%6.2f s: what waits is made, %s after the Engine was ready", time.Since(start).Seconds(), time.Since(right).Round(10*time.Millisecond))
	ready := j.first(t, engine, func(object *unstructured.Unstructured) bool {
		members, _, _ := unstructured.NestedInt64(object.Object, "status", "members")
		return members == 3
	})
	require.NotNil(t, ready)
	require.Greater(t, j.created(t, user).revision, ready.revision)
}

// setStatus writes the status of an Engine as its controller would.
func setStatus(t testing.TB, c *Cluster, of identity, status string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(engineKind)
	object.SetNamespace(of.Namespace)
	object.SetName(of.Name)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status": `+status+`}`))
	require.NoError(t, c.Client.Status().Patch(t.Context(), object, patch))
}

// TestReadyWhenGatesACustomResourceInArgoCD: by the health check that render
// --argocd-cm writes for the kind.
func TestReadyWhenGatesACustomResourceInArgoCD(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	c.Apply(t, engineDefinition)
	c.awaitDefinitions()
	namespace := c.Namespace(t)
	dir := engineProject(t, "engine")

	checks, manifests := filepath.Join(t.TempDir(), "argocd-cm.yaml"), filepath.Join(t.TempDir(), "out")
	c.Ropewalk(t, "render", dir, "--dialect", "argocd", "-n", namespace, "--argocd-health", "--argocd-cm", checks, "-o", manifests)
	a.configure(t, checks)
	repository := c.Git(t)
	repository.Commit(contents(t, manifests, "out"))

	j := c.journal(t, namespace, engineKind, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	a.Application(t, "engine", fmt.Sprintf(`
project: default
source: {repoURL: %q, targetRevision: main, path: out}
destination: {server: "https://kubernetes.default.svc", namespace: %s}
syncPolicy: {automated: {prune: true, selfHeal: true}}
`, repository.URL, namespace))
	gated(t, c, namespace, j)
	a.AwaitHealthy(t, soon, "engine")
}

// configure adds the data of a ConfigMap in a file to that of Argo CD, for the time
// of the test.
func (a *ArgoCD) configure(t testing.TB, file string) {
	t.Helper()
	data, err := os.ReadFile(file) //nolint:gosec // a file of the test
	require.NoError(t, err)
	written := decode(t, data)
	require.Len(t, written, 1)
	values, _, err := unstructured.NestedStringMap(written[0].Object, "data")
	require.NoError(t, err)

	patch := func(values map[string]*string) {
		text, err := json.Marshal(map[string]any{"data": values})
		require.NoError(t, err)
		of := &corev1.ConfigMap{}
		of.Namespace, of.Name = a.Namespace, "argocd-cm"
		require.NoError(t, a.cluster.Client.Patch(a.cluster.run.Context(), of, client.RawPatch("application/merge-patch+json", text)))
	}
	added, taken := map[string]*string{}, map[string]*string{}
	for key, value := range values {
		added[key], taken[key] = &value, nil
	}
	patch(added)
	t.Cleanup(func() { patch(taken) })
}

// TestReadyWhenGatesACustomResourceInFlux: by healthCheckExprs of the layer.
func TestReadyWhenGatesACustomResourceInFlux(t *testing.T) {
	c := Shared(t)
	c.Flags(t, c.KustomizeController, "--requeue-dependency=1s")
	c.Apply(t, engineDefinition)
	c.awaitDefinitions()
	namespace := c.Namespace(t)
	dir := engineProject(t, "engine")
	repository := fmt.Sprintf("oci://%s/%s:v1", c.Registry, namespace)
	c.Ropewalk(t, "build", dir, "--dialect", "flux", "-n", namespace, "--plain-http", c.Registry, "--folders", "--to", repository)
	out := filepath.Join(t.TempDir(), "out")
	c.Ropewalk(t, "render", dir, "--dialect", "flux", "-n", namespace, "-o", out, "--repository", repository, "--flux-namespace", namespace, "--plain-http", c.Registry)

	j := c.journal(t, namespace, engineKind, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	c.deliver(t, out)
	gated(t, c, namespace, j)
	for layer := range 2 {
		k := &kustomizev1.Kustomization{}
		k.Name, k.Namespace = fmt.Sprintf("engine-%02d", layer), namespace
		c.AwaitReady(t, soon, k)
	}
}

// deliver applies what delivers a render in a folder by Flux, and deletes it after
// the test. It gives the names of the Kustomizations.
func (c *Cluster) deliver(t testing.TB, out string) (kustomizations []string) {
	t.Helper()
	for _, text := range contents(t, filepath.Join(out, "flux"), "") {
		for _, object := range decode(t, []byte(text)) {
			if object.GetKind() == "Kustomization" {
				kustomizations = append(kustomizations, object.GetName())
			}
			c.apply(t, object)
			t.Cleanup(func() { _ = c.Client.Delete(c.run.Context(), object) }) // the test may have deleted it
		}
	}
	return kustomizations
}
