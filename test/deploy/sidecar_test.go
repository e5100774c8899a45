// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// only is the one document of a file.
func only(t *testing.T, name string) object.Object {
	t.Helper()
	all := documents(t, name, read(t, name))
	require.Len(t, all, 1, name)
	return all[0]
}

// container is one of a Deployment.
func container(t *testing.T, deployment object.Object, name string) map[string]any {
	t.Helper()
	return at(t, deployment, "spec", "template", "spec", "containers", name).(map[string]any)
}

// texts are the strings of a list.
func texts(list any) []string {
	var out []string
	for _, item := range list.([]any) {
		out = append(out, item.(string))
	}
	return out
}

func TestHelmAddsTheSameSidecar(t *testing.T) {
	patch, values := only(t, folder+"/sidecar/container.yaml"), only(t, folder+"/helm/values.yaml")
	require.Equal(t, at(t, patch, "spec", "template", "spec", "containers"), at(t, values, "repoServer", "extraContainers"))
	require.Equal(t, at(t, patch, "spec", "template", "spec", "volumes"), at(t, values, "repoServer", "volumes"))

	objects := at(t, values, "extraObjects").([]any)
	require.Len(t, objects, 1)
	config := object.Object(objects[0].(map[string]any))
	require.Empty(t, findings(config))
	require.Equal(t, "ropewalk-pull-policy", config.Name())
	require.Equal(t, read(t, folder+"/sidecar/pull-policy.yaml"), licence+"\n"+at(t, config, "data", "pull-policy.yaml").(string))
	// Helm runs values of extraContainers and extraObjects through its templates.
	require.NotContains(t, read(t, folder+"/helm/values.yaml"), "{{")
}

func TestAskPassAddsOneVariable(t *testing.T) {
	patch := only(t, folder+"/askpass/socket.yaml")
	asking, repoServer := container(t, patch, "ropewalk"), container(t, patch, "argocd-repo-server")
	// Both sides have the socket at the same place.
	socket := repoServer["env"].([]any)[0].(map[string]any)["value"]
	require.Equal(t, []any{map[string]any{"name": "ROPEWALK_ASKPASS_SOCKET", "value": socket}}, asking["env"])
	require.Equal(t, repoServer["volumeMounts"], asking["volumeMounts"])
	require.NotContains(t, asking, "args", "a patch replaces lists of texts as a whole")
}

// TestTheGuideAddsAskPassToHelm compares what the guide adds with the component.
func TestTheGuideAddsAskPassToHelm(t *testing.T) {
	texts := fences(t, "yaml")
	i := slices.IndexFunc(texts, func(text string) bool { return strings.HasPrefix(text, "repoServer:") })
	require.GreaterOrEqual(t, i, 0)
	added := at(t, documents(t, guide, texts[i])[0], "repoServer").(map[string]any)
	patch := only(t, folder+"/askpass/socket.yaml")
	server, asking := container(t, patch, "argocd-repo-server"), container(t, patch, "ropewalk")
	require.Equal(t, server["env"], added["env"])
	require.Equal(t, server["volumeMounts"], added["volumeMounts"])
	require.Equal(t, at(t, patch, "spec", "template", "spec", "volumes"), added["volumes"])
	sidecar := at(t, added, "extraContainers", "ropewalk").(map[string]any)
	require.Equal(t, asking["volumeMounts"], sidecar["volumeMounts"])
	require.Equal(t, asking["env"], sidecar["env"])
}

func TestTheSidecarSeesNoFileOfTheRepoServer(t *testing.T) {
	all := documents(t, kustomized, read(t, kustomized))
	deployment := all[slices.IndexFunc(all, func(o object.Object) bool { return o.Kind() == "Deployment" })]
	mounts := func(name string) []string {
		var out []string
		for _, m := range container(t, deployment, name)["volumeMounts"].([]any) {
			out = append(out, m.(map[string]any)["name"].(string))
		}
		return out
	}
	var both []string
	for _, name := range mounts("ropewalk") {
		if slices.Contains(mounts("argocd-repo-server"), name) {
			both = append(both, name)
		}
	}
	slices.Sort(both)
	require.Equal(t, []string{"plugins", "ropewalk-askpass"}, both, "sockets are shared, and nothing else")

	spec := at(t, deployment, "spec", "template", "spec").(map[string]any)
	require.Equal(t, "argocd-repo-server", spec["containers"].([]any)[0].(map[string]any)["name"], "kubectl logs takes the first")
	require.NotContains(t, container(t, deployment, "ropewalk")["env"], "valueFrom")
}

func TestTheSidecarEndsBeforeItIsKilled(t *testing.T) {
	// Kubernetes gives a pod 30 seconds, the time before SIGTERM included.
	sidecar := container(t, only(t, folder+"/sidecar/container.yaml"), "ropewalk")
	require.Equal(t, int64(5), at(t, sidecar, "lifecycle", "preStop", "sleep", "seconds"))
	require.Contains(t, texts(sidecar["args"]), "--drain=20s")
}

func TestTheImageStartsTheCommandAndFindsItByItsName(t *testing.T) {
	require.NotContains(t, container(t, only(t, folder+"/sidecar/container.yaml"), "ropewalk"), "command", "that of the image")
	dockerfile := read(t, root+"/Dockerfile")
	require.Contains(t, dockerfile, `ENTRYPOINT ["/usr/local/bin/ropewalk"]`)
	// As plugin.yaml runs it.
	require.Equal(t, "ropewalk", at(t, only(t, folder+"/plugin.yaml"), "spec", "generate", "command").([]any)[0])
	require.Contains(t, dockerfile, "ENV PATH=/usr/local/bin:/usr/bin:/bin\n")
	require.Regexp(t, `(?m)^RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git openssh-client\b`, dockerfile, "git is found in that path")
	require.Contains(t, dockerfile, " argocd 999 999 >> /etc/passwd\n", "ssh refuses a user without an entry")
}
