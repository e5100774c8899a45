// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// liveAnswers are those of an API server with the objects of a Kustomization, of which one was
// changed by hand and one has left the repository.
func liveAnswers() map[string]string {
	return map[string]string{
		"GET /api": `{"items": [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [
			{"resource": "configmaps", "responseKind": {"kind": "ConfigMap"}, "scope": "Namespaced", "singularResource": "configmap"},
			{"resource": "secrets", "responseKind": {"kind": "Secret"}, "scope": "Namespaced", "singularResource": "secret"}]}]}]}`,
		"GET /apis": `{"items": [{"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
			{"resource": "deployments", "responseKind": {"kind": "Deployment"}, "scope": "Namespaced", "singularResource": "deployment"}]}]},
			{"metadata": {"name": "kustomize.toolkit.fluxcd.io"}, "versions": [{"version": "v1", "resources": [
			{"resource": "kustomizations", "responseKind": {"kind": "Kustomization"}, "scope": "Namespaced", "singularResource": "kustomization"}]}]}]}`,
		"GET /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/apps": `{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
			"status": {"inventory": {"entries": [{"id": "shop_web_apps_Deployment", "v": "v1"}, {"id": "shop_old__ConfigMap", "v": "v1"}, {"id": "shop_forgotten__Secret", "v": "v1"}]}}}`,
		"GET /apis/apps/v1/namespaces/shop/deployments/web": `{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": {"name": "web", "namespace": "shop", "uid": "1", "generation": 3, "labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}},
			"spec": {"replicas": 5, "progressDeadlineSeconds": 600, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"dnsPolicy": "ClusterFirst",
				"containers": [{"name": "web", "image": "nginx:1.27", "imagePullPolicy": "IfNotPresent", "resources": {"requests": {"cpu": "1"}}}]}}}, "status": {"replicas": 5}}`,
		"GET /api/v1/namespaces/shop/configmaps/old": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old", "namespace": "shop", "uid": "2", "managedFields": [{"manager": "x"}]}, "data": {"a": "b"}}`,
		"GET /api/v1/namespaces/shop/secrets/login":  `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "shop", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "live-secret"}}, "data": {"password": "bGl2ZS1zZWNyZXQ="}}`,
		"GET /api/v1/namespaces/shop/secrets/forgotten": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "forgotten", "namespace": "shop",
			"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "live-secret"}}, "data": {"password": "bGl2ZS1zZWNyZXQ="}}`,
	}
}

// liveRepository is a repository of Flux, with a server for its cluster.
func liveRepository(t *testing.T, answers map[string]string) {
	t.Helper()
	useComponents(t)
	alone(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, code := answers[r.Method+" "+r.URL.Path], http.StatusOK
		reason, message, refused := strings.Cut(text, ": ")
		switch {
		case text == "":
			code, text = http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		case refused && reason == "Forbidden":
			code, text = http.StatusForbidden, fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": %q}`, message)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	folderOf(t, dir, map[string]string{
		"kubeconfig": `{apiVersion: v1, kind: Config, current-context: shop-eu, users: [{name: a, user: {}}],
contexts: [{name: shop-eu, context: {cluster: a, user: a, namespace: other}}], clusters: [{name: a, cluster: {server: "` + server.URL + `"}}]}`,
		"fleet/clusters/flux-system/apps.yaml": `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 1m, prune: true, path: ./apps, targetNamespace: shop, sourceRef: {kind: GitRepository, name: flux-system}}
`,
		"fleet/apps/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27", resources: {requests: {cpu: 1000m}}}]}
`,
		"fleet/apps/new.yaml":    settings("new"),
		"fleet/apps/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: login, annotations: {team: shop}}\nstringData: {password: head-secret}\n",
		"fleet/.gitignore":       "out/\n",
	})
	t.Setenv("KUBECONFIG", filepath.Join(dir, "kubeconfig"))
	t.Chdir(filepath.Join(dir, "fleet"))
	f := &fork{t: t, dir: "."}
	f.git("init", "-q", "-b", "main", ".")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "one")
}

func TestAPreviewComparesWithACluster(t *testing.T) {
	liveRepository(t, liveAnswers())
	out := good(t, "preview", "--live")
	require.Equal(t, `Against the cluster shop-eu, the working tree deletes 2 objects, changes 2 and creates 1 in Kustomization/flux-system/apps.
`, firstLine(out))
	page, err := os.ReadFile("out/preview/comment.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "spec.replicas")
	require.Contains(t, string(page), "<code>ConfigMap shop/old</code>")
	require.NotContains(t, string(page), "spec.template", "1 and 1000m are the same, and what only the cluster sets is no difference")
	for _, name := range []string{"report.html", "comment.md", "report.json", "report.sarif"} {
		data, err := os.ReadFile(filepath.Join("out/preview", name))
		require.NoError(t, err)
		for _, secret := range []string{"live-secret", "head-secret", "bGl2ZS1zZWNyZXQ", "managedFields"} {
			require.NotContains(t, string(data), secret, name)
		}
	}
	report, err := os.ReadFile("out/preview/report.json")
	require.NoError(t, err)
	require.Contains(t, string(report), `"name": "the cluster shop-eu"`)
	require.Contains(t, string(report), `"from": "apps/web.yaml:1:1"`)

	code, _, _ := call(t, "preview", "--live", "--fail-on", "any")
	require.Equal(t, 1, code)
	code, _, said := call(t, "preview", "--live", "--context", "none")
	require.Equal(t, 3, code)
	require.Contains(t, said, `context "none" does not exist`)
}

func TestAPreviewOfAClusterThatIsAsTheHeadShowsNothing(t *testing.T) {
	answers := liveAnswers()
	for name, pair := range map[string][2]string{
		"GET /apis/apps/v1/namespaces/shop/deployments/web":                                   {`"replicas": 5, "p`, `"replicas": 2, "p`},
		"GET /api/v1/namespaces/shop/secrets/login":                                           {`"annotations": {`, `"annotations": {"team": "shop", `},
		"GET /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/apps": {`, {"id": "shop_old__ConfigMap", "v": "v1"}, {"id": "shop_forgotten__Secret", "v": "v1"}`, ""},
	} {
		require.Contains(t, answers[name], pair[0])
		answers[name] = strings.Replace(answers[name], pair[0], pair[1], 1)
	}
	answers["GET /api/v1/namespaces/shop/configmaps/new"] = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "namespace": "shop"}}`
	liveRepository(t, answers)
	require.Equal(t, "No object differs between the cluster shop-eu and the working tree.\n", good(t, "preview", "--live", "--fail-on", "any"))
	require.Equal(t, "No object differs between the cluster shop-eu and HEAD.\n", good(t, "preview", "--live", "HEAD"))
}

func TestAPreviewWithoutRightsNamesAllThatAreMissing(t *testing.T) {
	answers := liveAnswers()
	answers["GET /api/v1/namespaces/shop/secrets/login"] = "Forbidden: no"
	answers["GET /api/v1/namespaces/shop/configmaps/new"] = "Forbidden: no"
	liveRepository(t, answers)
	code, _, said := call(t, "preview", "--live")
	require.Equal(t, 3, code)
	require.Contains(t, said, "the user of the kubeconfig may not get configmaps in namespace shop, get secrets in namespace shop")
	require.NoDirExists(t, "out/preview")
}

func TestAPreviewShowsWhatAdmissionMakesOfTheHead(t *testing.T) {
	answers := liveAnswers()
	const deployment = "/apis/apps/v1/namespaces/shop/deployments/web"
	applied := strings.Replace(answers["GET "+deployment], `"replicas": 5, "p`, `"replicas": 2, "p`, 1)
	answers["PATCH "+deployment] = strings.Replace(applied, `"dnsPolicy": "ClusterFirst"`, `"dnsPolicy": "ClusterFirst", "priorityClassName": "by-admission"`, 1)
	answers["PATCH /api/v1/namespaces/shop/configmaps/new"] = `Forbidden: admission webhook "names" denied the request: no new ones`
	liveRepository(t, answers)
	code, out, said := call(t, "preview", "--live=dry-run", "--format", "markdown")
	require.Equal(t, 1, code)
	require.Contains(t, said, "clusters/flux-system/apps.yaml:1:1: apps/configmap-new: ")
	require.Contains(t, said, `the cluster shop-eu does not accept it: admission webhook "names" denied the request: no new ones`)
	require.Contains(t, out, "by-admission")
	require.NotContains(t, out, "generation")
}

func TestFlagsOfALivePreviewThatHaveNoMeaningAreRefused(t *testing.T) {
	liveRepository(t, liveAnswers())
	for want, args := range map[string][]string{
		"--kubeconfig and --context name the cluster of --live": {"main", "--context", "a"},
		"--live=apply is not known":                             {"--live=apply"},
		"--live and --exact exclude each other":                 {"--live", "--exact"},
		"--live and --untrusted-head exclude each other":        {"--live", "--untrusted-head"},
	} {
		code, _, said := call(t, append([]string{"preview"}, args...)...)
		require.Equal(t, 2, code, args)
		require.Contains(t, said, want)
	}
	require.NoError(t, os.CopyFS("clusters-of/eu", os.DirFS("clusters")))
	require.NoError(t, os.CopyFS("clusters-of/us", os.DirFS("clusters")))
	require.NoError(t, os.RemoveAll("clusters"))
	code, _, said := call(t, "preview", "--live")
	require.Equal(t, 2, code)
	require.Contains(t, said, "the base is one cluster, and 2 environments are to be previewed: eu, us")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line + "\n"
}
