// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// previewed is the shop with rules for previews, and what a preview of it has of its own.
func previewed(t *testing.T, c *Cluster, namespace string) (s shop, of func(id string) shop) {
	t.Helper()
	s = theShop(t, c, namespace)
	for name, text := range s.files(t, "shop") {
		if name == "shop/ropewalk.yaml" {
			text += "  previews: {namespace: \"${namespace}-pr-${preview}\", host: \"pr-${preview}.${host}\"}\n"
			require.NoError(t, os.WriteFile(filepath.Join(s.dir, "ropewalk.yaml"), []byte(text), 0o600))
		}
	}
	return s, func(id string) shop { return shop{s.dir, namespace + "-pr-" + id} }
}

// hosts are those of a namespace.
func (s shop) hosts(t *testing.T, c *Cluster) (out []string) {
	t.Helper()
	var all networkingv1.IngressList
	require.NoError(t, c.Client.List(t.Context(), &all, client.InNamespace(s.namespace)))
	for _, i := range all.Items {
		for _, rule := range i.Spec.Rules {
			out = append(out, rule.Host)
		}
	}
	return out
}

// TestFluxAppliesTwoPreviewsSideBySide has two previews of the shop in one cluster, of which
// one goes and leaves the other as it is.
func TestFluxAppliesTwoPreviewsSideBySide(t *testing.T) {
	c := Shared(t)
	c.Flags(t, c.KustomizeController, "--requeue-dependency=1s")
	s, of := previewed(t, c, "previews-flux")
	for _, id := range []string{"1", "2"} {
		repository := fmt.Sprintf("oci://%s/%s:pr-%s", c.Registry, s.namespace, id)
		c.Ropewalk(t, "build", s.dir, "--dialect", "flux", "--preview", id, "--folders", "--plain-http", c.Registry, "--to", repository)
		out := filepath.Join(t.TempDir(), "out")
		c.Ropewalk(t, "render", s.dir, "--dialect", "flux", "--preview", id, "-o", out, "--repository", repository, "--plain-http", c.Registry)
		c.deliver(t, out)
	}
	first, second := of("1"), of("2")
	first.ready(t, c)
	second.ready(t, c)
	require.NotEmpty(t, first.hosts(t, c))
	require.NotSubset(t, second.hosts(t, c), first.hosts(t, c))

	for layer := range 4 {
		k := &kustomizev1.Kustomization{}
		k.Name, k.Namespace = fmt.Sprintf("shop-1-%02d", layer), FluxNamespace
		require.NoError(t, c.Client.Delete(t.Context(), k))
	}
	c.Await(t, soon, "the first preview is gone", func() bool { return first.gone(t, c) })
	second.ready(t, c)
}

// gone reports whether no workload is left.
func (s shop) gone(t *testing.T, c *Cluster) bool {
	t.Helper()
	var deployments appsv1.DeploymentList
	require.NoError(t, c.Client.List(t.Context(), &deployments, client.InNamespace(s.namespace)))
	return len(deployments.Items) == 0
}

// TestArgoCDAppliesTwoPreviewsSideBySide has the plugin render two previews of one branch.
func TestArgoCDAppliesTwoPreviewsSideBySide(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	a.Plugin(t)
	s, of := previewed(t, c, "previews-argocd")
	repository := c.Git(t)
	repository.Commit(contents(t, s.dir, "shop"))
	for _, id := range []string{"1", "2"} {
		a.Application(t, of(id).namespace, fmt.Sprintf(`
project: default
source: {repoURL: %q, targetRevision: main, path: shop, plugin: {name: ropewalk, parameters: [{name: preview, string: %q}]}}
destination: {server: "https://kubernetes.default.svc", namespace: %s}
syncPolicy: {automated: {prune: true, selfHeal: true}}
`, repository.URL, id, of(id).namespace))
	}
	for _, id := range []string{"1", "2"} {
		a.AwaitHealthy(t, soon, of(id).namespace)
		of(id).ready(t, c)
	}
	require.NotSubset(t, of("2").hosts(t, c), of("1").hosts(t, c))
}
