// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/stretchr/testify/require"
)

// local is a project with one spec, whose module is beside it.
func local(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "modules", "greeting"), os.DirFS(module(t))))
	write(t, root, map[string]string{"app/greeting.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: greeting}
spec: {cueRef: {type: path, ref: ../modules/greeting}}
`, "app/ropewalk.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: app}
spec: {environments: {prod: {inputs: {greeting: {text: from prod}}}}}
`, "app/values.yaml": "text: from a file\n"})
	return root
}

// announced are the parameters that the repo-server shows of an application.
func (r *rig) announced(t *testing.T, a application) map[string]*apiclient.ParameterAnnouncement {
	t.Helper()
	var details *apiclient.RepoAppDetailsResponse
	took := timed(func() { details = r.details(t, a) })
	require.Equal(t, string(v1alpha1.ApplicationSourceTypePlugin), details.Type)
	out := map[string]*apiclient.ParameterAnnouncement{}
	for _, p := range details.Plugin.ParametersAnnouncement {
		require.NotContains(t, out, p.Name)
		out[p.Name] = p
	}
	t.Logf("%d parameters of %s in %s", len(out), a.name, took)
	return out
}

func TestParametersAreAnnounced(t *testing.T) {
	r := newRig(t)
	shop := application{name: "shop", repo: commit(t, r.programs.shop(t)).file(), path: "apps/shop", revision: "main", plugin: plugin()}
	got := r.announced(t, shop)
	for name, kind := range map[string]string{
		"environment": "string", "values": "array", "set": "array", "images": "array", "allowEmpty": "string",
		"cart:image": "string", "cart:replicas": "string", "cart:args": "array", "cart:resources.limits": "map",
	} {
		require.Contains(t, got, name)
		require.Equal(t, kind, got[name].CollectionType, name)
		t.Logf("%s (%s %s), required %t: %s. %s", name, kind, got[name].ItemType, got[name].Required, got[name].Title, got[name].Tooltip)
	}
	require.Equal(t, "number", got["cart:replicas"].ItemType)
	require.Equal(t, "ghcr.io/stefanprodan/podinfo:6.9.2", got["cart:image"].String_, "what the spec says")

	// What is announced can be set, by the same name.
	require.NoError(t, json.Unmarshal([]byte(`{"parameters": [{"name": "cart:replicas", "string": "5"}]}`), shop.plugin))
	require.Contains(t, strings.Join(r.objects(t, shop), "\n"), `"replicas":5`)
}

// TestParametersChangeTheRender sets parameters as they stand in an Application.
func TestParametersChangeTheRender(t *testing.T) {
	r := newRig(t)
	repo := commit(t, local(t)).file()
	tests := map[string]struct{ source, want string }{
		"nothing":                 {`{}`, `"data":{"items":"0","number":"1","text":"none"}`},
		"a text":                  {`{"parameters": [{"name": "text", "string": "hello"}]}`, `"text":"hello"`},
		"a number":                {`{"parameters": [{"name": "n", "string": "3"}]}`, `"number":"3"`},
		"an array":                {`{"parameters": [{"name": "list", "array": ["a, b", "c"]}]}`, `"items":"2"`},
		"a map":                   {`{"parameters": [{"name": "tags", "map": {"a.b": "x: y"}}]}`, `"tag-a.b":"x: y"`},
		"set":                     {`{"parameters": [{"name": "set", "array": ["n=7", "greeting:text=x"]}]}`, `"number":"7","text":"x"`},
		"values":                  {`{"parameters": [{"name": "values", "array": ["values.yaml"]}]}`, `"text":"from a file"`},
		"an environment":          {`{"parameters": [{"name": "environment", "string": "prod"}]}`, `"text":"from prod"`},
		"a variable":              {`{"env": [{"name": "ROPEWALK_ENV", "value": "prod"}]}`, `"text":"from prod"`},
		"a variable of Argo CD's": {`{"env": [{"name": "ROPEWALK_SET", "value": "text=$ARGOCD_APP_NAME"}]}`, `"text":"app"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := plugin()
			require.NoError(t, json.Unmarshal([]byte(test.source), p))
			got := r.objects(t, application{name: "app", repo: repo, path: "app", revision: "main", plugin: p})
			require.Len(t, got, 1)
			require.Contains(t, got[0], test.want)
		})
	}
	p := plugin()
	require.NoError(t, json.Unmarshal([]byte(`{"parameters": [{"name": "n", "string": "many"}]}`), p))
	_, err := r.generate(t.Context(), application{name: "app", repo: repo, path: "app", revision: "main", plugin: p})
	require.ErrorContains(t, err, "spec.source.plugin.parameters: n: evaluate: spec.input.n: expected an integer")
	t.Logf("what the user reads of a wrong one:\n%v", err)
}
