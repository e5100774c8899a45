// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/test/reposerver"
)

const examples = folder + "/examples"

// rendered is what a plugin makes of an Application whose path is in the folder of
// the examples.
func rendered(t *testing.T, s sidecar, app object.Object) []object.Object {
	t.Helper()
	const inside = "deploy/argocd/examples"
	source := at(t, app, "spec", "source").(map[string]any)
	name, ok := strings.CutPrefix(source["path"].(string), inside+"/")
	require.True(t, ok, "the path of an example is that of a project in %s", inside)
	plugin := source["plugin"].(map[string]any)
	require.Equal(t, argocd.DefaultName, plugin["name"])
	parameters, err := json.Marshal(plugin["parameters"])
	require.NoError(t, err)
	variables := map[string]string{
		"ARGOCD_APP_NAME": app.Name(), "ARGOCD_APP_PROJECT_NAME": at(t, app, "spec", "project").(string),
		"ARGOCD_APP_NAMESPACE":  at(t, app, "spec", "destination", "namespace").(string),
		"ARGOCD_APP_PARAMETERS": string(parameters), "KUBE_VERSION": "1.36",
	}
	for _, item := range plugin["env"].([]any) {
		v := item.(map[string]any)
		variables["ARGOCD_ENV_"+v["name"].(string)] = v["value"].(string)
	}
	texts, err := reposerver.Generate(t.Context(), s.socket, reposerver.Request{Files: os.DirFS(examples), Path: name, Variables: variables})
	require.NoError(t, err)
	return documents(t, name, strings.Join(texts, "\n---\n"))
}

func exampleIsRendered(t *testing.T, _ string, s sidecar) {
	app := only(t, examples+"/application.yaml")
	objects := rendered(t, s, app)
	require.Empty(t, findings(objects...))
	byKind := map[string]object.Object{}
	for _, o := range objects {
		require.Equal(t, "hello", o.Namespace(), "that of the destination")
		byKind[o.Kind()] = o
	}
	require.Equal(t, int64(3), at(t, byKind["Deployment"], "spec", "replicas"), "a string parameter")
	require.Len(t, at(t, byKind["Ingress"], "spec", "rules"), 2, "an array parameter")
	require.Equal(t, "web", at(t, byKind["Service"], "metadata", "labels", "team"), "a map parameter")
	require.Contains(t, byKind, "PodDisruptionBudget", "the environment")
}

// preview is the Application that the ApplicationSet makes of a pull request.
func preview(t *testing.T, number string) object.Object {
	t.Helper()
	set := only(t, examples+"/applicationset-previews.yaml")
	require.Equal(t, true, at(t, set, "spec", "goTemplate"))
	text, err := yaml.Marshal(at(t, set, "spec", "template"))
	require.NoError(t, err)
	// These are values of the generator for pull requests.
	values := map[string]any{"number": number, "head_sha": strings.Repeat("c0ffee42", 5), "branch": "any", "author": "any"}
	filled, err := template.New("").Option(texts(at(t, set, "spec", "goTemplateOptions"))...).Parse(string(text))
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, filled.Execute(&b, values))
	app := documents(t, "the template", b.String())[0]
	app["apiVersion"], app["kind"] = "argoproj.io/v1alpha1", "Application"
	return app
}

func TestAPreviewIsAnApplicationOfItsOwn(t *testing.T) {
	one, other := preview(t, "7"), preview(t, "8")
	require.Empty(t, findings(one))
	for _, path := range [][]string{{"metadata", "name"}, {"spec", "destination", "namespace"}, {"spec", "source", "plugin", "parameters", "preview", "string"}} {
		require.NotEqual(t, at(t, one, path...), at(t, other, path...), path)
	}
	require.Equal(t, strings.Repeat("c0ffee42", 5), at(t, one, "spec", "source", "targetRevision"))

	set := read(t, examples+"/applicationset-previews.yaml")
	require.NotContains(t, set, "project: \"{{", "a pull request must not choose its project")
	all := documents(t, "", set)
	require.NotContains(t, all[0]["spec"].(map[string]any)["generators"].([]any)[0].(map[string]any)["pullRequest"].(map[string]any)["github"], "tokenRef")
}

// permits reports whether a project of Argo CD lets an application have an object.
func permits(t *testing.T, project object.Object, o object.Object, namespaced bool) bool {
	t.Helper()
	matches := func(pattern any, name string) bool {
		if pattern == nil {
			return true
		}
		ok, err := path.Match(pattern.(string), name)
		require.NoError(t, err)
		return ok
	}
	list, destination := "clusterResourceWhitelist", !namespaced
	if namespaced {
		list = "namespaceResourceWhitelist"
		for _, item := range at(t, project, "spec", "destinations").([]any) {
			destination = destination || matches(item.(map[string]any)["namespace"], o.Namespace())
		}
	}
	for _, item := range at(t, project, "spec", list).([]any) {
		rule := item.(map[string]any)
		if matches(rule["group"], o.Group()) && matches(rule["kind"], o.Kind()) && matches(rule["name"], o.Name()) {
			return destination
		}
	}
	return false
}

func previewIsPermitted(t *testing.T, _ string, s sidecar) {
	project, app := only(t, examples+"/appproject-previews.yaml"), preview(t, "7")
	require.Equal(t, project.Name(), at(t, app, "spec", "project"))
	require.Equal(t, at(t, project, "spec", "sourceRepos").([]any)[0], at(t, app, "spec", "source", "repoURL"))

	objects := rendered(t, s, app)
	require.NotEmpty(t, objects)
	for _, o := range objects {
		require.True(t, permits(t, project, o, true), "%s %s/%s", o.Kind(), o.Namespace(), o.Name())
		if o.Kind() == "Ingress" {
			require.Equal(t, "pr-7.hello.example.com", at(t, o, "spec", "rules").([]any)[0].(map[string]any)["host"])
		}
	}
	named := func(apiVersion, kind, namespace, name string) object.Object {
		return object.Object{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}}
	}
	require.True(t, permits(t, project, named("v1", "Namespace", "", "hello-pr-7"), false), "CreateNamespace wants it")
	for _, o := range []object.Object{
		named("v1", "Namespace", "", "kube-system"), named("rbac.authorization.k8s.io/v1", "ClusterRole", "", "hello-pr-7"),
		named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "hello-pr-7"),
	} {
		require.False(t, permits(t, project, o, false), o.Kind())
	}
	for _, o := range []object.Object{
		named("apps/v1", "Deployment", "hello", "hello"), named("v1", "Secret", "hello-pr-7", "any"),
		named("rbac.authorization.k8s.io/v1", "RoleBinding", "hello-pr-7", "any"), named("v1", "ResourceQuota", "hello-pr-7", "any"),
		named("external-secrets.io/v1", "ExternalSecret", "hello-pr-7", "any"),
	} {
		require.False(t, permits(t, project, o, true), o.Kind())
	}
}

func lockIsFresh(t *testing.T, command string, _ sidecar) {
	args := []string{"lock", examples + "/hello"}
	if os.Getenv("ROPEWALK_UPDATE") == "" {
		args = append(args, "--check")
	}
	run(t, command, args...)
}
