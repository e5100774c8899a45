// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// readable is a server of the core group, of apps and of Flux, which answers by method and path,
// and keeps what it was asked. The answer "403 …" is a refusal with that message.
func readable(t *testing.T, answers map[string]string) (*Reader, func() []string) {
	t.Helper()
	kinds := func(group, version string, words ...string) string {
		var resources []string
		for _, word := range words {
			kind, plural, _ := strings.Cut(word, " ")
			resources = append(resources, fmt.Sprintf(`{"resource": %q, "responseKind": {"kind": %q}, "scope": "Namespaced", "singularResource": %q}`, plural, kind, strings.ToLower(kind)))
		}
		return fmt.Sprintf(`{"metadata": {"name": %q}, "versions": [{"version": %q, "resources": [%s]}]}`, group, version, strings.Join(resources, ","))
	}
	discovery := map[string]string{
		"GET /api": `{"items": [` + kinds("", "v1", "ConfigMap configmaps", "Secret secrets") + `]}`,
		"GET /apis": `{"items": [` + kinds("apps", "v1", "Deployment deployments") + `,` + kinds("kustomize.toolkit.fluxcd.io", "v1", "Kustomization kustomizations") + `,` +
			kinds("argoproj.io", "v1alpha1", "Application applications") + `]}`,
	}
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + r.URL.Path
		mu.Lock()
		asked = append(asked, key+" "+r.URL.RawQuery+" "+r.Header.Get("Accept"))
		mu.Unlock()
		text := discovery[key] + answers[key]
		code := http.StatusOK
		if text == "" {
			code, text = http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		if message, ok := strings.CutPrefix(text, "403 "); ok {
			code, text = http.StatusForbidden, fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": %q}`, message)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(`{apiVersion: v1, kind: Config, current-context: a, users: [{name: a, user: {}}],
contexts: [{name: a, context: {cluster: a, user: a, namespace: apps}}], clusters: [{name: a, cluster: {server: "`+server.URL+`"}}]}`), 0o600))
	c, err := Open(file, "")
	require.NoError(t, err)
	require.Equal(t, "a", c.Context)
	r, err := c.Reader(t.Context())
	require.NoError(t, err)
	return r, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

func named(version, kind, namespace, name string) object.Object {
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return object.Object{"apiVersion": version, "kind": kind, "metadata": meta}
}

func TestAReaderReadsWhatTheClusterHas(t *testing.T) {
	r, asked := readable(t, map[string]string{
		"GET /api/v1/namespaces/apps/configmaps/a": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}`,
		"GET /api/v1/namespaces/shop/secrets/s":    `{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "s", "labels": {"a": "b"}}}`,
	})
	found, err := r.Read(t.Context(), []object.Object{
		named("v1", "ConfigMap", "", "a"), named("v1", "Secret", "shop", "s"), named("apps/v1", "Deployment", "shop", "gone"), named("apps/v1beta1", "Deployment", "shop", "old"),
	}, "")
	require.NoError(t, err)
	require.Equal(t, "1", found[0].Object.Text("data", "x"), "the namespace is that of the context")
	require.Equal(t, "Secret", found[1].Object.Kind())
	require.Equal(t, Live{}, found[2])
	require.Equal(t, Live{Unserved: true}, found[3])
	require.Contains(t, strings.Join(asked(), "\n"), "secrets/s timeout=30s application/vnd.kubernetes.protobuf;as=PartialObjectMetadata", "no data of a Secret is read")
}

func TestRightsThatAreMissingAreAllNamed(t *testing.T) {
	r, _ := readable(t, map[string]string{
		"GET /api/v1/namespaces/apps/configmaps/a":           "403 no",
		"GET /api/v1/namespaces/apps/configmaps/b":           "403 no",
		"GET /api/v1/namespaces/shop/secrets/s":              "403 no",
		"PATCH /apis/apps/v1/namespaces/shop/deployments/d":  `403 deployments.apps "d" is forbidden: User "ann" cannot patch resource "deployments" in API group "apps" in the namespace "shop"`,
		"PATCH /apis/apps/v1/namespaces/shop/deployments/ok": `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "ok"}}`,
	})
	objects := []object.Object{
		named("v1", "ConfigMap", "", "b"), named("v1", "Secret", "shop", "s"), named("apps/v1", "Deployment", "shop", "d"), named("apps/v1", "Deployment", "shop", "ok"), named("v1", "ConfigMap", "", "a"),
	}
	_, err := r.Read(t.Context(), objects, "kubectl")
	require.EqualError(t, err, "the user of the kubeconfig may not get configmaps in namespace apps, get secrets in namespace shop, patch deployments.apps in namespace shop")
	_, err = r.Read(t.Context(), make([]object.Object, maxRead+1), "")
	require.ErrorContains(t, err, "10001 objects are too many to look up in a cluster: the limit is 10000")
}

func TestADryRunGivesWhatTheServerMakesOfAnObject(t *testing.T) {
	r, asked := readable(t, map[string]string{
		"PATCH /apis/apps/v1/namespaces/shop/deployments/a": `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 1}}`,
		"PATCH /apis/apps/v1/namespaces/shop/deployments/b": `403 admission webhook "policy" denied the request: no`,
	})
	found, err := r.Read(t.Context(), []object.Object{
		named("apps/v1", "Deployment", "shop", "a"), named("apps/v1", "Deployment", "shop", "b"), named("apps/v1", "Deployment", "none", "c"), named("v1", "Secret", "shop", "s"),
	}, "kustomize-controller")
	require.NoError(t, err)
	require.EqualValues(t, 1, found[0].Applied.Get("spec", "replicas"))
	require.ErrorContains(t, found[1].Refused, `denied the request`)
	require.Equal(t, Live{}, found[2], "its namespace is not there yet")
	all := strings.Join(asked(), "\n")
	require.Contains(t, all, "PATCH /apis/apps/v1/namespaces/shop/deployments/a dryRun=All&fieldManager=kustomize-controller&force=true")
	require.NotContains(t, all, "PATCH /api/v1/namespaces/shop/secrets", "no data of a Secret leaves the machine")
}

func TestAnInventoryIsThatOfTheEngine(t *testing.T) {
	r, _ := readable(t, map[string]string{
		"GET /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/apps": `{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
			"status": {"inventory": {"entries": [{"id": "shop_a_apps_Deployment", "v": "v1"}, {"id": "shop_b__ConfigMap", "v": "v1"}, {"id": "shop_c_gone.io_Thing", "v": "v1"}]}}}`,
		"GET /apis/argoproj.io/v1alpha1/namespaces/argocd/applications/apps": `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"status": {"resources": [{"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "a"}]}}`,
	})
	objects, known, err := r.Inventory(t.Context(), Ref{Kind: "Kustomization", Namespace: "flux-system", Name: "apps"})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, []object.Object{named("apps/v1", "Deployment", "shop", "a"), named("v1", "ConfigMap", "shop", "b")}, objects)
	objects, known, err = r.Inventory(t.Context(), Ref{Kind: "Application", Namespace: "argocd", Name: "apps"})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, []object.Object{named("apps/v1", "Deployment", "shop", "a")}, objects)
	for _, of := range []Ref{{Kind: "Application", Namespace: "argocd", Name: "none"}, {Kind: "HelmRelease", Namespace: "a", Name: "b"}} {
		_, known, err = r.Inventory(t.Context(), of)
		require.NoError(t, err)
		require.False(t, known)
	}
	require.Equal(t, object.Ref{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "x"}, r.Key(named("apps/v1", "Deployment", "", "x")))
}
