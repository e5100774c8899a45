// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// resourceSet is what the Flux Operator makes of the example for the pull requests of these
// numbers, and what is there once. Its definitions are not at hand: their licence is not that
// of this repository.
func resourceSet(t *testing.T, numbers ...string) (made map[string][]object.Object, once []object.Object) {
	t.Helper()
	const file = fluxFolder + "/examples/previews.yaml"
	made = map[string][]object.Object{}
	var provider, set object.Object
	for _, o := range documents(t, file, read(t, file)) {
		switch o.Kind() {
		case "ResourceSetInputProvider":
			provider = o
		case "ResourceSet":
			set = o
		default:
			once = append(once, o)
		}
	}
	require.Equal(t, "GitHubPullRequest", at(t, provider, "spec", "type"))
	require.Equal(t, []string{"preview"}, texts(at(t, provider, "spec", "filter", "labels")))
	require.Equal(t, provider.Namespace(), set.Namespace())
	require.ElementsMatch(t, []string{"inputsFrom", "resources"}, object.SortedKeys(at(t, set, "spec").(map[string]any)))
	require.Equal(t, []any{map[string]any{"apiVersion": provider.APIVersion(), "kind": provider.Kind(), "name": provider.Name()}}, at(t, set, "spec", "inputsFrom"))
	text, err := json.Marshal(at(t, set, "spec", "resources"))
	require.NoError(t, err)
	for _, number := range numbers {
		var objects []object.Object
		// Angle brackets are escaped in JSON.
		filled := strings.ReplaceAll(string(text), `\u003c\u003c inputs.id \u003e\u003e`, number)
		require.NotContains(t, filled, `\u003c\u003c`, "only id is an input")
		require.NoError(t, json.Unmarshal([]byte(filled), &objects))
		made[number] = objects
	}
	return made, once
}

func TestAPreviewOfFluxIsOfOnePullRequest(t *testing.T) {
	made, once := resourceSet(t, "7", "8")
	byKind := map[string]object.Object{}
	others := map[object.Ref]bool{}
	for _, o := range made["8"] {
		others[o.Ref()] = true
	}
	for _, o := range made["7"] {
		require.False(t, others[o.Ref()], o.Ref())
		byKind[o.Kind()] = o
	}
	require.Empty(t, judged(t, append(slices.Clone(made["7"]), once...)...))
	require.Len(t, byKind, 3)
	source, kustomization := byKind["OCIRepository"], byKind["Kustomization"]
	require.Equal(t, "pr-7", at(t, source, "spec", "ref", "tag"), "as the pipelines push it")
	require.Equal(t, map[string]any{"kind": "OCIRepository", "name": source.Name()}, at(t, kustomization, "spec", "sourceRef"))
	require.Equal(t, source.Namespace(), kustomization.Namespace())
	require.Equal(t, true, at(t, kustomization, "spec", "prune"), "it is gone with its pull request")
	require.Equal(t, byKind["Namespace"].Name(), at(t, kustomization, "spec", "targetNamespace"))

	// The account outlives the previews, whose objects are deleted by it, and has no more than
	// the previews of Argo CD may have.
	named := byName(once)
	require.Contains(t, named, "ServiceAccount "+kustomization.Namespace()+"/"+at(t, kustomization, "spec", "serviceAccountName").(string))
	role := named["ClusterRole /ropewalk-previews"]
	require.Equal(t, role.Name(), at(t, named["ClusterRoleBinding /ropewalk-previews"], "roleRef", "name"))
	writable := map[string]bool{}
	for _, item := range at(t, role, "rules").([]any) {
		rule := item.(map[string]any)
		for _, resource := range texts(rule["resources"]) {
			writable[resource] = slices.Contains(texts(rule["verbs"]), "create")
		}
	}
	plurals := strings.NewReplacer("ingresss", "ingresses")
	want := map[string]bool{"replicasets": false}
	for _, item := range at(t, only(t, examples+"/appproject-previews.yaml"), "spec", "namespaceResourceWhitelist").([]any) {
		want[plurals.Replace(strings.ToLower(item.(map[string]any)["kind"].(string))+"s")] = true
	}
	require.Equal(t, want, writable)
}
