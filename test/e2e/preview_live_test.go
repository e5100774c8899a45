// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// live returns the paths of the fields that a preview against the cluster reports, by object, with
// "created" for an object that the cluster lacks.
func (c *Cluster) live(t *testing.T, s shop, args ...string) map[string][]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "preview")
	argv := append([]string{c.Program(t, "ropewalk"), "preview", "--kubeconfig", c.Kubeconfig, "-n", s.namespace, "--project", ".", "-o", out}, args...)
	c.Command(t, append([]string{"sh", "-c", `cd "$0" && exec "$@"`, s.dir}, argv...))
	data, err := os.ReadFile(filepath.Join(out, "report.json"))
	require.NoError(t, err)
	var report struct {
		Objects []struct {
			Kind, Name string
			Variants   []struct {
				Change string
				Fields []struct{ Path string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &report))
	found := map[string][]string{}
	for _, o := range report.Objects {
		for _, v := range o.Variants {
			name := o.Kind + " " + o.Name
			if v.Change == "created" {
				found[name] = append(found[name], v.Change)
			}
			for _, f := range v.Fields {
				found[name] = append(found[name], f.Path)
			}
		}
	}
	return found
}

// TestAPreviewShowsExactlyWhatWasChangedInACluster applies the shop, changes fields of it by hand, and
// compares the project with the cluster: by what it sets, and by a dry run.
func TestAPreviewShowsExactlyWhatWasChangedInACluster(t *testing.T) {
	c := Shared(t)
	s := theShop(t, c, "preview-live")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one"}} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", s.dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	c.Apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+s.namespace+"}\n")
	c.Apply(t, c.Ropewalk(t, "render", s.dir, "-n", s.namespace))
	require.Empty(t, c.live(t, s, "--live"), "what the API server and its controllers set is no difference")
	require.Empty(t, c.live(t, s, "--live=dry-run"))

	// Change a Deployment by hand, and delete a Service.
	deployment := decode(t, []byte(c.Kubectl(t, "get", "deployments", "-n", s.namespace, "-o", "yaml")))[0].Object["items"].([]any)[0].(map[string]any)
	name := deployment["metadata"].(map[string]any)["name"].(string)
	c.Kubectl(t, "patch", "deployment", name, "-n", s.namespace, "--type=json", "-p", `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "drifted:1"}]`)
	c.Kubectl(t, "label", "deployment", name, "-n", s.namespace, "added=by-hand")
	var services corev1.ServiceList
	require.NoError(t, c.Client.List(t.Context(), &services))
	gone := ""
	for _, service := range services.Items {
		if service.Namespace == s.namespace {
			gone = service.Name
		}
	}
	c.Kubectl(t, "delete", "service", gone, "-n", s.namespace)
	container := deployment["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["name"].(string)
	want := map[string][]string{
		"Deployment " + name: {"spec.template.spec.containers[" + container + "].image"},
		"Service " + gone:    {"created"},
	}
	require.Equal(t, want, c.live(t, s, "--live"))
	require.Equal(t, want, c.live(t, s, "--live=dry-run"))
}
