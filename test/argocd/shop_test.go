// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheShopComesOutAsOnTheCommandLine(t *testing.T) {
	r, oci := newRig(t), newRegistry(t)
	root := r.programs.shop(t)
	dir := filepath.Join(root, "apps", "shop")
	want := r.programs.rendered(t, dir)
	repo := commit(t, root)
	digest := oci.push(t, "shop", root)
	tests := map[string]application{
		"from Git on disk":                 {repo: repo.file(), path: "apps/shop", revision: "main"},
		"from Git with credentials":        {repo: repo.serve(t), path: "apps/shop", revision: repo.commit},
		"from a registry, by a tag":        {repo: oci.source("shop"), path: "apps/shop", revision: "v1"},
		"from a registry, by its digest":   {repo: oci.source("shop"), path: "apps/shop", revision: digest},
		"the root of what a registry has":  {repo: oci.source("root"), path: ".", revision: "v1"},
		"in a namespace that is not asked": {repo: repo.file(), path: "apps/shop", revision: "main", namespace: "shop"},
	}
	oci.push(t, "root", dir)
	for name, a := range tests {
		t.Run(name, func(t *testing.T) {
			a.name, a.plugin, a.hard = "shop", plugin(), true
			var got []string
			cold := timed(func() { got = r.objects(t, a) })
			require.Equal(t, want, got)
			again := timed(func() { r.objects(t, a) })
			a.hard = false
			cached := timed(func() { r.objects(t, a) })
			t.Logf("%d objects: %s, hard refresh %s, from the cache of Argo CD %s", len(got), cold, again, cached)
		})
	}
}

func TestAWrongPasswordIsNotOurs(t *testing.T) {
	r, oci := newRig(t), newRegistry(t)
	oci.push(t, "shop", r.programs.shop(t))
	repo := oci.source("shop")
	repo.Password = "wrong"
	_, err := r.generate(t.Context(), application{name: "shop", repo: repo, path: "apps/shop", revision: "v1", plugin: plugin()})
	require.ErrorContains(t, err, "401")
}

func TestMistakesOfTheShopArriveWhole(t *testing.T) {
	r := newRig(t)
	root := r.programs.shop(t)
	replace(t, filepath.Join(root, "apps/shop/cart.yaml"), "replicas: 2", "replicas: two")
	replace(t, filepath.Join(root, "apps/shop/checkout.yaml"), "dependsOn: [cart, catalog, payment]", "dependsOn: [cart, catalogue]")
	_, err := r.generate(t.Context(), application{
		name: "shop", repo: commit(t, root).file(), path: "apps/shop", revision: "main", plugin: plugin(),
	})
	require.Error(t, err)
	t.Logf("what the user reads:\n%v", err)
	require.ErrorContains(t, err, "apps/shop/cart.yaml:16:15: ")
	require.ErrorContains(t, err, "\napps/shop/checkout.yaml:9:")
}

// TestModulesAreFetchedWithTheCredentialsOfTheSource: the sidecar has none of its
// own, and gets those that the repo-server has for the registry that the project
// comes from.
func TestModulesAreFetchedWithTheCredentialsOfTheSource(t *testing.T) {
	oci := newRegistry(t)
	r := newRig(t, "--plain-http", oci.host)
	root := t.TempDir()
	write(t, root, greeting("oci://"+oci.host+"/modules/greeting@"+oci.push(t, "modules/greeting", module(t))))
	oci.push(t, "app", root)
	a := application{name: "app", repo: oci.source("app"), path: ".", revision: "v1", plugin: plugin(), hard: true}
	require.Contains(t, r.objects(t, a)[0], `"text":"hello"`)

	// The same project from elsewhere gets no credentials of that registry.
	a.repo, a.revision = commit(t, root).file(), "main"
	_, err := r.generate(t.Context(), a)
	require.ErrorContains(t, err, "greeting.yaml:6:")
	t.Logf("without credentials:\n%v", err)
}

// greeting is a project with one spec, whose module is in a registry.
func greeting(ref string) map[string]string {
	return map[string]string{"greeting.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: greeting}
spec:
  input: {text: hello}
  cueRef: {type: oci, ref: "` + ref + `"}
`}
}

// module is the folder of a module that makes a ConfigMap of its input.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"cue.mod/module.cue": "module: \"example.com/greeting@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"main.cue": `package greeting

ropewalk: apiVersion: "v1alpha1"
#Input: {text: *"none" | string, n: int | *1, list: [...string] | *[], tags: [string]: string}
input: #Input
graph: nodes: greeting: object: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: "greeting"
	data: {
		text:   input.text
		number: "\(input.n)"
		items:  "\(len(input.list))"
		for k, v in input.tags {"tag-\(k)": v}
	}
}
`,
	})
	return dir
}
