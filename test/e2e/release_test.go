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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/test/servers"
)

// released is a project of a chart and a kustomization, whose objects leave their namespace
// open.
var released = map[string]string{
	"app.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Component
metadata: {name: web, namespace: shop}
spec:
  helm: {chart: chart, values: {tag: "1.29"}}
  overlays:
    - select: {kind: Deployment}
      readyWhen: [{type: CEL, expr: object.status.availableReplicas > 0}]
---
apiVersion: ropewalk.dev/v1alpha1
kind: Component
metadata: {name: after, namespace: shop}
spec:
  dependsOn: [web]
  kustomize: {path: after, patches: [{patch: '[{"op": "add", "path": "/data/c", "value": "d"}]', target: {kind: ConfigMap}}]}
`,
	"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
	"chart/templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: {{ .Release.Namespace }}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:{{ .Values.tag }}"}]}
`,
	"after/kustomization.yaml": "resources: [after.yaml]\n",
	"after/after.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: after}\ndata: {a: b}\n",
}

// TestAReleaseIsBuiltSyncedAndDeployedByFluxAndArgoCD goes from a plan to what Flux and Argo CD apply
// by digest, from a second registry, in a namespace chosen at the end.
func TestAReleaseIsBuiltSyncedAndDeployedByFluxAndArgoCD(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	c.Flags(t, c.KustomizeController, "--requeue-dependency=1s")
	mirror, dir := servers.Registry(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	with := func(args ...string) []string {
		return append(args, "--plain-http", c.Registry, "--plain-http", mirror.Host)
	}
	start := time.Now()
	for name, text := range released {
		write(name, text)
	}
	c.Ropewalk(t, "artifact", "keygen", at("release"))
	for _, engine := range []string{"flux", "argocd"} {
		c.Ropewalk(t, with("build", at("app.yaml"), "--dialect", engine, "--namespace-at-deploy", "--to",
			fmt.Sprintf("oci://%s/release/%s:v1", c.Registry, engine), "--plan", at(engine+"-plan.yaml"))...)
		c.Ropewalk(t, with("build", at(engine+"-plan.yaml"), "--sign-key", at("release.key"))...)
	}
	namespaces := map[string]string{"flux": c.Namespace(t), "argocd": c.Namespace(t)}
	for engine, namespace := range namespaces {
		write(engine+".yaml", fmt.Sprintf(`apiVersion: ropewalk.dev/v1alpha1
kind: Installation
metadata: {name: %[1]s}
spec:
  registry: oci://%[2]s/prod
  namespace: %[3]s
  engine: %[1]s
  insecure: true
  secrets: {%[4]s}
  verify: {keys: [release.pub]}
  components:
    - {name: %[1]s, from: "oci://%[5]s/release/%[1]s", version: v1}
`, engine, mirror.Host, namespace, map[string]string{"flux": "verify: release-keys"}[engine], c.Registry))
	}
	t.Log(c.Ropewalk(t, with("artifact", "sync", at("flux.yaml"), at("argocd.yaml"))...))
	c.Ropewalk(t, with("deploy", at("flux.yaml"), at("argocd.yaml"), "-o", at("out"))...)
	public, err := os.ReadFile(at("release.pub"))
	require.NoError(t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "release-keys", Namespace: FluxNamespace}, Data: map[string][]byte{"release.pub": public}}
	require.NoError(t, c.Client.Create(t.Context(), secret))
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "mirror", Namespace: a.Namespace, Labels: map[string]string{"argocd.argoproj.io/secret-type": "repo-creds"}},
		StringData: map[string]string{"url": "oci://" + mirror.Host, "type": "oci", "insecureOCIForceHttp": "true"},
	}
	require.NoError(t, c.Client.Create(t.Context(), credentials))
	t.Cleanup(func() {
		_ = c.Client.Delete(c.run.Context(), secret)
		_ = c.Client.Delete(c.run.Context(), credentials)
	})
	for _, engine := range []string{"flux", "argocd"} {
		text, err := os.ReadFile(at(filepath.Join("out", engine, engine+".yaml")))
		require.NoError(t, err)
		for _, object := range decode(t, text) {
			if engine == "argocd" {
				a.Application(t, object.GetName(), specText(t, object))
				continue
			}
			c.apply(t, object)
			t.Cleanup(func() { _ = c.Client.Delete(c.run.Context(), object) })
		}
	}
	for layer := range 2 {
		k := &kustomizev1.Kustomization{}
		k.Name, k.Namespace = fmt.Sprintf("flux-%02d", layer), FluxNamespace
		c.AwaitReady(t, 2*time.Minute, k)
	}
	a.AwaitHealthy(t, 2*time.Minute, "argocd")
	for _, namespace := range namespaces {
		after := &corev1.ConfigMap{}
		require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "after"}, after))
		require.Equal(t, map[string]string{"a": "b", "c": "d"}, after.Data)
	}
	source := &unstructured.Unstructured{}
	source.SetAPIVersion("source.toolkit.fluxcd.io/v1")
	source.SetKind("OCIRepository")
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: FluxNamespace, Name: "flux-01"}, source))
	require.Contains(t, fmt.Sprint(source.Object["status"]), "SourceVerified")
	t.Logf("applied by both after %s", time.Since(start).Round(10*time.Millisecond))
}

// TestAnArtifactOfAnotherToolIsDeployedByATransform takes what flux push artifact would
// make: manifests without an order, which the controller puts in waves. What verifies them is
// the OCIRepository.
func TestAnArtifactOfAnotherToolIsDeployedByATransform(t *testing.T) {
	n := newTenant(t)
	c, dir, target := n.Cluster, t.TempDir(), n.Namespace(t)
	c.Flags(t, c.KustomizeController, "--feature-gates=ExternalArtifact=true")
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("out"), 0o755))
	for name, text := range map[string]string{
		"app.yaml":                 "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: app, namespace: shop}\nspec: {kustomize: {path: after}}\n",
		"after/kustomization.yaml": released["after/kustomization.yaml"],
		"after/after.yaml":         released["after/after.yaml"],
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	c.Ropewalk(t, "artifact", "keygen", at("release"))
	var built struct{ Digest string }
	text := c.Ropewalk(t, "build", at("app.yaml"), "--namespace-at-deploy", "--sign-key", at("release.key"), "--format", "json",
		"--to", fmt.Sprintf("oci://%s/release/transform:v1", c.Registry), "--plain-http", c.Registry)
	require.NoError(t, json.Unmarshal([]byte(text), &built))
	public, err := os.ReadFile(at("release.pub"))
	require.NoError(t, err)
	require.NoError(t, c.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "release-keys", Namespace: n.namespace}, Data: map[string][]byte{"release.pub": public},
	}))
	documents := c.Ropewalk(t, "deploy", fmt.Sprintf("oci://%s/release/transform@%s", c.Registry, built.Digest), "--plain-http", c.Registry,
		"--engine", "transform", "--engine-namespace", n.namespace, "--namespace", target, "--key", at("release.pub"), "--verify-secret", "release-keys")
	for _, object := range decode(t, []byte(documents)) {
		c.apply(t, object)
	}
	n.ready("transform")
	after := &corev1.ConfigMap{}
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: target, Name: "after"}, after))
	require.Equal(t, map[string]string{"a": "b"}, after.Data)
}

// specText is the spec of an object as YAML.
func specText(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(object.Object["spec"])
	require.NoError(t, err)
	return string(text)
}
