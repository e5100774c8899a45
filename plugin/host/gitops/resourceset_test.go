// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/object"
)

// resourceSet is a ResourceSet with a spec.
func resourceSet(spec string) string {
	return "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: my-set, namespace: apps}\nspec:\n" + spec
}

// staticInputs is a provider of one input.
func staticInputs(name, values string) string {
	return "---\napiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: " + name + ", namespace: apps, labels: {of: shop}}\nspec: {type: Static, defaultValues: " + values + "}\n"
}

// itemsOf returns the objects of a ResourceSet, without what all of them have.
func itemsOf(t *testing.T, u gitops.Unit) []string {
	t.Helper()
	require.Nil(t, u.Problem)
	text, _ := u.Components[0].Lookup(object.Fields("manifests", "inline"))
	var list struct {
		Items []map[string]any `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(text.Text), &list))
	var out []string
	for _, item := range list.Items {
		delete(item, "apiVersion")
		data, err := json.Marshal(item)
		require.NoError(t, err)
		out = append(out, string(data))
	}
	return out
}

const config = `  resources:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: "c-<< inputs.name >>"}}
`

func TestTheObjectsOfAResourceSet(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"one of each input, and one that all share": {
			resourceSet("  inputs: [{name: a, size: 2}, {name: b, size: 3}]\n" + `  resources:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: "c-<< inputs.name >>"}, data: {size: "<< inputs.size | quote >>", from: "<< inputs.provider.name >>"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: shared}}
`),
			[]string{
				`{"data":{"from":"my-set","size":"2"},"kind":"ConfigMap","metadata":{"name":"c-a"}}`,
				`{"data":{"from":"my-set","size":"3"},"kind":"ConfigMap","metadata":{"name":"c-b"}}`,
				`{"kind":"ConfigMap","metadata":{"name":"shared"}}`,
			},
		},
		"maps by toYaml, defaults and labels": {
			resourceSet("  inputs: [{map: {k1: v1, k2: 'true'}, team: 'Team & Co.'}]\n" + `  resources:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: '<< get inputs "name" | default "none" >>', labels: {team: << inputs.team | slugify >>}}
    data: << inputs.map | toYaml | nindent 2 >>
`),
			[]string{`{"data":{"k1":"v1","k2":"true"},"kind":"ConfigMap","metadata":{"labels":{"team":"team-and-co"},"name":"none"}}`},
		},
		"a template of several documents, after the resources, without those that are disabled": {
			resourceSet("  inputs: [{name: a}, {name: b}]\n" + config + `  resourcesTemplate: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: c-a, labels: {second: "yes"}}
    ---
    <<- if eq inputs.name "b" >>
    apiVersion: v1
    kind: Secret
    metadata: {name: only-b}
    <<- end >>
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: off, annotations: {fluxcd.controlplane.io/reconcile: disabled}}
`),
			[]string{`{"kind":"ConfigMap","metadata":{"name":"c-a"}}`, `{"kind":"ConfigMap","metadata":{"name":"c-b"}}`, `{"kind":"Secret","metadata":{"name":"only-b"}}`},
		},
		"steps, in their order": {
			resourceSet(`  steps:
  - {name: first, resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}]}
  - {name: second, resourcesTemplate: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}
`),
			[]string{`{"kind":"ConfigMap","metadata":{"name":"z"}}`, `{"kind":"ConfigMap","metadata":{"name":"a"}}`},
		},
		"no inputs": {resourceSet("  resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}]\n"), []string{`{"kind":"ConfigMap","metadata":{"name":"z"}}`}},
		"inputs of providers by name and by labels, by their names": {
			resourceSet("  inputs: [{name: own}]\n  inputsFrom: [{name: w}, {selector: {matchLabels: {of: shop}}}]\n"+config) + staticInputs("w", "{name: w}") + staticInputs("v", "{name: v}"),
			[]string{`{"kind":"ConfigMap","metadata":{"name":"c-own"}}`, `{"kind":"ConfigMap","metadata":{"name":"c-v"}}`, `{"kind":"ConfigMap","metadata":{"name":"c-w"}}`},
		},
		"each input with each": {
			resourceSet("  inputStrategy: {name: Permute}\n  inputs: [{n: 1}, {n: 2}]\n  inputsFrom: [{name: git-tag}]\n"+`  resources:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: "c-<< inputs.id >>"}, data: {n: "<< inputs.my_set.n | quote >>", tag: << inputs.git_tag.tag >>}}
`) + staticInputs("git-tag", "{tag: v1}"),
			[]string{
				`{"data":{"n":"1","tag":"v1"},"kind":"ConfigMap","metadata":{"name":"c-1083311738"}}`,
				`{"data":{"n":"2","tag":"v1"},"kind":"ConfigMap","metadata":{"name":"c-1084032635"}}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			units := expand(t, map[string]string{"a.yaml": c.text}).Units
			require.Len(t, units, 1)
			require.Equal(t, "ResourceSet/apps/my-set", units[0].String())
			require.Equal(t, c.want, itemsOf(t, units[0]))
		})
	}
}

func TestAResourceSetThatCannotBeFilledSaysWhy(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an input that is missing":   {resourceSet("  inputs: [{nam: a}]\n" + config), `a.yaml:7:5: spec: the template cannot be filled: <inputs>: map has no entry for key "name"`},
		"a provider in the cluster":  {resourceSet("  inputsFrom: [{name: x}]\n" + config), `a.yaml:5:16: spec: the inputs in ResourceSetInputProvider "x" are in the cluster alone`},
		"a provider that asks":       {resourceSet("  inputsFrom: [{name: x}]\n"+config) + "---\napiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: x, namespace: apps}\nspec: {type: GitHubPullRequest}\n", `a.yaml:5:16: spec: the inputs in ResourceSetInputProvider "x" are those of a server: GitHubPullRequest`},
		"a loop without an end":      {resourceSet("  resourcesTemplate: '<< range until 100000 >><< range until 100000 >><< end >><< end >>'\n"), `a.yaml:5:22: spec: the template cannot be filled: <ropewalkStep>: error calling ropewalkStep: its loops have more than 100000 rounds`},
		"a text that is no YAML":     {resourceSet("  resourcesTemplate: '<< \"a: b: c\" >>'\n"), `a.yaml:5:22: spec: the template makes no YAML: ": " in a value that is not quoted (quote what may be more than a word: << inputs.name | quote >>)`},
		"letters of other languages": {resourceSet("  resourcesTemplate: '<< slugify \"\u00e4\" >>'\n"), `a.yaml:5:22: spec: the template cannot be filled: <slugify "ä">: error calling slugify: slugify of "ä" depends on its language, and is not done here`},
		"no objects of any input":    {resourceSet("  inputsFrom: [{selector: {matchLabels: {of: none}}}]\n" + config), `a.yaml:5:3: spec: ResourceSet/apps/my-set makes no objects of its inputs`},
		"too many combinations": {
			resourceSet("  inputStrategy: {name: Permute}\n  inputs: [" + strings.Repeat("{a: b}, ", 10_001) + "]\n" + config),
			`a.yaml:5:18: spec: the inputs have more than 10000 combinations`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			units := expand(t, map[string]string{"a.yaml": c.text}).Units
			require.Len(t, units, 1)
			require.NotNil(t, units[0].Problem)
			require.Equal(t, c.want, units[0].Problem.Error())
		})
	}
}
